"""The command `mpiexec`: the command lines of MPICH's Hydra and of Open MPI, in front of `lanai run`."""
