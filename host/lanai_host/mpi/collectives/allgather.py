"""Allgather, all-to-all and reduce-scatter. An allgather is a multicast of each block where the device has it; else
Bruck for short totals, a ring for long ones."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from ...operation import Operation
from ..buffers import TypedScratch, copy_elements, gather_bytes, scatter_bytes
from ..constants import IN_PLACE
from ..datatypes import Datatype
from ..memory import Scratch, move
from ..op import Op
from . import checks
from . import checks as inter
from .checks import Mixed, Part, Spread, copy_own
from .link import Link
from .reduce import Vector, check_both, swap_totals
from .schedule import Steps, collective


@collective("MPI_Allgather")
def allgather(link: Link, send: Part, receive: Part) -> Steps:
    """MPI_Allgather."""
    checks.check_buffers(link, *send, "sendbuf")
    checks.no_in_place(link, receive.address, "recvbuf")
    checks.check_buffers(link, *receive, "recvbuf")
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
    checks.check_buffers(link, *send, "sendbuf")
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


# All-to-all: Bruck for short blocks among many, everything posted at once among few, pairwise
# else.


@collective("MPI_Alltoall")
def alltoall(link: Link, send: Part, receive: Part) -> Steps:
    """MPI_Alltoall."""
    checks.check_buffers(link, *send, "sendbuf")
    checks.no_in_place(link, receive.address, "recvbuf")
    checks.check_buffers(link, *receive, "recvbuf")
    coming = receive.repeated(link.peers)
    if send.in_place:
        return exchange_in_place(link, coming)
    if not link.is_inter and send.elements == receive.elements and send.datatype is receive.datatype:
        checks.distinct(link, send.address, receive.address, send.size)
    going = send.repeated(link.peers)
    short = receive.size <= link.choices.alltoall_short and link.size >= link.choices.alltoall_short_size
    if short and not link.is_inter:
        return _alltoall_bruck(link, going, coming)
    return exchange(link, going, coming)


@collective("MPI_Alltoallv")
def alltoallv(link: Link, send: Spread, receive: Spread) -> Steps:
    """MPI_Alltoallv."""
    checks.no_in_place(link, receive.address, "recvbuf")
    coming = receive.parts(link, "recvcounts")
    if send.in_place:
        return exchange_in_place(link, coming)
    _apart(link, going := send.parts(link, "sendcounts"), coming)
    return exchange(link, going, coming)


@collective("MPI_Alltoallw")
def alltoallw(link: Link, send: Mixed, receive: Mixed) -> Steps:
    """MPI_Alltoallw."""
    checks.no_in_place(link, receive.address, "recvbuf")
    coming = receive.parts(link, "recvbuf")
    if send.in_place:
        return exchange_in_place(link, coming)
    _apart(link, going := send.parts(link, "sendbuf"), coming)
    return exchange(link, going, coming)


def _apart(link: Link, going: Sequence[Part], coming: Sequence[Part]) -> None:
    """No part lies where the one that replaces it goes."""
    if not link.is_inter:
        for out, back in zip(going, coming, strict=True):
            if out.elements == back.elements and out.datatype is back.datatype:
                checks.distinct(link, out.address, back.address, out.size)


def exchange(link: Link, going: Sequence[Part], coming: Sequence[Part]) -> Steps:
    """Each process of the remote group (or of the own) gets its part. In an intra-communicator the
    own part is copied."""
    order: Iterable[tuple[int, int]]
    if link.is_inter:
        order = [(rank, rank) for rank in range(link.peers)]
    else:
        own = link.rank
        copy_own(link, going[own], coming[own])
        order = [((own + step) % link.size, (own - step) % link.size) for step in range(1, link.size)]
    yield from _in_windows(link, order, going, coming)


def _in_windows(link: Link, order: Iterable[tuple[int, int]], going: Sequence[Part], coming: Sequence[Part]) -> Steps:
    """At most `alltoall_at_once` partners at a time, receives before sends, starting with the
    neighbours so that the processes do not all begin with the same one. All receives of a window are
    posted before its sends, of which `alltoall_under_way` bytes are under way at a time."""
    most = link.choices.alltoall_under_way
    pairs: Iterator[tuple[int, int]] = iter(order)
    while window := list(islice(pairs, link.choices.alltoall_at_once)):
        receives: list[Operation] = [link.receive(source, *coming[source]) for _, source in window]
        sends: deque[tuple[Operation, int]] = deque()
        for dest, _ in window:
            size = going[dest].size
            while sends and most and sum(others for _, others in sends) + size > most:
                yield [sends.popleft()[0]]
            sends.append((link.send_own(dest, *going[dest]), size))
        yield [*receives, *(send for send, _ in sends)]


def exchange_in_place(link: Link, parts: Sequence[Part]) -> Steps:
    """With MPI_IN_PLACE what goes is what was there before: a packed copy of it all is sent."""
    if link.is_inter:
        checks.no_in_place(link, IN_PLACE, "sendbuf")
    return _exchange_in_place(link, parts)


def _exchange_in_place(link: Link, parts: Sequence[Part]) -> Steps:
    copies = [Scratch(part.size) for part in parts]
    for copy, part in zip(copies, parts, strict=True):
        gather_bytes(*part, copy.address, part.size)
    others = [rank for rank in range(link.size) if rank != link.rank]
    operations = [link.receive(rank, *parts[rank]) for rank in others]
    operations.extend(link.send_bytes(rank, copies[rank].address, parts[rank].size) for rank in others)
    yield operations


def _alltoall_bruck(link: Link, going: Sequence[Part], coming: Sequence[Part]) -> Steps:
    """log2(size) steps; in step k the blocks whose distance to their reader has bit k travel 2**k
    ranks up together."""
    rank, size = link.rank, link.size
    block = coming[0].size
    link.check_passed_on(going[rank].size, block)
    held, outbox, inbox = (Scratch(block * size) for _ in range(3))
    for distance in range(size):
        gather_bytes(*going[(rank + distance) % size], held.address + distance * block, block)
    bit = 1
    while bit < size:
        moving = [distance for distance in range(size) if distance & bit]
        for index, distance in enumerate(moving):
            move(outbox.address + index * block, held.address + distance * block, block)
        yield [
            link.receive_bytes((rank - bit) % size, inbox.address, block * len(moving)),
            link.send_bytes((rank + bit) % size, outbox.address, block * len(moving)),
        ]
        for index, distance in enumerate(moving):
            move(held.address + distance * block, inbox.address + index * block, block)
        bit *= 2
    for distance in range(size):
        source = (rank - distance) % size
        scatter_bytes(held.address + distance * block, block, *coming[source])


# Reduce-scatter: each pair of processes exchanges just the blocks that they owe each other.


@collective("MPI_Reduce_scatter")
def reduce_scatter(link: Link, send: int, receive: int, counts: Sequence[int], datatype: Datatype, op: Op) -> Steps:
    """MPI_Reduce_scatter."""
    checks.check_counts(link, "recvcounts", counts, datatype)
    return _checked(link, send, receive, counts, datatype, op)


@collective("MPI_Reduce_scatter_block")
def reduce_scatter_block(link: Link, send: int, receive: int, count: int, datatype: Datatype, op: Op) -> Steps:
    """MPI_Reduce_scatter_block."""
    return _checked(link, send, receive, [count] * link.size, datatype, op)


def _checked(link: Link, send: int, receive: int, counts: Sequence[int], datatype: Datatype, op: Op) -> Steps:
    check_both(link, send, receive, sum(counts), datatype, op, counts[link.rank])
    if link.is_inter:
        return _between_groups(link, send, receive, counts, datatype, op)
    return _pairwise(link, receive if send == IN_PLACE else send, receive, counts, datatype, op)


def _pairwise(link: Link, send: int, receive: int, counts: Sequence[int], datatype: Datatype, op: Op) -> Steps:
    """Step s: give the rank s above its block, take one's own from the rank s below. If order
    matters, contributions are kept and combined in rank order at the end."""
    rank, size, extent = link.rank, link.size, datatype.extent
    starts = [send + sum(counts[:other]) * extent for other in range(size)]
    own = counts[rank]
    vector = Vector(link, own, datatype, op).load(starts[rank])
    kept: dict[int, TypedScratch] = {rank: vector.value}
    for step in range(1, size):
        source, dest = (rank - step) % size, (rank + step) % size
        inbox = vector.other if op.commute else TypedScratch(own, datatype)
        yield [
            link.receive(source, inbox.address, own, datatype),
            link.send_own(dest, starts[dest], counts[dest], datatype),
        ]
        if op.commute:
            vector.after_other()
        else:
            kept[source] = inbox
    if not op.commute:
        vector.value = kept[0]
        for other in range(1, size):
            vector.other = kept[other]
            vector.before_other()
    copy_elements(vector.value.address, own, datatype, receive, own, datatype)


def _between_groups(link: Link, send: int, receive: int, counts: Sequence[int], datatype: Datatype, op: Op) -> Steps:
    """The leaders exchange their groups' reductions, and deal out what they get."""
    local = link.local()
    whole = sum(counts)
    theirs = TypedScratch(whole if link.rank == 0 else 0, datatype)
    yield from swap_totals(link, send, theirs.address, whole, datatype, op)
    if link.rank:
        yield [local.receive(0, receive, counts[link.rank], datatype)]
        return
    copy_elements(theirs.address, counts[0], datatype, receive, counts[0], datatype)
    operations = []
    start = theirs.address
    for rank, count in enumerate(counts):
        if rank:
            operations.append(local.send(rank, start, count, datatype))
        start += count * datatype.extent
    yield operations
