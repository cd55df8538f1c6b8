"""Exchanges: a send and a receive in one call, which complete together."""

from typing import Any

from ..operation import Operation
from ..wait import Wait
from .arguments import check_buffer, check_peer, check_tag
from .buffers import gather_bytes
from .communicator import Communicator
from .constants import PROC_NULL
from .datatypes import BYTE, Datatype
from .errors import ErrorClass, MpiError
from .memory import Scratch
from .point_to_point import STANDARD, post_receive, post_send
from .request import ReceiveRequest, Request, SendRequest, hold
from .status import Status


def isendrecv(
    comm: Communicator,
    send_address: int,
    send_count: int,
    send_type: Datatype,
    dest: int,
    send_tag: int,
    receive_address: int,
    receive_count: int,
    receive_type: Datatype,
    source: int,
    receive_tag: int,
    *,
    call: str = "MPI_Isendrecv",
    keep: object = None,
    original: Datatype | None = None,
) -> Request:
    """MPI_Isendrecv. The receive goes first, so that the device never has to hold the answer."""
    # Nothing may be posted if the send cannot be.
    check_buffer(call, send_address, send_count, send_type, "sendbuf", used=dest != PROC_NULL)
    if dest != PROC_NULL:
        check_peer(comm, call, "dest", dest)
    check_tag(comm, call, send_tag)
    receiving = post_receive(comm, call, receive_address, receive_count, receive_type, source, receive_tag)
    sending = post_send(comm, call, send_address, send_count, send_type, dest, send_tag, STANDARD, original)
    if keep is not None:
        hold(sending, keep)
    return ExchangeRequest(
        ReceiveRequest(comm, call, receiving, source, receive_type), SendRequest(comm, call, sending, dest, send_tag)
    )


def sendrecv(*arguments: Any) -> Status:
    """MPI_Sendrecv, with the arguments of `isendrecv`."""
    return isendrecv(*arguments, call="MPI_Sendrecv").wait()


def isendrecv_replace(
    comm: Communicator,
    address: int,
    count: int,
    datatype: Datatype,
    dest: int,
    send_tag: int,
    source: int,
    receive_tag: int,
    *,
    call: str = "MPI_Isendrecv_replace",
) -> Request:
    """MPI_Isendrecv_replace. What is sent is copied first: the receive may begin to overwrite it at
    once."""
    check_buffer(call, address, count, datatype, used=dest != PROC_NULL or source != PROC_NULL)
    size = count * datatype.size
    copy = Scratch(size)
    gather_bytes(address, count, datatype, copy.address, size)
    sent = (copy.address, size, BYTE, dest, send_tag)
    received = (address, count, datatype, source, receive_tag)
    return isendrecv(comm, *sent, *received, call=call, keep=copy, original=datatype)


def sendrecv_replace(*arguments: Any) -> Status:
    """MPI_Sendrecv_replace, with the arguments of `isendrecv_replace`."""
    return isendrecv_replace(*arguments, call="MPI_Sendrecv_replace").wait()


class ExchangeRequest(Request):
    """A send and a receive that complete together; the status is the receive's."""

    def __init__(self, receiving: ReceiveRequest, sending: SendRequest) -> None:
        super().__init__(receiving.progress)
        self.call = receiving.call
        self.communicator = receiving.communicator
        self._receiving, self._sending = receiving, sending

    @property
    def done(self) -> bool:
        return self._receiving.done and self._sending.done

    def operations(self) -> list[Operation]:
        operations = self._receiving.operations() + self._sending.operations()
        return [operation for operation in operations if not operation.done]

    def why(self) -> Wait:
        return self._sending.why() if self._receiving.done else self._receiving.why()

    def status(self) -> Status:
        status = self._receiving.status()
        if status.error is None:
            status.error = self._sending.status().error
        return status

    def free(self) -> None:
        self._receiving.free()
        self._sending.free()

    def cancel(self) -> None:
        raise MpiError(ErrorClass.REQUEST, f"MPI_Cancel: a request of {self.call} cannot be cancelled")
