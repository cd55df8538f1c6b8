"""Memory that the program names and that is not there, or not writable: an MPI error on every
device, and nothing else is hurt."""

import pytest

from .jobs import C, mpicc, together


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    made = tmp_path_factory.mktemp("reach") / "reach"
    mpicc("-O1", str(C / "reach.c"), "-o", str(made))
    return str(made)


@pytest.mark.parametrize(("device", "arguments"), [("ideal", []), ("mpi-np", ["nics"])])
def test_buffers_that_cannot_be_reached(program, device, arguments):
    run = together(2, program, *arguments, device=device, timeout=900)
    assert (run.returncode, run.stdout, run.stderr) == (0, "all right\n", "")
