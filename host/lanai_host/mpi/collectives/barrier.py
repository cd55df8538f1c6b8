"""Barrier: the device's own, else dissemination."""

from ...body import NOTHING
from .broadcast import binomial
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
