"""Barrier: dissemination."""

from . import inter
from .schedule import Link, Steps, collective


@collective("MPI_Barrier")
def barrier(link: Link) -> Steps:
    """MPI_Barrier."""
    return inter.barrier(link) if link.is_inter else dissemination(link)


def dissemination(link: Link) -> Steps:
    """In round k each rank tells the one 2**k above it and hears from the one 2**k below: log2(size) rounds."""
    rank, size = link.rank, link.size
    distance = 1
    while distance < size:
        heard = link.receive_bytes((rank - distance) % size, 0, 0)
        told = link.send_bytes((rank + distance) % size, 0, 0)
        yield [heard, told]
        distance *= 2
