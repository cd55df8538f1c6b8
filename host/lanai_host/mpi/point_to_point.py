"""Point-to-point communication: blocking and non-blocking, in all send modes."""

from typing import Any

from ..device import SendMode
from ..operation import ANY_SOURCE as DEVICE_ANY_SOURCE
from ..operation import ANY_TAG as DEVICE_ANY_TAG
from ..operation import Operation, Wait
from .arguments import check_buffer, check_peer, check_send, check_source, check_tag
from .buffers import gather_bytes
from .communicator import CALL, Communicator
from .constants import ANY_TAG, PROC_NULL, Status
from .datatypes import BYTE, Datatype
from .errors import ErrorClass, MpiError
from .memory import Scratch
from .request import PersistentRequest, ReceiveRequest, Request, SendRequest, device_error, hold

STANDARD, SYNCHRONOUS, READY = SendMode.STANDARD, SendMode.SYNCHRONOUS, SendMode.READY


def post_send(
    comm: Communicator,
    call: str,
    address: int,
    count: int,
    datatype: Datatype,
    dest: int,
    tag: int,
    mode: SendMode,
    original: Datatype | None = None,
) -> Operation | None:
    """Check the arguments and start a send on the device; None to MPI_PROC_NULL. `original`: what the program named,
    if `datatype` is that of a copy."""
    if count < 0 or address <= 0 or not datatype.committed:
        check_buffer(call, address, count, datatype, used=dest != PROC_NULL)
    if not 0 <= tag <= comm.tag_ub:
        check_tag(comm, call, tag)
    if not 0 <= dest < comm.remote_size:
        if dest == PROC_NULL:
            return None
        check_peer(comm, call, "dest", dest)
    body = datatype.body(address, count)
    if mode is STANDARD and comm.process.synchronous:
        orders = comm.device.orders
        if orders is None or orders.waits(dest, tag):
            mode = SYNCHRONOUS
    if count:
        comm.process.seen_types.add(True, comm.context, comm.route[dest], tag, (original or datatype).signature)
    with comm.lock:
        comm.device.charge(CALL)
        return comm.device.send(comm.route[dest], tag, comm.context, body, mode)


def post_receive(
    comm: Communicator, call: str, address: int, count: int, datatype: Datatype, source: int, tag: int
) -> Operation | None:
    """Check the arguments and start a receive on the device; None from MPI_PROC_NULL."""
    if count < 0 or address <= 0 or not datatype.committed:
        check_buffer(call, address, count, datatype, used=source != PROC_NULL)
    world_source, device_tag = envelope(comm, call, source, tag)
    if source == PROC_NULL:
        return None
    body = datatype.body(address, count)
    with comm.lock:
        comm.device.charge(CALL)
        return comm.device.receive(world_source, device_tag, comm.context, body)


def envelope(comm: Communicator, call: str, source: int, tag: int) -> tuple[int, int]:
    """Source and tag that a receive or probe names, checked and in the device's terms."""
    if tag == ANY_TAG:
        tag = DEVICE_ANY_TAG
    elif not 0 <= tag <= comm.tag_ub:
        check_tag(comm, call, tag)
    if 0 <= source < comm.remote_size:
        return comm.route[source], tag
    check_source(comm, call, source)
    return DEVICE_ANY_SOURCE, tag


def _send_by(
    comm: Communicator, call: str, address: int, count: int, datatype: Datatype, dest: int, tag: int, mode: SendMode
) -> None:
    operation = post_send(comm, call, address, count, datatype, dest, tag, mode)
    if operation is not None:
        _finish_send(comm, call, operation, dest, tag)


def _finish_send(comm: Communicator, call: str, operation: Operation, dest: int, tag: int) -> None:
    if not operation.done:
        comm.progress.wait_for(operation, SendRequest(comm, call, operation, dest, tag))
    if operation.error is not None:
        raise device_error(call, operation.error, operation.length, dest)


