"""Collectives on inter-communicators: what one group gives, the other gets.

Data goes directly between the groups where every pair exchanges something of its own, and through the two leaders (rank 0
of each group) and their local groups where all get the same.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..constants import PROC_NULL, ROOT
from ..memory import TypedScratch, copy_elements
from . import checks
from .schedule import Link, Steps

if TYPE_CHECKING:
    from ..datatypes import Datatype
    from ..op import Op


def barrier(link: Link) -> Steps:
    from .barrier import dissemination
    from .broadcast import binomial

    local = link.local()
    yield from dissemination(local)
    if link.rank == 0:
        yield [link.receive_bytes(0, 0, 0), link.send_bytes(0, 0, 0)]
    yield from binomial(local, [], 0)


def bcast(link: Link, address: int, count: int, datatype: "Datatype", root: int) -> Steps:
    from .broadcast import broadcast

    if root == PROC_NULL:
        return
    if root == ROOT:
        yield [link.send(0, address, count, datatype)]
        return
    if link.rank == 0:
        yield [link.receive(root, address, count, datatype)]
    yield from broadcast(link.local(), datatype.segments(address, count), count * datatype.size, 0)


def gather(
    link: Link,
    send: int,
    send_count: int,
    send_type: "Datatype",
    receive: int,
    receive_count: int,
    receive_type: "Datatype",
    root: int,
) -> Steps:
    counts = [receive_count] * link.peers
    displacements = [rank * receive_count for rank in range(link.peers)]
    return gatherv(link, send, send_count, send_type, receive, counts, displacements, receive_type, root)


def gatherv(
    link: Link,
    send: int,
    send_count: int,
    send_type: "Datatype",
    receive: int,
    receive_counts: Sequence[int],
    displacements: Sequence[int],
    receive_type: "Datatype",
    root: int,
) -> Steps:
    if root == ROOT:
        checks.counts(link, "recvcounts", receive_counts, receive_type)
    elif root != PROC_NULL:
        checks.buffer(link, send, send_count, send_type)

    def steps() -> Steps:
        if root == ROOT:
            extent = receive_type.extent
            yield [
                link.receive(rank, receive + displacements[rank] * extent, receive_counts[rank], receive_type)
                for rank in range(link.peers)
            ]
        elif root != PROC_NULL:
            yield [link.send(root, send, send_count, send_type)]

    return steps()


def scatter(
    link: Link,
    send: int,
    send_count: int,
    send_type: "Datatype",
    receive: int,
    receive_count: int,
    receive_type: "Datatype",
    root: int,
) -> Steps:
    counts = [send_count] * link.peers
    displacements = [rank * send_count for rank in range(link.peers)]
    return scatterv(link, send, counts, displacements, send_type, receive, receive_count, receive_type, root)


def scatterv(
    link: Link,
    send: int,
    send_counts: Sequence[int],
    displacements: Sequence[int],
    send_type: "Datatype",
    receive: int,
    receive_count: int,
    receive_type: "Datatype",
    root: int,
) -> Steps:
    if root == ROOT:
        checks.counts(link, "sendcounts", send_counts, send_type)
    elif root != PROC_NULL:
        checks.buffer(link, receive, receive_count, receive_type)

    def steps() -> Steps:
        if root == ROOT:
            extent = send_type.extent
            yield [
                link.send(rank, send + displacements[rank] * extent, send_counts[rank], send_type)
                for rank in range(link.peers)
            ]
        elif root != PROC_NULL:
            yield [link.receive(root, receive, receive_count, receive_type)]

    return steps()


def allgather(
    link: Link,
    send: int,
    send_count: int,
    send_type: "Datatype",
    receive: int,
    receive_count: int,
    receive_type: "Datatype",
) -> Steps:
    step = receive_count * receive_type.extent
    places = [receive + rank * step for rank in range(link.peers)]
    return allgatherv(link, send, send_count, send_type, [receive_count] * link.peers, places, receive_type)


def allgatherv(
    link: Link,
    send: int,
    send_count: int,
    send_type: "Datatype",
    counts: Sequence[int],
    places: Sequence[int],
    receive_type: "Datatype",
) -> Steps:
    checks.no_in_place(link, send, "sendbuf")

    def steps() -> Steps:
        operations = [link.receive(rank, places[rank], counts[rank], receive_type) for rank in range(link.peers)]
        operations += [link.send(rank, send, send_count, send_type) for rank in range(link.peers)]
        yield operations

    return steps()


def reduce(link: Link, send: int, receive: int, count: int, datatype: "Datatype", op: "Op", root: int) -> Steps:
    from .reduce import reduce_to

    if root == PROC_NULL:
        return
    if root == ROOT:
        yield [link.receive(0, receive, count, datatype)]
        return
    total = TypedScratch(count, datatype)
    yield from reduce_to(link.local(), send, total.address, count, datatype, op, 0)
    if link.rank == 0:
        yield [link.send(root, total.address, count, datatype)]


def allreduce(link: Link, send: int, receive: int, count: int, datatype: "Datatype", op: "Op") -> Steps:
    from .broadcast import broadcast

    yield from _swap_totals(link, send, receive, count, datatype, op)
    yield from broadcast(link.local(), datatype.segments(receive, count), count * datatype.size, 0)


def _swap_totals(link: Link, send: int, receive: int, count: int, datatype: "Datatype", op: "Op") -> Steps:
    """The leaders' receive buffers hold the other group's reduction."""
    from .reduce import reduce_to

    total = TypedScratch(count, datatype)
    yield from reduce_to(link.local(), send, total.address, count, datatype, op, 0)
    if link.rank == 0:
        yield [link.receive(0, receive, count, datatype), link.send(0, total.address, count, datatype)]


def reduce_scatter(link: Link, send: int, receive: int, counts: Sequence[int], datatype: "Datatype", op: "Op") -> Steps:
    local = link.local()
    whole = sum(counts)
    theirs = TypedScratch(whole if link.rank == 0 else 0, datatype)
    yield from _swap_totals(link, send, theirs.address, whole, datatype, op)
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
