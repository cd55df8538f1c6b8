"""Point-to-point communication: blocking and non-blocking, in all send modes, and exchanges."""

from typing import TYPE_CHECKING

from .. import device as dev
from ..bus.base import Wait
from ..device import Operation, SendMode
from .base import CALL, CommunicatorBase
from .constants import ANY_TAG, PROC_NULL
from .errors import ErrorClass, MpiError
from .memory import Scratch, gather_bytes
from .request import ReceiveRequest, Request, SendRequest, device_error, hold
from .status import Status

if TYPE_CHECKING:
    from .datatypes import Datatype

STANDARD, SYNCHRONOUS, READY = SendMode.STANDARD, SendMode.SYNCHRONOUS, SendMode.READY


class PointToPoint(CommunicatorBase):
    """The chapter's methods. Buffers are (address, count, datatype)."""

    def post_send(
        self, call: str, address: int, count: int, datatype: "Datatype", dest: int, tag: int, mode: SendMode
    ) -> Operation | None:
        """Check the arguments and start a send on the device; None to MPI_PROC_NULL."""
        if count < 0 or address <= 0 or not datatype.committed:
            self.check_buffer(call, address, count, datatype)
        if not 0 <= tag <= self.tag_ub:
            self.check_tag(call, tag)
        if not 0 <= dest < self.remote_size:
            if dest == PROC_NULL:
                return None
            self.check_peer(call, "dest", dest)
        segments = datatype.segments(address, count)
        with self.lock:
            self.device.charge(CALL)
            return self.device.send(self.route[dest], tag, self.context, segments, mode)

    def post_receive(
        self, call: str, address: int, count: int, datatype: "Datatype", source: int, tag: int
    ) -> Operation | None:
        """Check the arguments and start a receive on the device; None from MPI_PROC_NULL."""
        if count < 0 or address <= 0 or not datatype.committed:
            self.check_buffer(call, address, count, datatype)
        world_source, device_tag = self.envelope(call, source, tag)
        if source == PROC_NULL:
            return None
        segments = datatype.segments(address, count)
        with self.lock:
            self.device.charge(CALL)
            return self.device.receive(world_source, device_tag, self.context, segments)

    def envelope(self, call: str, source: int, tag: int) -> tuple[int, int]:
        """Source and tag that a receive or probe names, checked and in the device's terms."""
        if tag == ANY_TAG:
            tag = dev.ANY_TAG
        elif not 0 <= tag <= self.tag_ub:
            self.check_tag(call, tag)
        if 0 <= source < self.remote_size:
            return self.route[source], tag
        self.check_source(call, source)
        return dev.ANY_SOURCE, tag

    def _send(
        self, call: str, address: int, count: int, datatype: "Datatype", dest: int, tag: int, mode: SendMode
    ) -> None:
        operation = self.post_send(call, address, count, datatype, dest, tag, mode)
        if operation is not None:
            self._finish_send(call, operation, dest)

    def _finish_send(self, call: str, operation: Operation, dest: int) -> None:
        if not operation.done:
            self.progress.wait_for(operation, SendRequest(self, call, operation, dest))
        if operation.error is not None:
            raise device_error(call, operation.error, operation.length, dest)

    def send(self, address: int, count: int, datatype: "Datatype", dest: int, tag: int) -> None:
        """MPI_Send."""
        if (
            self.quick is not None
            and 0 <= dest < self.remote_size
            and 0 <= tag <= self.tag_ub
            and count >= 0
            and address > 0
            and datatype.committed
            and datatype.dense
            and self.progress.alone()
            and self.quick.send(self.route[dest], tag, self.context, address + datatype.true_lb, datatype.size * count)
        ):
            return
        operation = self.post_send("MPI_Send", address, count, datatype, dest, tag, STANDARD)
        if operation is not None and (not operation.done or operation.error is not None):
            self._finish_send("MPI_Send", operation, dest)

    def ssend(self, address: int, count: int, datatype: "Datatype", dest: int, tag: int) -> None:
        """MPI_Ssend."""
        self._send("MPI_Ssend", address, count, datatype, dest, tag, SYNCHRONOUS)

    def rsend(self, address: int, count: int, datatype: "Datatype", dest: int, tag: int) -> None:
        """MPI_Rsend."""
        self._send("MPI_Rsend", address, count, datatype, dest, tag, READY)

    def isend(self, address: int, count: int, datatype: "Datatype", dest: int, tag: int) -> Request:
        """MPI_Isend."""
        operation = self.post_send("MPI_Isend", address, count, datatype, dest, tag, STANDARD)
        return SendRequest(self, "MPI_Isend", operation, dest)

    def issend(self, address: int, count: int, datatype: "Datatype", dest: int, tag: int) -> Request:
        """MPI_Issend."""
        operation = self.post_send("MPI_Issend", address, count, datatype, dest, tag, SYNCHRONOUS)
        return SendRequest(self, "MPI_Issend", operation, dest)

    def irsend(self, address: int, count: int, datatype: "Datatype", dest: int, tag: int) -> Request:
        """MPI_Irsend."""
        operation = self.post_send("MPI_Irsend", address, count, datatype, dest, tag, READY)
        return SendRequest(self, "MPI_Irsend", operation, dest)

    def recv(self, address: int, count: int, datatype: "Datatype", source: int, tag: int) -> Status:
        """MPI_Recv."""
        operation = (
            self._receive_quickly(address, count, datatype, source, tag)
            if self.quick is not None
            and count >= 0
            and address > 0
            and datatype.committed
            and datatype.dense
            and self.progress.alone()
            else self.post_receive("MPI_Recv", address, count, datatype, source, tag)
        )
        if operation is None:
            return Status(PROC_NULL, ANY_TAG)
        if not operation.done:
            self.progress.wait_for(operation, ReceiveRequest(self, "MPI_Recv", operation, source))
        if operation.error is not None:
            return ReceiveRequest(self, "MPI_Recv", operation, source).finish()
        return Status(self.remote_group.position(operation.source), operation.tag, operation.length)

    def _receive_quickly(
        self, address: int, count: int, datatype: "Datatype", source: int, tag: int
    ) -> Operation | None:
        """`post_receive` for MPI_Recv, where `quick` may be used."""
        assert self.quick is not None
        world_source, device_tag = self.envelope("MPI_Recv", source, tag)
        if source == PROC_NULL:
            return None

        def why() -> Wait:
            return ReceiveRequest(self, "MPI_Recv", Operation(world_source, device_tag), source).why()

        where, size = address + datatype.true_lb, datatype.size * count
        return self.quick.receive(world_source, device_tag, self.context, where, size, why)

    def irecv(self, address: int, count: int, datatype: "Datatype", source: int, tag: int) -> Request:
        """MPI_Irecv."""
        operation = self.post_receive("MPI_Irecv", address, count, datatype, source, tag)
        return ReceiveRequest(self, "MPI_Irecv", operation, source)

    def isendrecv(
        self,
        send_address: int,
        send_count: int,
        send_type: "Datatype",
        dest: int,
        send_tag: int,
        receive_address: int,
        receive_count: int,
        receive_type: "Datatype",
        source: int,
        receive_tag: int,
        call: str = "MPI_Isendrecv",
        keep: object = None,
    ) -> Request:
        """MPI_Isendrecv. The receive goes first, so that the device never has to hold the answer."""
        # Nothing may be posted if the send cannot be.
        self.check_buffer(call, send_address, send_count, send_type, "sendbuf")
        if dest != PROC_NULL:
            self.check_peer(call, "dest", dest)
        self.check_tag(call, send_tag)
        receiving = self.post_receive(call, receive_address, receive_count, receive_type, source, receive_tag)
        sending = self.post_send(call, send_address, send_count, send_type, dest, send_tag, STANDARD)
        if keep is not None:
            hold(sending, keep)
        return ExchangeRequest(ReceiveRequest(self, call, receiving, source), SendRequest(self, call, sending, dest))

    def sendrecv(
        self,
        send_address: int,
        send_count: int,
        send_type: "Datatype",
        dest: int,
        send_tag: int,
        receive_address: int,
        receive_count: int,
        receive_type: "Datatype",
        source: int,
        receive_tag: int,
    ) -> Status:
        """MPI_Sendrecv."""
        return self.isendrecv(
            send_address,
            send_count,
            send_type,
            dest,
            send_tag,
            receive_address,
            receive_count,
            receive_type,
            source,
            receive_tag,
            "MPI_Sendrecv",
        ).wait()

    def isendrecv_replace(
        self,
        address: int,
        count: int,
        datatype: "Datatype",
        dest: int,
        send_tag: int,
        source: int,
        receive_tag: int,
        call: str = "MPI_Isendrecv_replace",
    ) -> Request:
        """MPI_Isendrecv_replace. What is sent is copied first: the receive may begin to overwrite it at once."""
        self.check_buffer(call, address, count, datatype)
        copy = Scratch(count * datatype.size)
        size = gather_bytes(address, count, datatype, copy.address)
        return self.isendrecv(
            copy.address,
            size,
            self.world.byte,
            dest,
            send_tag,
            address,
            count,
            datatype,
            source,
            receive_tag,
            call,
            copy,
        )

    def sendrecv_replace(
        self, address: int, count: int, datatype: "Datatype", dest: int, send_tag: int, source: int, receive_tag: int
    ) -> Status:
        """MPI_Sendrecv_replace."""
        return self.isendrecv_replace(
            address, count, datatype, dest, send_tag, source, receive_tag, "MPI_Sendrecv_replace"
        ).wait()


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
