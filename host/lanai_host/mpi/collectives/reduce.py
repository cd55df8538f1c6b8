"""Reduce and allreduce. Operands are always combined in rank order, so that all algorithms but the
one by parts also serve operations that do not commute."""

from ..arguments import check_buffer
from ..buffers import TypedScratch, copy_elements
from ..constants import BOTTOM, IN_PLACE, PROC_NULL, ROOT
from ..datatypes import Datatype
from ..op import Op
from . import checks
from .broadcast import broadcast
from .link import Link
from .offloaded import Small, allreduce_pair, reduce_small
from .schedule import Steps, collective


class Vector:
    """A working copy of (count, datatype) elements, and a second one that receives what is to be
    combined with it."""

    def __init__(self, link: Link, count: int, datatype: Datatype, op: Op) -> None:
        self.link, self.count, self.datatype, self.op = link, count, datatype, op
        self.value = TypedScratch(count, datatype)
        self.other = TypedScratch(count, datatype)

    def load(self, address: int) -> "Vector":
        copy_elements(address, self.count, self.datatype, self.value.address, self.count, self.datatype)
        return self

    def store(self, address: int) -> None:
        copy_elements(self.value.address, self.count, self.datatype, address, self.count, self.datatype)

    def after_other(self) -> None:
        """value = other op value: the other came from lower ranks."""
        self.link.reduce(self.op, self.other.address, self.value.address, self.count, self.datatype)

    def before_other(self) -> None:
        """value = value op other: the other came from higher ranks."""
        self.link.reduce(self.op, self.value.address, self.other.address, self.count, self.datatype)
        self.value, self.other = self.other, self.value


def check_reduction(link: Link, datatype: Datatype, op: Op) -> None:
    """The datatype, and the operation on it."""
    check_buffer(link.call, BOTTOM, 0, datatype)
    op.check(link.call, datatype)


def check_both(
    link: Link, send: int, receive: int, count: int, datatype: Datatype, op: Op, received: int | None = None
) -> None:
    """Check a reduction in which every process has a send buffer of `count` elements and a receive buffer (of
    `received`).
    """
    check_reduction(link, datatype, op)
    checks.no_in_place(link, receive, "recvbuf")
    if link.is_inter:
        checks.no_in_place(link, send, "sendbuf")
    else:
        checks.distinct(link, send, receive, count * datatype.size)
    checks.check_buffers(link, send, count, datatype, "sendbuf")
    checks.check_buffers(link, receive, count if received is None else received, datatype, "recvbuf")


@collective("MPI_Reduce")
def reduce(link: Link, send: int, receive: int, count: int, datatype: Datatype, op: Op, root: int) -> Steps:
    """MPI_Reduce."""
    checks.root(link, root)
    if link.is_inter:
        if root != PROC_NULL:  # then nothing else has a meaning
            check_reduction(link, datatype, op)
            name, own = ("recvbuf", receive) if root == ROOT else ("sendbuf", send)
            checks.no_in_place(link, own, name)
            checks.check_buffers(link, own, count, datatype, name)
        return _reduce_between(link, send, receive, count, datatype, op, root)
    check_reduction(link, datatype, op)
    if link.rank == root:
        checks.no_in_place(link, receive, "recvbuf")
        checks.distinct(link, send, receive, count * datatype.size)
        checks.check_buffers(link, receive, count, datatype, "recvbuf")
    else:
        checks.no_in_place(link, send, "sendbuf")
    checks.check_buffers(link, send, count, datatype, "sendbuf")
    return reduce_to(link, receive if send == IN_PLACE else send, receive, count, datatype, op, root)


def reduce_to(link: Link, send: int, receive: int, count: int, datatype: Datatype, op: Op, root: int) -> Steps:
    """The choice. `receive` counts at the root only."""
    small = Small.of(link, count, datatype, op)
    if small is not None:
        yield from reduce_small(link, small, send, receive, root)
    elif link.choices.reduce_by_gather:
        yield from _reduce_by_gather(link, send, receive, count, datatype, op, root)
    elif _by_parts(link, count, datatype, op):
        vector = Vector(link, count, datatype, op).load(send)
        yield from _scatter_ring(link, vector)
        yield from _gather_parts(link, vector, root)
        if link.rank == root:
            vector.store(receive)
    else:
        yield from _reduce_tree(link, send, receive, count, datatype, op, root)


def _reduce_by_gather(link: Link, send: int, receive: int, count: int, datatype: Datatype, op: Op, root: int) -> Steps:
    """The root receives all vectors, in the order of ranks, and combines them (CC-22, CC-24)."""
    if link.rank != root:
        yield [link.send(root, send, count, datatype)]
        return
    vectors = [TypedScratch(count, datatype) for _ in range(link.size)]
    yield [link.receive(rank, vectors[rank].address, count, datatype) for rank in range(link.size) if rank != root]
    copy_elements(send, count, datatype, vectors[root].address, count, datatype)
    result = vectors.pop()
    for vector in reversed(vectors):
        link.reduce(op, vector.address, result.address, count, datatype)
    copy_elements(result.address, count, datatype, receive, count, datatype)


