"""The device of a traced rank: what the MPI library asks of it is noted."""

from collections.abc import Iterable, Mapping, Sequence

from ..body import Body
from ..config import HostCost
from ..device import Arrived, ChargeSink, Device, Envelope, Pending, RoomSink, SendMode
from ..operation import Operation
from ..wait import Wait
from .observe import Observer

MODES = {mode: number for number, mode in enumerate(SendMode)}
SEND, RECEIVE, RECEIVE_TAKEN = 1, 2, 3


class ObservedDevice(Device):
    """`device`, whose requests the observer notes. It has no `fast_path`, so every message is noted."""

    def __init__(self, device: Device, observer: Observer) -> None:
        self._device = device
        self._observer = observer
        self.rank, self.size, self.node, self.max_tag = device.rank, device.size, device.node, device.max_tag
        self.remote, self.writes = device.remote, device.writes
        self.choices, self.copies, self.work = device.choices, device.copies, device.work
        self.orders = device.orders

    def send(self, dest: int, tag: int, context: int, body: Body, mode: SendMode) -> Operation:
        number = self._observer.request(SEND | MODES[mode] << 4, dest, tag, context, body)
        self._observer.sending = number
        operation = self._device.send(dest, tag, context, body, mode)
        self._observer.begun(number, operation, self.rank, tag, body)
        return operation

    def receive(self, source: int, tag: int, context: int, body: Body) -> Operation:
        number = self._observer.request(RECEIVE, source, tag, context, body)
        operation = self._device.receive(source, tag, context, body)
        self._observer.begun(number, operation)
        return operation

    def receive_taken(self, arrived: Arrived, body: Body) -> Operation:
        number = self._observer.request(RECEIVE_TAKEN, arrived.source, arrived.tag, arrived.context, body)
        operation = self._device.receive_taken(arrived, body)
        self._observer.begun(number, operation)
        return operation

    def wait(self, operations: Sequence[Operation] | None, why: Wait) -> None:
        self._device.wait(operations, why)
        self._observer.look()

    # The rest is the device's.

    @property
    def placement(self) -> int:  # type: ignore[override]  # changes with the device's
        return self._device.placement

    @property
    def handover(self) -> bytes:  # type: ignore[override]  # changes with the device's
        return self._device.handover

    @property
    def impaired(self) -> bool:  # type: ignore[override]  # changes with the device's
        return self._device.impaired

    def interrupt_for(self, contexts: Iterable[int]) -> None:
        self._device.interrupt_for(contexts)

    def probe(self, source: int, tag: int, context: int, take: bool) -> Arrived | None:
        return self._device.probe(source, tag, context, take)

    def cancel(self, operation: Operation) -> bool:
        return self._device.cancel(operation)

    def progress(self) -> None:
        self._device.progress()

    def now(self) -> int:
        return self._device.now()

    def price(self, what: HostCost) -> int:
        return self._device.price(what)

    def charge(self, what: HostCost, count: int = 1) -> None:
        self._device.charge(what, count)

    def report_charges(self, sink: ChargeSink) -> None:
        self._device.report_charges(sink)

    def report_room(self, sink: RoomSink) -> None:
        self._device.report_room(sink)

    def multicast(self, dests: Sequence[int], tag: int, context: int, body: Body) -> Operation | None:
        return self._device.multicast(dests, tag, context, body)

    def barrier(self, members: Sequence[int], number: int) -> Operation | None:
        return self._device.barrier(members, number)

    def counters(self) -> Mapping[str, str]:
        return self._device.counters()

    def read_counter(self, name: str) -> int:
        return self._device.read_counter(name)

    def unexpected(self) -> list[Envelope]:
        return self._device.unexpected()

    def unmatched(self, context: int) -> int:
        return self._device.unmatched(context)

    def pending(self) -> list[Pending]:
        return self._device.pending()

    def close(self) -> None:
        self._device.close()
