"""Gather and scatter: along a binomial tree for short blocks, else directly; the v forms directly."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..constants import IN_PLACE
from ..memory import Scratch, copy_elements, gather_bytes, scatter_bytes
from . import checks, inter
from .choice import TREE_FROM_SIZE, TREE_GATHER
from .schedule import Link, Steps, collective
from .tree import children, parent, subtree

if TYPE_CHECKING:
    from ..datatypes import Datatype


@collective("MPI_Gather")
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
    """MPI_Gather."""
    checks.root(link, root)
    if link.is_inter:
        return inter.gather(link, send, send_count, send_type, receive, receive_count, receive_type, root)
    if link.rank == root:
        checks.buffer(link, receive, receive_count, receive_type)
        checks.no_in_place(link, receive, "recvbuf")
        block = receive_count * receive_type.size
    else:
        checks.no_in_place(link, send, "sendbuf")
        block = send_count * send_type.size
    checks.buffer(link, send, send_count, send_type)
    if block <= TREE_GATHER and link.size >= TREE_FROM_SIZE:
        return _gather_tree(link, send, send_count, send_type, receive, receive_count, receive_type, root, block)
    step = receive_count * receive_type.extent if link.rank == root else 0
    counts = [receive_count] * link.size
    places = [receive + rank * step for rank in range(link.size)]
    return _gather_direct(link, send, send_count, send_type, counts, places, receive_type, root)


@collective("MPI_Gatherv")
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
    """MPI_Gatherv."""
    checks.root(link, root)
    if link.is_inter:
        return inter.gatherv(
            link, send, send_count, send_type, receive, receive_counts, displacements, receive_type, root
        )
    places: list[int] = []
    if link.rank == root:
        checks.counts(link, "recvcounts", receive_counts, receive_type)
        places = [receive + displacement * receive_type.extent for displacement in displacements]
    else:
        checks.no_in_place(link, send, "sendbuf")
    checks.buffer(link, send, send_count, send_type)
    return _gather_direct(link, send, send_count, send_type, receive_counts, places, receive_type, root)


def _gather_direct(
    link: Link,
    send: int,
    send_count: int,
    send_type: "Datatype",
    counts: Sequence[int],
    places: Sequence[int],
    receive_type: "Datatype",
    root: int,
) -> Steps:
    if link.rank != root:
        yield [link.send(root, send, send_count, send_type)]
        return
    operations = [
        link.receive(rank, places[rank], counts[rank], receive_type) for rank in range(link.size) if rank != root
    ]
    if send != IN_PLACE:
        copy_elements(send, send_count, send_type, places[root], counts[root], receive_type)
    yield operations


def _gather_tree(
    link: Link,
    send: int,
    send_count: int,
    send_type: "Datatype",
    receive: int,
    receive_count: int,
    receive_type: "Datatype",
    root: int,
    block: int,
) -> Steps:
    """Each rank collects the packed blocks of its subtree, which are neighbours in memory, and hands them up."""
    place = (link.rank - root) % link.size
    held = Scratch(block * subtree(place, link.size))
    if send == IN_PLACE:
        gather_bytes(
            receive + link.rank * receive_count * receive_type.extent, receive_count, receive_type, held.address
        )
    else:
        gather_bytes(send, send_count, send_type, held.address)
    yield [
        link.receive_bytes(
            (child + root) % link.size, held.address + (child - place) * block, block * subtree(child, link.size)
        )
        for child in children(place, link.size)
    ]
    if place:
        yield [link.send_bytes((parent(place) + root) % link.size, held.address, block * subtree(place, link.size))]
        return
    for rank in range(link.size):
        if send == IN_PLACE and rank == root:
            continue
        source = held.address + (rank - root) % link.size * block
        target = receive + rank * receive_count * receive_type.extent
        scatter_bytes(source, block, target, receive_count, receive_type)


@collective("MPI_Scatter")
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
    """MPI_Scatter."""
    checks.root(link, root)
    if link.is_inter:
        return inter.scatter(link, send, send_count, send_type, receive, receive_count, receive_type, root)
    if link.rank == root:
        checks.buffer(link, send, send_count, send_type)
        checks.no_in_place(link, send, "sendbuf")
        block = send_count * send_type.size
    else:
        checks.no_in_place(link, receive, "recvbuf")
        block = receive_count * receive_type.size
    checks.buffer(link, receive, receive_count, receive_type)
    if block <= TREE_GATHER and link.size >= TREE_FROM_SIZE:
        return _scatter_tree(link, send, send_count, send_type, receive, receive_count, receive_type, root, block)
    step = send_count * send_type.extent if link.rank == root else 0
    counts = [send_count] * link.size
    places = [send + rank * step for rank in range(link.size)]
    return _scatter_direct(link, counts, places, send_type, receive, receive_count, receive_type, root)


@collective("MPI_Scatterv")
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
    """MPI_Scatterv."""
    checks.root(link, root)
    if link.is_inter:
        return inter.scatterv(
            link, send, send_counts, displacements, send_type, receive, receive_count, receive_type, root
        )
    places: list[int] = []
    if link.rank == root:
        checks.counts(link, "sendcounts", send_counts, send_type)
        places = [send + displacement * send_type.extent for displacement in displacements]
    else:
        checks.no_in_place(link, receive, "recvbuf")
    checks.buffer(link, receive, receive_count, receive_type)
    return _scatter_direct(link, send_counts, places, send_type, receive, receive_count, receive_type, root)


def _scatter_direct(
    link: Link,
    counts: Sequence[int],
    places: Sequence[int],
    send_type: "Datatype",
    receive: int,
    receive_count: int,
    receive_type: "Datatype",
    root: int,
) -> Steps:
    if link.rank != root:
        yield [link.receive(root, receive, receive_count, receive_type)]
        return
    operations = [link.send(rank, places[rank], counts[rank], send_type) for rank in range(link.size) if rank != root]
    if receive != IN_PLACE:
        copy_elements(places[root], counts[root], send_type, receive, receive_count, receive_type)
    yield operations


def _scatter_tree(
    link: Link,
    send: int,
    send_count: int,
    send_type: "Datatype",
    receive: int,
    receive_count: int,
    receive_type: "Datatype",
    root: int,
    block: int,
) -> Steps:
    """The reverse of `_gather_tree`."""
    place = (link.rank - root) % link.size
    held = Scratch(block * subtree(place, link.size))
    if place:
        yield [link.receive_bytes((parent(place) + root) % link.size, held.address, block * subtree(place, link.size))]
    else:
        for rank in range(link.size):
            source = send + rank * send_count * send_type.extent
            gather_bytes(source, send_count, send_type, held.address + (rank - root) % link.size * block)
    sends = [
        link.send_bytes(
            (child + root) % link.size, held.address + (child - place) * block, block * subtree(child, link.size)
        )
        for child in children(place, link.size)
    ]
    if receive != IN_PLACE:
        scatter_bytes(held.address, block, receive, receive_count, receive_type)
    yield sends