def _reduce_tree(link: Link, send: int, receive: int, count: int, datatype: Datatype, op: Op, root: int) -> Steps:
    """A binomial tree whose top is the root, or rank 0 if order matters (it then passes the result
    on)."""
    top = root if op.commute else 0
    place, size = (link.rank - top) % link.size, link.size
    vector: Vector | None = None
    bit = 1
    while bit < size and not place & bit:
        if place + bit < size:
            vector = vector or Vector(link, count, datatype, op).load(send)
            yield [link.receive((place + bit + top) % size, vector.other.address, count, datatype)]
            vector.before_other()
        bit *= 2
    held = send if vector is None else vector.value.address
    if place:
        yield [link.send((place - bit + top) % size, held, count, datatype)]
    if top != root and link.rank == top:
        yield [link.send(root, held, count, datatype)]
    if link.rank == root:
        if top != root:
            yield [link.receive(top, receive, count, datatype)]
        elif held != receive:
            copy_elements(held, count, datatype, receive, count, datatype)


@collective("MPI_Allreduce")
def allreduce(link: Link, send: int, receive: int, count: int, datatype: Datatype, op: Op) -> Steps:
    """MPI_Allreduce."""
    check_both(link, send, receive, count, datatype, op)
    if link.is_inter:
        return _allreduce_between(link, send, receive, count, datatype, op)
    return allreduce_into(link, receive if send == IN_PLACE else send, receive, count, datatype, op)


def allreduce_into(link: Link, send: int, receive: int, count: int, datatype: Datatype, op: Op) -> Steps:
    """The choice."""
    small = Small.of(link, count, datatype, op)
    if small is not None:
        yield from reduce_small(link, small, send, receive, None)
        return
    if count == 2 and (one := Small.of(link, 1, datatype, op)) is not None:
        yield from allreduce_pair(link, one, send, receive)
        return
    if link.choices.reduce_by_gather:
        yield from _reduce_by_gather(link, send, receive, count, datatype, op, 0)
        yield from broadcast(link, datatype.body(receive, count), 0)
        return
    vector = Vector(link, count, datatype, op).load(send)
    if _by_parts(link, count, datatype, op):
        yield from _scatter_ring(link, vector)
        yield from _gather_ring(link, vector)
    else:
        yield from _doubling(link, vector)
    vector.store(receive)


def _by_parts(link: Link, count: int, datatype: Datatype, op: Op) -> bool:
    return op.commute and count >= link.size and link.choices.by_parts(count * datatype.size, link.size)


def _doubling(link: Link, vector: Vector) -> Steps:
    """Partners at distance 1, 2, 4... exchange what they have. Ranks beyond a power of two first
    join a neighbour."""
    rank, size, count, datatype = link.rank, link.size, vector.count, vector.datatype
    core = 1 << (size.bit_length() - 1)
    extra = size - core
    paired = rank < 2 * extra
    if paired and rank % 2 == 0:
        yield [
            link.receive(rank + 1, vector.other.address, count, datatype),  # the result
            link.send(rank + 1, vector.value.address, count, datatype),
        ]
        vector.value = vector.other
        return
    if paired:
        yield [link.receive(rank - 1, vector.other.address, count, datatype)]
        vector.after_other()
    place = rank // 2 if paired else rank - extra
    bit = 1
    while bit < core:
        partner = place ^ bit
        partner = partner * 2 + 1 if partner < extra else partner + extra
        yield [
            link.receive(partner, vector.other.address, count, datatype),
            link.send(partner, vector.value.address, count, datatype),
        ]
        if partner < rank:
            vector.after_other()
        else:
            vector.before_other()
        bit *= 2
    if paired:
        yield [link.send(rank - 1, vector.value.address, count, datatype)]


