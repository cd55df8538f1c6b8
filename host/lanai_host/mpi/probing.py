"""Probe, matched probe, and the messages that a matched probe takes out of the queues."""

from typing import TYPE_CHECKING

from ..bus.base import Wait
from ..device import Arrived, Operation
from ..errors import DeviceLost
from .constants import ANY_TAG, PROC_NULL
from .errors import ErrorClass, MpiError
from .point_to_point import PointToPoint
from .request import ReceiveRequest
from .status import Status

if TYPE_CHECKING:
    from .datatypes import Datatype


class Message:
    """MPI_Message: taken by a matched probe, to be received once. Without a communicator: MPI_MESSAGE_NO_PROC."""

    def __init__(self, communicator: PointToPoint | None = None, arrived: Arrived | None = None) -> None:
        self.communicator = communicator
        self.arrived = arrived

    def irecv(self, address: int, count: int, datatype: "Datatype", call: str = "MPI_Imrecv") -> ReceiveRequest:
        """MPI_Imrecv. Receiving MESSAGE_NO_PROC is done at once, with the status of MPI_PROC_NULL."""
        communicator, arrived = self.communicator, self.arrived
        if communicator is None or arrived is None:
            raise MpiError(ErrorClass.REQUEST, f"{call}: the message was received before")
        communicator.check_buffer(call, address, count, datatype)
        segments = datatype.segments(address, count)
        with communicator.progress.lock:
            communicator.charge_call()
            operation = communicator.device.receive_taken(arrived, segments)
        self.arrived = None
        return ReceiveRequest(communicator, call, operation, communicator.remote_group.position(arrived.source))

    def recv(self, address: int, count: int, datatype: "Datatype") -> Status:
        """MPI_Mrecv."""
        return self.irecv(address, count, datatype, "MPI_Mrecv").wait()


class NoProcMessage(Message):
    """MPI_MESSAGE_NO_PROC, what a matched probe of MPI_PROC_NULL takes."""

    def irecv(self, address: int, count: int, datatype: "Datatype", call: str = "MPI_Imrecv") -> ReceiveRequest:
        if self.communicator is None:
            raise MpiError(ErrorClass.REQUEST, f"{call}: MPI_MESSAGE_NO_PROC before MPI_Init")
        return ReceiveRequest(self.communicator, call, None, PROC_NULL)


class _Arrival:
    """A `Waitable` that is done when a message that matches has arrived."""

    def __init__(self, communicator: PointToPoint, call: str, source: int, tag: int, take: bool) -> None:
        self._communicator, self._call, self._take = communicator, call, take
        self._source, self._tag = communicator.envelope(call, source, tag)
        self._asked = (source, tag)
        self.found: Arrived | None = None

    @property
    def done(self) -> bool:
        if self.found is None:
            communicator = self._communicator
            with communicator.progress.lock:
                try:
                    self.found = communicator.device.probe(self._source, self._tag, communicator.context, self._take)
                except DeviceLost as lost:
                    raise MpiError(ErrorClass.OTHER, f"{self._call}: {lost}") from lost
        return self.found is not None

    def operations(self) -> list[Operation]:
        return []

    def why(self) -> Wait:
        source, tag = self._asked
        comm = self._communicator
        peer = None if source < 0 else source
        awaits = comm.others() if peer is None else (comm.route[peer],)
        note = f"probe on {comm.label}"
        return Wait(self._call, peer, None if tag < 0 else tag, comm.context, note, awaits, every=peer is not None)


class Probing(PointToPoint):
    """The chapter's methods."""

    def _status(self, arrived: Arrived) -> Status:
        return Status(self.remote_group.position(arrived.source), arrived.tag, arrived.length)

    def _seek(self, call: str, source: int, tag: int, take: bool, block: bool) -> Arrived | None:
        arrival = _Arrival(self, call, source, tag, take)
        with self.progress.lock:
            self.charge_call()
        if block:
            self.progress.wait(arrival)
        elif not arrival.done:
            self.progress.poll()
            if not arrival.done:
                return None
        return arrival.found

    def probe(self, source: int, tag: int) -> Status:
        """MPI_Probe."""
        if source == PROC_NULL:
            self.envelope("MPI_Probe", source, tag)
            return Status(PROC_NULL, ANY_TAG)
        arrived = self._seek("MPI_Probe", source, tag, take=False, block=True)
        assert arrived is not None
        return self._status(arrived)

    def iprobe(self, source: int, tag: int) -> Status | None:
        """MPI_Iprobe: None if no such message is there."""
        if source == PROC_NULL:
            self.envelope("MPI_Iprobe", source, tag)
            return Status(PROC_NULL, ANY_TAG)
        arrived = self._seek("MPI_Iprobe", source, tag, take=False, block=False)
        return None if arrived is None else self._status(arrived)

    def mprobe(self, source: int, tag: int) -> tuple[Message, Status]:
        """MPI_Mprobe."""
        if source == PROC_NULL:
            self.envelope("MPI_Mprobe", source, tag)
            return self.world.message_no_proc, Status(PROC_NULL, ANY_TAG)
        arrived = self._seek("MPI_Mprobe", source, tag, take=True, block=True)
        assert arrived is not None
        return Message(self, arrived), self._status(arrived)

    def improbe(self, source: int, tag: int) -> tuple[Message, Status] | None:
        """MPI_Improbe: None if no such message is there."""
        if source == PROC_NULL:
            self.envelope("MPI_Improbe", source, tag)
            return self.world.message_no_proc, Status(PROC_NULL, ANY_TAG)
        arrived = self._seek("MPI_Improbe", source, tag, take=True, block=False)
        return None if arrived is None else (Message(self, arrived), self._status(arrived))
