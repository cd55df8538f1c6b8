"""The collectives, as plans for `run`, `start` and `prepare`: `run(comm, bcast, address, count,
datatype, root)`."""

from .allgather import allgather, allgatherv
from .alltoall import alltoall, alltoallv, alltoallw
from .barrier import barrier
from .broadcast import bcast
from .calls import prepare, run, start
from .neighbourhood import (
    neighbor_allgather,
    neighbor_allgatherv,
    neighbor_alltoall,
    neighbor_alltoallv,
    neighbor_alltoallw,
)
from .reduce import allreduce, reduce
from .reduce_scatter import reduce_scatter, reduce_scatter_block
from .rooted import gather, gatherv, scatter, scatterv
from .scan import exscan, scan

__all__ = [
    "allgather",
    "allgatherv",
    "allreduce",
    "alltoall",
    "alltoallv",
    "alltoallw",
    "barrier",
    "bcast",
    "exscan",
    "gather",
    "gatherv",
    "neighbor_allgather",
    "neighbor_allgatherv",
    "neighbor_alltoall",
    "neighbor_alltoallv",
    "neighbor_alltoallw",
    "prepare",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "run",
    "scan",
    "scatter",
    "scatterv",
    "start",
]
