"""Messages without a NIC: the upper bound, and the fast way to run an MPI program."""
