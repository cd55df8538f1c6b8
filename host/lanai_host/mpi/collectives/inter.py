"""Collectives on inter-communicators: what one group gives, the other gets.

Data goes directly between the groups where every pair exchanges something of its own, and through the two leaders (rank 0
of each group) and their local groups where all get the same.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...device import Operation
from ..constants import PROC_NULL, ROOT
from ..memory import TypedScratch, copy_elements
from . import checks
from .parts import Part
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


def gather(link: Link, send: Part, root: int, blocks: Callable[[], Sequence[Part]]) -> Steps:
    """`blocks`: what the root receives, from the arguments that are only its."""
    coming = _blocks(link, send, "sendbuf", root, blocks)
    if root == ROOT:
        return _at_once(lambda: [link.receive(rank, *part) for rank, part in enumerate(coming)])
    return _at_once(lambda: [] if root == PROC_NULL else [link.send(root, *send)])


def scatter(link: Link, receive: Part, root: int, blocks: Callable[[], Sequence[Part]]) -> Steps:
    """`blocks`: what the root sends, from the arguments that are only its."""
    going = _blocks(link, receive, "recvbuf", root, blocks)
    if root == ROOT:
        return _at_once(lambda: [link.send(rank, *part) for rank, part in enumerate(going)])
    return _at_once(lambda: [] if root == PROC_NULL else [link.receive(root, *receive)])


def _blocks(link: Link, own: Part, name: str, root: int, blocks: Callable[[], Sequence[Part]]) -> Sequence[Part]:
    """The root's blocks; the others have one of their own, to be checked."""
    if root == ROOT:
        return blocks()
    if root != PROC_NULL:
        checks.buffer(link, *own, name)
    return []


def allgather(link: Link, send: Part, blocks: Sequence[Part]) -> Steps:
    checks.no_in_place(link, send.address, "sendbuf")
    return _at_once(
        lambda: [
            *(link.receive(rank, *block) for rank, block in enumerate(blocks)),
            *(link.send(rank, *send) for rank in range(link.peers)),
        ]
    )


def _at_once(begin: Callable[[], list[Operation]]) -> Steps:
    """A schedule of one step."""
    yield begin()


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
