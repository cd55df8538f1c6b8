"""Probe, matched probe, and the messages that a matched probe takes out of the queues."""

from ..device import Arrived
from ..errors import DeviceEnded, DeviceLost, PeerLost
from ..operation import DeviceError, ErrorKind, Operation, Wait
from .arguments import check_buffer
from .communicator import CALL, Communicator
from .constants import ANY_TAG, PROC_NULL, Status
from .datatypes import Datatype
from .errors import ErrorClass, MpiError
from .point_to_point import envelope
from .request import ReceiveRequest, device_error


class Message:
    """MPI_Message: taken by a matched probe, to be received once."""

    def __init__(self, communicator: Communicator, arrived: Arrived | None) -> None:
        self.communicator = communicator
        self.arrived = arrived

    def irecv(self, address: int, count: int, datatype: Datatype, call: str = "MPI_Imrecv") -> ReceiveRequest:
        """MPI_Imrecv. A message of this process itself is there at once, for no other process is
        needed: programs may count on it, and drop the buffer after one MPI_Test, for with MPICH it
        is a copy in memory."""
        communicator, arrived = self.communicator, self.arrived
        if arrived is None:
            raise MpiError(ErrorClass.REQUEST, f"{call}: the message was received before")
        check_buffer(call, address, count, datatype)
        body = datatype.body(address, count)
        with communicator.progress.lock:
            communicator.device.charge(CALL)
            operation = communicator.device.receive_taken(arrived, body)
        self.arrived = None
        source = communicator.remote_group.position(arrived.source)
        request = ReceiveRequest(communicator, call, operation, source, datatype)
        if arrived.source == communicator.device.rank and not request.done:
            communicator.progress.wait(request)
        return request

    def recv(self, address: int, count: int, datatype: Datatype) -> Status:
        """MPI_Mrecv."""
        return self.irecv(address, count, datatype, "MPI_Mrecv").wait()


class NoProcMessage(Message):
    """MPI_MESSAGE_NO_PROC, what a matched probe of MPI_PROC_NULL takes. Receiving it is done at
    once, any number of times, with the status of MPI_PROC_NULL."""

    def __init__(self, communicator: Communicator) -> None:
        super().__init__(communicator, None)

    def irecv(self, address: int, count: int, datatype: Datatype, call: str = "MPI_Imrecv") -> ReceiveRequest:
        return ReceiveRequest(self.communicator, call, None, PROC_NULL, datatype)


class _Arrival:
    """A `Waitable` that is done when a message that matches has arrived."""

    def __init__(self, communicator: Communicator, call: str, source: int, tag: int, take: bool) -> None:
        self._communicator, self._call, self._take = communicator, call, take
        self._source, self._tag = envelope(communicator, call, source, tag)
        self._asked = (source, tag)
        self.found: Arrived | None = None

    def __eq__(self, other: object) -> bool:
        """Do both ask for the same message?"""
        return isinstance(other, _Arrival) and self._key() == other._key()

    def _key(self) -> tuple[object, ...]:
        return id(self._communicator), self._call, self._asked

    __hash__ = None  # type: ignore[assignment]

    @property
    def done(self) -> bool:
        if self.found is None:
            communicator = self._communicator
            with communicator.progress.lock:
                try:
                    self.found = communicator.device.probe(self._source, self._tag, communicator.context, self._take)
                except PeerLost as lost:
                    ended = isinstance(lost, DeviceEnded)
                    error = DeviceError(ErrorKind.RANK_LOST if ended else ErrorKind.PEER_FAILED, str(lost))
                    raise device_error(self._call, error, 0, self._asked[0]) from lost
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


def _status(comm: Communicator, arrived: Arrived) -> Status:
    return Status(comm.remote_group.position(arrived.source), arrived.tag, arrived.length)


def _seek(comm: Communicator, call: str, source: int, tag: int, take: bool, block: bool) -> Arrived | None:
    arrival = _Arrival(comm, call, source, tag, take)
    with comm.progress.lock:
        comm.device.charge(CALL)
    if block:
        comm.progress.wait(arrival)
    elif not arrival.done:
        comm.progress.poll()
        if not arrival.done:
            comm.progress.missed(arrival)
            return None
    orders = comm.device.orders
    if not block and not take and orders is not None and orders.not_yet(call):
        return None
    comm.progress.polls.found()
    return arrival.found


def probe(comm: Communicator, source: int, tag: int) -> Status:
    """MPI_Probe."""
    if source == PROC_NULL:
        envelope(comm, "MPI_Probe", source, tag)
        return Status(PROC_NULL, ANY_TAG)
    arrived = _seek(comm, "MPI_Probe", source, tag, take=False, block=True)
    assert arrived is not None
    return _status(comm, arrived)


def iprobe(comm: Communicator, source: int, tag: int) -> Status | None:
    """MPI_Iprobe: None if no such message is there."""
    if source == PROC_NULL:
        envelope(comm, "MPI_Iprobe", source, tag)
        return Status(PROC_NULL, ANY_TAG)
    arrived = _seek(comm, "MPI_Iprobe", source, tag, take=False, block=False)
    return None if arrived is None else _status(comm, arrived)


def mprobe(comm: Communicator, source: int, tag: int) -> tuple[Message, Status]:
    """MPI_Mprobe."""
    if source == PROC_NULL:
        envelope(comm, "MPI_Mprobe", source, tag)
        return NoProcMessage(comm), Status(PROC_NULL, ANY_TAG)
    arrived = _seek(comm, "MPI_Mprobe", source, tag, take=True, block=True)
    assert arrived is not None
    return Message(comm, arrived), _status(comm, arrived)


def improbe(comm: Communicator, source: int, tag: int) -> tuple[Message, Status] | None:
    """MPI_Improbe: None if no such message is there."""
    if source == PROC_NULL:
        envelope(comm, "MPI_Improbe", source, tag)
        return NoProcMessage(comm), Status(PROC_NULL, ANY_TAG)
    arrived = _seek(comm, "MPI_Improbe", source, tag, take=True, block=False)
    return None if arrived is None else (Message(comm, arrived), _status(comm, arrived))
