"""Views of a trace: where the time went, by MPI call, message, firmware function and line."""
