"""Kernels of our own that communicate as those of the NAS Parallel Benchmarks do: no code of theirs.

They are programs of ranks. Each really computes, and checks its result. What its computing costs in
simulated time is what the paper of MPI/MBCF measured with one process (its tables 4.5 and 4.7).
"""