class _Parts:
    """The begin of part `index` of a vector cut into `parts`, and its number of elements."""

    def __init__(self, vector: Vector, parts: int) -> None:
        self._bounds = [vector.count * index // parts for index in range(parts + 1)]
        self._extent = vector.datatype.extent

    def __call__(self, base: TypedScratch, index: int) -> tuple[int, int]:
        first, last = self._bounds[index], self._bounds[index + 1]
        return base.address + first * self._extent, last - first


def _scatter_ring(link: Link, vector: Vector) -> Steps:
    """Reduce-scatter round the ring: afterwards part `rank` of the value is complete."""
    rank, size, datatype = link.rank, link.size, vector.datatype
    part = _Parts(vector, size)
    before, after = (rank - 1) % size, (rank + 1) % size
    for step in range(size - 1):
        going, coming = (rank - step - 1) % size, (rank - step - 2) % size
        address, count = part(vector.other, coming)
        yield [
            link.receive(before, address, count, datatype),
            link.send(after, *part(vector.value, going), datatype),
        ]
        link.reduce(vector.op, address, part(vector.value, coming)[0], count, datatype)


def _gather_ring(link: Link, vector: Vector) -> Steps:
    """Complete parts go round until all have all."""
    rank, size, datatype = link.rank, link.size, vector.datatype
    part = _Parts(vector, size)
    for step in range(size - 1):
        yield [
            link.receive((rank - 1) % size, *part(vector.value, (rank - step - 1) % size), datatype),
            link.send((rank + 1) % size, *part(vector.value, (rank - step) % size), datatype),
        ]


def _gather_parts(link: Link, vector: Vector, root: int) -> Steps:
    """Complete parts go to the root."""
    part = _Parts(vector, link.size)
    if link.rank != root:
        yield [link.send(root, *part(vector.value, link.rank), vector.datatype)]
        return
    others = [rank for rank in range(link.size) if rank != root]
    yield [link.receive(rank, *part(vector.value, rank), vector.datatype) for rank in others]


# Between groups


def _reduce_between(link: Link, send: int, receive: int, count: int, datatype: Datatype, op: Op, root: int) -> Steps:
    """The group without the root reduces to its leader, who sends the result to the root."""
    if root == PROC_NULL:
        return
    if root == ROOT:
        yield [link.receive(0, receive, count, datatype)]
        return
    total = TypedScratch(count, datatype)
    yield from reduce_to(link.local(), send, total.address, count, datatype, op, 0)
    if link.rank == 0:
        yield [link.send(root, total.address, count, datatype)]


def _allreduce_between(link: Link, send: int, receive: int, count: int, datatype: Datatype, op: Op) -> Steps:
    """The leaders exchange their groups' reductions and broadcast what they get."""
    yield from swap_totals(link, send, receive, count, datatype, op)
    yield from broadcast(link.local(), datatype.body(receive, count), 0)


def swap_totals(link: Link, send: int, receive: int, count: int, datatype: Datatype, op: Op) -> Steps:
    """The leaders' receive buffers hold the other group's reduction."""
    total = TypedScratch(count, datatype)
    yield from reduce_to(link.local(), send, total.address, count, datatype, op, 0)
    if link.rank == 0:
        yield [link.receive(0, receive, count, datatype), link.send(0, total.address, count, datatype)]


# Inclusive and exclusive prefix reductions, by doubling.


@collective("MPI_Scan")
def scan(link: Link, send: int, receive: int, count: int, datatype: Datatype, op: Op) -> Steps:
    """MPI_Scan."""
    return _checked(link, send, receive, count, datatype, op, inclusive=True)


@collective("MPI_Exscan")
def exscan(link: Link, send: int, receive: int, count: int, datatype: Datatype, op: Op) -> Steps:
    """MPI_Exscan. Rank 0's receive buffer is left alone."""
    return _checked(link, send, receive, count, datatype, op, inclusive=False)


def _checked(link: Link, send: int, receive: int, count: int, datatype: Datatype, op: Op, inclusive: bool) -> Steps:
    checks.intra(link)
    check_both(link, send, receive, count, datatype, op)
    return _scan_by_doubling(link, receive if send == IN_PLACE else send, receive, count, datatype, op, inclusive)


def _scan_by_doubling(
    link: Link, send: int, receive: int, count: int, datatype: Datatype, op: Op, inclusive: bool
) -> Steps:
    """Partners exchange the reduction of their whole subcube; what came from below also goes into
    the prefix."""
    rank, size = link.rank, link.size
    cube = Vector(link, count, datatype, op).load(send)
    prefix: TypedScratch | None = None
    if inclusive:
        prefix = TypedScratch(count, datatype)
        copy_elements(send, count, datatype, prefix.address, count, datatype)
    bit = 1
    while bit < size:
        partner = rank ^ bit
        bit *= 2
        if partner >= size:
            continue
        yield [
            link.receive(partner, cube.other.address, count, datatype),
            link.send(partner, cube.value.address, count, datatype),
        ]
        if partner > rank:
            cube.before_other()
            continue
        if prefix is None:
            prefix = TypedScratch(count, datatype)
            copy_elements(cube.other.address, count, datatype, prefix.address, count, datatype)
        else:
            link.reduce(op, cube.other.address, prefix.address, count, datatype)
        cube.after_other()
    if prefix is not None:
        copy_elements(prefix.address, count, datatype, receive, count, datatype)
