"""Allgather: doubling or Bruck for short totals, a ring for long ones."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..constants import IN_PLACE
from ..memory import Scratch, copy_elements, gather_bytes, scatter_bytes
from . import checks, inter
from .choice import ALLGATHER_SHORT
from .schedule import Link, Steps, collective

if TYPE_CHECKING:
    from ..datatypes import Datatype


@collective("MPI_Allgather")
def allgather(
    link: Link,
    send: int,
    send_count: int,
    send_type: "Datatype",
    receive: int,
    receive_count: int,
    receive_type: "Datatype",
) -> Steps:
    """MPI_Allgather."""
    checks.buffer(link, send, send_count, send_type)
    checks.no_in_place(link, receive, "recvbuf")
    checks.buffer(link, receive, receive_count, receive_type)
    if link.is_inter:
        return inter.allgather(link, send, send_count, send_type, receive, receive_count, receive_type)
    if receive_count * receive_type.size * link.size <= ALLGATHER_SHORT:
        return _bruck(link, send, send_count, send_type, receive, receive_count, receive_type)
    step = receive_count * receive_type.extent
    places = [receive + rank * step for rank in range(link.size)]
    return _ring(link, send, send_count, send_type, [receive_count] * link.size, places, receive_type)


@collective("MPI_Allgatherv")
def allgatherv(
    link: Link,
    send: int,
    send_count: int,
    send_type: "Datatype",
    receive: int,
    receive_counts: Sequence[int],
    displacements: Sequence[int],
    receive_type: "Datatype",
) -> Steps:
    """MPI_Allgatherv."""
    checks.buffer(link, send, send_count, send_type)
    checks.no_in_place(link, receive, "recvbuf")
    checks.counts(link, "recvcounts", receive_counts, receive_type)
    places = [receive + displacement * receive_type.extent for displacement in displacements]
    if link.is_inter:
        return inter.allgatherv(link, send, send_count, send_type, receive_counts, places, receive_type)
    return _ring(link, send, send_count, send_type, receive_counts, places, receive_type)


def _bruck(
    link: Link,
    send: int,
    send_count: int,
    send_type: "Datatype",
    receive: int,
    receive_count: int,
    receive_type: "Datatype",
) -> Steps:
    """In step k each rank sends all blocks it has to the rank 2**k below: log2(size) steps for any size.

    Block j of the packed copy is that of rank (rank + j) mod size.
    """
    rank, size = link.rank, link.size
    block = receive_count * receive_type.size
    step = receive_count * receive_type.extent
    held = Scratch(block * size)
    if send == IN_PLACE:
        gather_bytes(receive + rank * step, receive_count, receive_type, held.address)
    else:
        gather_bytes(send, send_count, send_type, held.address)
    have = 1
    while have < size:
        more = min(have, size - have)
        coming = link.receive_bytes((rank + have) % size, held.address + have * block, more * block)
        going = link.send_bytes((rank - have) % size, held.address, more * block)
        yield [coming, going]
        have += more
    for index in range(size):
        owner = (rank + index) % size
        if index or send != IN_PLACE:
            source = held.address + index * block
            scatter_bytes(source, block, receive + owner * step, receive_count, receive_type)


def _ring(
    link: Link,
    send: int,
    send_count: int,
    send_type: "Datatype",
    counts: Sequence[int],
    places: Sequence[int],
    receive_type: "Datatype",
) -> Steps:
    """Blocks travel round the ring, straight between the receive buffers: each link carries each block once."""
    rank, size = link.rank, link.size
    if send != IN_PLACE:
        copy_elements(send, send_count, send_type, places[rank], counts[rank], receive_type)
    before, after = (rank - 1) % size, (rank + 1) % size
    for step in range(size - 1):
        coming, going = (rank - step - 1) % size, (rank - step) % size
        yield [
            link.receive(before, places[coming], counts[coming], receive_type),
            link.send(after, places[going], counts[going], receive_type),
        ]
