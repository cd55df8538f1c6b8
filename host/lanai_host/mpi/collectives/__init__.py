"""The collectives, as plans for `run`, `start` and `prepare`: `run(comm, bcast, address, count,
datatype, root)`."""

from .allgather import allgather, allgatherv, alltoall, alltoallv, alltoallw, reduce_scatter, reduce_scatter_block
from .broadcast import barrier, bcast
from .reduce import allreduce, exscan, reduce, scan
from .rooted import (
    gather,
    gatherv,
    neighbor_allgather,
    neighbor_allgatherv,
    neighbor_alltoall,
    neighbor_alltoallv,
    neighbor_alltoallw,
    scatter,
    scatterv,
)
from .schedule import prepare, run, start

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
