"""Persistent and partitioned point-to-point requests."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ..device import SendMode
from .buffered import Buffered, BufferedRequest
from .constants import ANY_SOURCE, PROC_NULL
from .errors import ErrorClass, MpiError
from .request import PersistentRequest, ReceiveRequest, Request, SendRequest

if TYPE_CHECKING:
    from .datatypes import Datatype


class PartitionedRequest(PersistentRequest):
    """A message that the sender fills in parts. It leaves as one when the last part is ready, so that parts arrive
    together; sender and receiver may cut it differently. `begin(request)` starts the receive, or the send when filled."""

    def __init__(
        self, communicator: "Persistent", call: str, partitions: int, sending: bool, begin: Callable[[], Request]
    ) -> None:
        super().__init__(communicator.progress, call, begin)
        self.partitions = partitions
        self._sending = sending
        self._ready: set[int] = set()

    def start(self) -> None:
        if not self._sending:
            super().start()
            return
        if self.inner is not None:
            raise MpiError(ErrorClass.REQUEST, f"MPI_Start: the request of {self.call} is already active")
        self._ready.clear()
        self.inner = _Filling(self.progress)

    def ready(self, partitions: Iterable[int], call: str = "MPI_Pready") -> None:
        """MPI_Pready, MPI_Pready_range, MPI_Pready_list."""
        for partition in partitions:
            self._check(call, partition)
            if not self._sending or not isinstance(self.inner, _Filling):
                raise MpiError(ErrorClass.REQUEST, f"{call}: the request of {self.call} is not a send being filled")
            if partition in self._ready:
                raise MpiError(ErrorClass.ARG, f"{call}: partition {partition} is ready already")
            self._ready.add(partition)
            if len(self._ready) == self.partitions:
                self.inner = self._begin()

    def arrived(self, partition: int) -> bool:
        """MPI_Parrived."""
        self._check("MPI_Parrived", partition)
        if self._sending:
            raise MpiError(ErrorClass.REQUEST, "MPI_Parrived: the request is of a send")
        if not self.done:
            self.progress.poll()
        return self.done

    def _check(self, call: str, partition: int) -> None:
        if not 0 <= partition < self.partitions:
            raise MpiError(
                ErrorClass.ARG, f"{call}: partition is {partition}; it must be from 0 to {self.partitions - 1}"
            )

    def cancel(self) -> None:
        raise MpiError(ErrorClass.REQUEST, f"MPI_Cancel: a request of {self.call} cannot be cancelled")


class _Filling(Request):
    """Stands for the send until all parts are ready."""

    call = "MPI_Psend_init"

    @property
    def done(self) -> bool:
        return False


class Persistent(Buffered):
    """The chapter's methods."""

    def _persistent(
        self, call: str, address: int, count: int, datatype: "Datatype", dest: int, tag: int, mode: SendMode
    ) -> PersistentRequest:
        self.check_buffer(call, count, datatype)
        self.check_tag(call, tag)
        if dest != PROC_NULL:
            self.check_peer(call, "dest", dest)

        def begin() -> Request:
            operation = self.post_send(call, address, count, datatype, dest, tag, mode)
            return SendRequest(self, call, operation, dest)

        return PersistentRequest(self.progress, call, begin)

    def send_init(self, address: int, count: int, datatype: "Datatype", dest: int, tag: int) -> PersistentRequest:
        """MPI_Send_init."""
        return self._persistent("MPI_Send_init", address, count, datatype, dest, tag, SendMode.STANDARD)

    def ssend_init(self, address: int, count: int, datatype: "Datatype", dest: int, tag: int) -> PersistentRequest:
        """MPI_Ssend_init."""
        return self._persistent("MPI_Ssend_init", address, count, datatype, dest, tag, SendMode.SYNCHRONOUS)

    def rsend_init(self, address: int, count: int, datatype: "Datatype", dest: int, tag: int) -> PersistentRequest:
        """MPI_Rsend_init."""
        return self._persistent("MPI_Rsend_init", address, count, datatype, dest, tag, SendMode.READY)

    def bsend_init(self, address: int, count: int, datatype: "Datatype", dest: int, tag: int) -> PersistentRequest:
        """MPI_Bsend_init."""
        call = "MPI_Bsend_init"
        self.check_buffer(call, count, datatype)
        self.check_tag(call, tag)
        if dest != PROC_NULL:
            self.check_peer(call, "dest", dest)

        def begin() -> Request:
            return BufferedRequest(self, call, self.start_buffered(call, address, count, datatype, dest, tag), dest)

        return PersistentRequest(self.progress, call, begin)

    def recv_init(self, address: int, count: int, datatype: "Datatype", source: int, tag: int) -> PersistentRequest:
        """MPI_Recv_init."""
        self.check_buffer("MPI_Recv_init", count, datatype)
        self.envelope("MPI_Recv_init", source, tag)
        return PersistentRequest(
            self.progress, "MPI_Recv_init", lambda: self.irecv(address, count, datatype, source, tag)
        )

    # Partitioned

    def psend_init(
        self, address: int, partitions: int, count: int, datatype: "Datatype", dest: int, tag: int
    ) -> PartitionedRequest:
        """MPI_Psend_init. `count` is of one partition."""
        call = "MPI_Psend_init"
        self._check_partitions(call, partitions, count, datatype, tag)
        if dest != PROC_NULL:
            self.check_peer(call, "dest", dest)
        segments = datatype.segments(address, count * partitions)

        def begin() -> Request:
            if dest == PROC_NULL:
                return SendRequest(self, call, None, dest)
            with self.progress.lock:
                self.charge_call()
                operation = self.device.send(
                    self.route[dest], tag, self.partitioned_context, segments, SendMode.STANDARD
                )
            return SendRequest(self, call, operation, dest)

        return PartitionedRequest(self, call, partitions, True, begin)

    def precv_init(
        self, address: int, partitions: int, count: int, datatype: "Datatype", source: int, tag: int
    ) -> PartitionedRequest:
        """MPI_Precv_init. `count` is of one partition; wildcards are not allowed."""
        call = "MPI_Precv_init"
        self._check_partitions(call, partitions, count, datatype, tag)
        if source == ANY_SOURCE:
            raise MpiError(ErrorClass.RANK, f"{call}: source is MPI_ANY_SOURCE, which is not allowed here")
        self.check_source(call, source)
        segments = datatype.segments(address, count * partitions)

        def begin() -> Request:
            if source == PROC_NULL:
                return ReceiveRequest(self, call, None, source)
            with self.progress.lock:
                self.charge_call()
                operation = self.device.receive(self.route[source], tag, self.partitioned_context, segments)
            return ReceiveRequest(self, call, operation, source)

        return PartitionedRequest(self, call, partitions, False, begin)

    def _check_partitions(self, call: str, partitions: int, count: int, datatype: "Datatype", tag: int) -> None:
        if partitions < 1:
            raise MpiError(ErrorClass.ARG, f"{call}: partitions is {partitions}; it must be at least 1")
        self.check_buffer(call, count, datatype)
        self.check_tag(call, tag)
