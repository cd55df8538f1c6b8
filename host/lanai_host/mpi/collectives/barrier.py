"""Barrier: the device's own, else dissemination. MPI_Finalize begins with one."""

from ...body import NOTHING
from ..communicator import Communicator
from .broadcast import binomial
from .calls import run_apart
from .link import Link
from .schedule import Steps, collective


@collective("MPI_Barrier")
def barrier(link: Link) -> Steps:
    """MPI_Barrier."""
    return _between_groups(link) if link.is_inter else _inside_group(link)


def _inside_group(link: Link) -> Steps:
    operation = link.device_barrier()
    if operation is None:
        yield from dissemination(link)
    else:
        yield [operation]


def dissemination(link: Link) -> Steps:
    """In round k each rank tells the one 2**k above it and hears from the one 2**k below:
    log2(size) rounds."""
    rank, size = link.rank, link.size
    distance = 1
    while distance < size:
        heard = link.receive_bytes((rank - distance) % size, 0, 0)
        told = link.send_bytes((rank + distance) % size, 0, 0)
        yield [heard, told]
        distance *= 2


def _between_groups(link: Link) -> Steps:
    """The leaders hear from each other that both groups have come, and tell their groups."""
    local = link.local()
    yield from _inside_group(local)
    if link.rank == 0:
        yield [link.receive_bytes(0, 0, 0), link.send_bytes(0, 0, 0)]
    yield from binomial(local, NOTHING, 0)


@collective("MPI_Finalize")
def last_barrier(link: Link) -> Steps:
    """A barrier of all processes of a communicator, which use it no more. It has a context and a kind of its own: no
    call of the program completes it, and it completes none."""
    return barrier.describe(link)


def finish(comm: Communicator) -> None:
    """Wait until all processes of a communicator have come to MPI_Finalize."""
    run_apart(comm, last_barrier, None if comm.is_inter else comm.final_context)
