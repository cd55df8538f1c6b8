"""Persistent point-to-point requests; the buffered one is in `buffered`."""

from ..device import SendMode
from .arguments import check_buffer, check_send
from .communicator import Communicator
from .constants import PROC_NULL
from .datatypes import Datatype
from .point_to_point import envelope, irecv, post_send
from .request import PersistentRequest, Request, SendRequest


def _persistent(
    comm: Communicator, call: str, address: int, count: int, datatype: Datatype, dest: int, tag: int, mode: SendMode
) -> PersistentRequest:
    check_send(comm, call, address, count, datatype, dest, tag)

    def begin() -> Request:
        operation = post_send(comm, call, address, count, datatype, dest, tag, mode)
        return SendRequest(comm, call, operation, dest, tag)

    return PersistentRequest(comm, call, begin)


def send_init(
    comm: Communicator, address: int, count: int, datatype: Datatype, dest: int, tag: int
) -> PersistentRequest:
    """MPI_Send_init."""
    return _persistent(comm, "MPI_Send_init", address, count, datatype, dest, tag, SendMode.STANDARD)


def ssend_init(
    comm: Communicator, address: int, count: int, datatype: Datatype, dest: int, tag: int
) -> PersistentRequest:
    """MPI_Ssend_init."""
    return _persistent(comm, "MPI_Ssend_init", address, count, datatype, dest, tag, SendMode.SYNCHRONOUS)


def rsend_init(
    comm: Communicator, address: int, count: int, datatype: Datatype, dest: int, tag: int
) -> PersistentRequest:
    """MPI_Rsend_init."""
    return _persistent(comm, "MPI_Rsend_init", address, count, datatype, dest, tag, SendMode.READY)


def recv_init(
    comm: Communicator, address: int, count: int, datatype: Datatype, source: int, tag: int
) -> PersistentRequest:
    """MPI_Recv_init."""
    check_buffer("MPI_Recv_init", address, count, datatype, used=source != PROC_NULL)
    envelope(comm, "MPI_Recv_init", source, tag)
    return PersistentRequest(comm, "MPI_Recv_init", lambda: irecv(comm, address, count, datatype, source, tag))
