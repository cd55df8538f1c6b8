"""Reduce-scatter: each pair of processes exchanges just the blocks that they owe each other."""

from collections.abc import Sequence

from ..buffers import TypedScratch, copy_elements
from ..constants import IN_PLACE
from ..datatypes import Datatype
from ..op import Op
from . import checks
from .link import Link
from .reduce import Vector, check_both, swap_totals
from .schedule import Steps, collective


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