def send(comm: Communicator, address: int, count: int, datatype: Datatype, dest: int, tag: int) -> None:
    """MPI_Send."""
    if (
        comm.fast_path is not None
        and 0 <= dest < comm.remote_size
        and 0 <= tag <= comm.tag_ub
        and count >= 0
        and address > 0
        and datatype.committed
        and datatype.dense
        and comm.progress.alone()
        and comm.fast_path.send(comm.route[dest], tag, comm.context, address + datatype.true_lb, datatype.size * count)
    ):
        if count:
            comm.process.seen_types.add(True, comm.context, comm.route[dest], tag, datatype.signature)
        return
    operation = post_send(comm, "MPI_Send", address, count, datatype, dest, tag, STANDARD)
    if operation is not None and (not operation.done or operation.error is not None):
        _finish_send(comm, "MPI_Send", operation, dest, tag)


def ssend(comm: Communicator, address: int, count: int, datatype: Datatype, dest: int, tag: int) -> None:
    """MPI_Ssend."""
    _send_by(comm, "MPI_Ssend", address, count, datatype, dest, tag, SYNCHRONOUS)


def rsend(comm: Communicator, address: int, count: int, datatype: Datatype, dest: int, tag: int) -> None:
    """MPI_Rsend."""
    _send_by(comm, "MPI_Rsend", address, count, datatype, dest, tag, READY)


def isend(comm: Communicator, address: int, count: int, datatype: Datatype, dest: int, tag: int) -> Request:
    """MPI_Isend."""
    operation = post_send(comm, "MPI_Isend", address, count, datatype, dest, tag, STANDARD)
    return SendRequest(comm, "MPI_Isend", operation, dest, tag)


def issend(comm: Communicator, address: int, count: int, datatype: Datatype, dest: int, tag: int) -> Request:
    """MPI_Issend."""
    operation = post_send(comm, "MPI_Issend", address, count, datatype, dest, tag, SYNCHRONOUS)
    return SendRequest(comm, "MPI_Issend", operation, dest, tag)


def irsend(comm: Communicator, address: int, count: int, datatype: Datatype, dest: int, tag: int) -> Request:
    """MPI_Irsend."""
    operation = post_send(comm, "MPI_Irsend", address, count, datatype, dest, tag, READY)
    return SendRequest(comm, "MPI_Irsend", operation, dest, tag)


def recv(comm: Communicator, address: int, count: int, datatype: Datatype, source: int, tag: int) -> Status:
    """MPI_Recv."""
    operation = (
        _receive_on_fast_path(comm, address, count, datatype, source, tag)
        if comm.fast_path is not None
        and count >= 0
        and address > 0
        and datatype.committed
        and datatype.dense
        and comm.progress.alone()
        else post_receive(comm, "MPI_Recv", address, count, datatype, source, tag)
    )
    if operation is None:
        return Status(PROC_NULL, ANY_TAG)
    if not operation.done:
        comm.progress.wait_for(operation, ReceiveRequest(comm, "MPI_Recv", operation, source, datatype))
    if operation.error is not None or operation.length % (datatype.size or 1):
        return ReceiveRequest(comm, "MPI_Recv", operation, source, datatype).finish()
    if (orders := comm.device.orders) is not None:
        orders.received(operation)
    if operation.length:
        comm.process.seen_types.add(False, comm.context, operation.source, operation.tag, datatype.signature)
    return Status(comm.remote_group.position(operation.source), operation.tag, operation.length)


def _receive_on_fast_path(
    comm: Communicator, address: int, count: int, datatype: Datatype, source: int, tag: int
) -> Operation | None:
    """`post_receive` for MPI_Recv, where `fast_path` may be used."""
    assert comm.fast_path is not None
    world_source, device_tag = envelope(comm, "MPI_Recv", source, tag)
    if source == PROC_NULL:
        return None

    def why() -> Wait:
        return ReceiveRequest(comm, "MPI_Recv", Operation(world_source, device_tag), source, datatype).why()

    where, size = address + datatype.true_lb, datatype.size * count
    return comm.fast_path.receive(world_source, device_tag, comm.context, where, size, why)


def irecv(comm: Communicator, address: int, count: int, datatype: Datatype, source: int, tag: int) -> Request:
    """MPI_Irecv."""
    operation = post_receive(comm, "MPI_Irecv", address, count, datatype, source, tag)
    return ReceiveRequest(comm, "MPI_Irecv", operation, source, datatype)


# Exchanges: a send and a receive in one call, which complete together.


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


# Persistent point-to-point requests; the buffered one is in `buffered`.


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
