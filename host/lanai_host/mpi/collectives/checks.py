"""The checks of collectives before they begin."""

from collections.abc import Sequence

from ..arguments import check_buffer
from ..constants import BOTTOM, IN_PLACE, PROC_NULL, ROOT
from ..datatypes import Datatype
from ..errors import ErrorClass, MpiError
from .link import Link


def buffer(link: Link, address: int, count: int, datatype: Datatype | None, name: str) -> None:
    """A buffer that is used: count, datatype committed, memory there. IN_PLACE has none of them.
    `name` is the argument."""
    if address == IN_PLACE:
        return
    assert datatype is not None
    check_buffer(link.call, address, count, datatype, name)


def counts(link: Link, name: str, values: Sequence[int], datatype: Datatype) -> None:
    """The count of each process."""
    for rank, count in enumerate(values):
        if count < 0:
            raise MpiError(ErrorClass.COUNT, f"{link.call}: {name}[{rank}] is {count}; it must not be negative")
    check_buffer(link.call, BOTTOM, 0, datatype)


def distinct(link: Link, one: int, other: int, size: int) -> None:
    """The blocks of `size` bytes that the process sends and receives do not lie at the same
    place."""
    if one == other and size and one not in (BOTTOM, IN_PLACE):
        raise MpiError(ErrorClass.BUFFER, f"{link.call}: sendbuf and recvbuf are the same; use MPI_IN_PLACE")


def root(link: Link, rank: int) -> None:
    """A root: a rank, or in an inter-communicator a remote rank, ROOT or PROC_NULL."""
    if 0 <= rank < link.peers or (link.is_inter and rank in (ROOT, PROC_NULL)):
        return
    others = "MPI_ROOT, MPI_PROC_NULL or " if link.is_inter else ""
    raise MpiError(ErrorClass.ROOT, f"{link.call}: root is {rank}; it must be {others}from 0 to {link.peers - 1}")


def no_in_place(link: Link, address: int, name: str) -> None:
    if address == IN_PLACE:
        raise MpiError(ErrorClass.BUFFER, f"{link.call}: {name} is MPI_IN_PLACE, which is not allowed here")


def intra(link: Link) -> None:
    if link.is_inter:
        raise MpiError(ErrorClass.COMM, f"{link.call}: the communicator is an inter-communicator")
