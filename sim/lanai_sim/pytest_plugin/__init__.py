"""pytest-lanai: runs tests of MPI programs on simulated ranks, from an ordinary `pytest`."""
