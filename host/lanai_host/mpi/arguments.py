"""The checks of arguments by the functions on communicators. `call` is the MPI function that errors name."""

from typing import NoReturn

from .buffers import check_address
from .communicator import Communicator
from .constants import ANY_SOURCE, PROC_NULL
from .datatypes import NO_DATATYPE, Datatype
from .errors import ErrorClass, MpiError


def check_peer(comm: Communicator, call: str, name: str, rank: int) -> None:
    """`rank` may name a process that a message goes to."""
    if not 0 <= rank < comm.remote_size:
        _bad_rank(comm, call, name, rank, "MPI_PROC_NULL")


def check_source(comm: Communicator, call: str, rank: int) -> None:
    if not 0 <= rank < comm.remote_size and rank not in (PROC_NULL, ANY_SOURCE):
        _bad_rank(comm, call, "source", rank, "MPI_PROC_NULL, MPI_ANY_SOURCE")


def _bad_rank(comm: Communicator, call: str, name: str, rank: int, others: str) -> NoReturn:
    raise MpiError(
        ErrorClass.RANK, f"{call}: {name} is {rank}; it must be {others} or from 0 to {comm.remote_size - 1}"
    )


def check_tag(comm: Communicator, call: str, tag: int) -> None:
    if not 0 <= tag <= comm.tag_ub:
        raise MpiError(ErrorClass.TAG, f"{call}: tag is {tag}; it must be from 0 to {comm.tag_ub}")


def check_buffer(call: str, address: int, count: int, datatype: Datatype, name: str = "buf", used: bool = True) -> None:
    """`name` is the argument that gave `address`. MPI_DATATYPE_NULL will do without elements, or if the
    buffer is not `used`."""
    if count < 0:
        raise MpiError(ErrorClass.COUNT, f"{call}: count is {count}; it must not be negative")
    if not datatype.committed and (datatype is not NO_DATATYPE or (count and used)):
        raise MpiError(ErrorClass.TYPE, f"{call}: the datatype {datatype.name!r} is not committed")
    if address <= 0 and count:
        check_address(call, name, address, count, datatype)


def check_send(
    comm: Communicator, call: str, address: int, count: int, datatype: Datatype, dest: int, tag: int
) -> None:
    """The arguments of a send, which may be to MPI_PROC_NULL."""
    check_buffer(call, address, count, datatype, used=dest != PROC_NULL)
    check_tag(comm, call, tag)
    if dest != PROC_NULL:
        check_peer(comm, call, "dest", dest)


def check_member(comm: Communicator, call: str, rank: int) -> None:
    """`rank` is one of the communicator's own group."""
    if not 0 <= rank < comm.size:
        raise MpiError(ErrorClass.RANK, f"{call}: rank is {rank}; it must be from 0 to {comm.size - 1}")


def check_intra(comm: Communicator, call: str) -> None:
    if comm.is_inter:
        raise MpiError(ErrorClass.COMM, f"{call}: the communicator is an inter-communicator")
