"""Inclusive and exclusive prefix reductions, by doubling."""

from ..buffers import TypedScratch, copy_elements
from ..constants import IN_PLACE
from ..datatypes import Datatype
from ..op import Op
from . import checks
from .link import Link
from .reduce import Vector, check_both
from .schedule import Steps, collective


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
    return _doubling(link, receive if send == IN_PLACE else send, receive, count, datatype, op, inclusive)


def _doubling(link: Link, send: int, receive: int, count: int, datatype: Datatype, op: Op, inclusive: bool) -> Steps:
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
