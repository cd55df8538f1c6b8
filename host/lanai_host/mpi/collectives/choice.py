"""When a collective changes its algorithm. docs/reference/mpi-collectives.md explains each choice.

Thresholds are in bytes of one process's message unless the name says otherwise.
"""

BROADCAST_BY_PIECES = 64 * 1024  # from here on: scatter and ring instead of a binomial tree
PIECES_FROM_SIZE = 4  # ... in communicators of at least this many processes
TREE_GATHER = 2 * 1024  # gather and scatter blocks up to here travel along a tree, larger ones directly
TREE_FROM_SIZE = 4
ALLGATHER_SHORT = 32 * 1024  # total bytes up to which allgather doubles instead of going round a ring
ALLTOALL_SHORT = 256  # block up to which alltoall combines blocks
ALLTOALL_SHORT_SIZE = 8
ALLTOALL_AT_ONCE = 32  # processes up to which all receives and sends are posted at once
# Allreduce and reduce from `Device.long_vector` on: reduce-scatter, then gather.
