"""Allgather: a multicast of each block where the device has it; else Bruck for short totals, a ring
for long ones."""

from collections.abc import Sequence

from ..buffers import copy_elements, gather_bytes, scatter_bytes
from ..memory import Scratch
from . import checks, inter
from .link import Link
from .parts import Part, Spread
from .schedule import Steps, collective


@collective("MPI_Allgather")
def allgather(link: Link, send: Part, receive: Part) -> Steps:
    """MPI_Allgather."""
    checks.buffer(link, *send, "sendbuf")
    checks.no_in_place(link, receive.address, "recvbuf")
    checks.buffer(link, *receive, "recvbuf")
    if link.is_inter:
        return inter.allgather(link, send, receive.repeated(link.peers))
    if send.elements == receive.elements and send.datatype is receive.datatype:
        checks.distinct(link, send.address, receive.at(link.rank).address, send.size)
    if link.choices.multicast:
        return _by_multicast(link, send, receive.repeated(link.size))
    if receive.size * link.size <= link.choices.allgather_short:
        return _bruck(link, send, receive)
    return _ring(link, send, receive.repeated(link.size))


@collective("MPI_Allgatherv")
def allgatherv(link: Link, send: Part, receive: Spread) -> Steps:
    """MPI_Allgatherv."""
    checks.buffer(link, *send, "sendbuf")
    checks.no_in_place(link, receive.address, "recvbuf")
    coming = receive.parts(link, "recvcounts")
    if link.is_inter:
        return inter.allgather(link, send, coming)
    if send.datatype is receive.datatype:
        checks.distinct(link, send.address, coming[link.rank].address, min(send.size, coming[link.rank].size))
    return _ring(link, send, coming)


def _place_own(link: Link, send: Part, block: Part) -> None:
    """Put a process's own block where the others' go, from where it is sent."""
    link.check_passed_on(send.size, block.size)
    copy_elements(*send, *block)


def _by_multicast(link: Link, send: Part, blocks: Sequence[Part]) -> Steps:
    """Each rank sends its block to all others in one message (CC-25)."""
    own = blocks[link.rank]
    if not send.in_place:
        _place_own(link, send, own)
    others = [rank for rank in range(link.size) if rank != link.rank]
    operations = [link.receive(rank, *blocks[rank]) for rank in others]
    if others:
        operations.append(link.multicast_body(others, own.datatype.body(own.address, own.elements)))
    yield operations


def _bruck(link: Link, send: Part, receive: Part) -> Steps:
    """In step k each rank sends all blocks it has to the rank 2**k below: log2(size) steps for any
    size.

    Block j of the packed copy is that of rank (rank + j) mod size.
    """
    rank, size, block = link.rank, link.size, receive.size
    held = Scratch(block * size)
    if not send.in_place:
        link.check_passed_on(send.size, block)
    gather_bytes(*(receive.at(rank) if send.in_place else send), held.address, block)
    have = 1
    while have < size:
        more = min(have, size - have)
        coming = link.receive_bytes((rank + have) % size, held.address + have * block, more * block)
        going = link.send_bytes((rank - have) % size, held.address, more * block)
        yield [coming, going]
        have += more
    for index in range(size):
        if index or not send.in_place:
            scatter_bytes(held.address + index * block, block, *receive.at((rank + index) % size))


def _ring(link: Link, send: Part, blocks: Sequence[Part]) -> Steps:
    """Blocks travel round the ring, straight between the receive buffers: each link carries each
    block once."""
    rank, size = link.rank, link.size
    if not send.in_place:
        _place_own(link, send, blocks[rank])
    before, after = (rank - 1) % size, (rank + 1) % size
    for step in range(size - 1):
        coming, going = blocks[(rank - step - 1) % size], blocks[(rank - step) % size]
        yield [link.receive(before, *coming), link.send(after, *going)]
