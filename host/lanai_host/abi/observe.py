"""Watches one rank for a trace: its MPI calls, its host work, its requests to the device.

Client, device and transport report to it through the sinks that they declare. `observed_device` tells
it of the requests that the MPI library makes of the device. It charges nothing and reads clocks only,
so the rank's time stays as it is."""

import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .. import source_lines
from ..body import NOTHING, Body
from ..config import HostCost
from ..device import Arrived, ChargeSink, Device, Envelope, Pending, RoomSink, SendMode
from ..operation import Operation, Wait
from ..simulator.client import SimulatorClient
from ..simulator.protocol import CANCELLED, NOT_SAID, OUTSIDE, Note, Notebook, Op
from .context import abi

KINDS = {cost: number for number, cost in enumerate(HostCost)}  # traces add how many kinds go before
MOST = 2**31 - 1
MOST_TEXT = 4096  # bytes of a call's place


class Observer:
    """`call` wraps what C calls for an MPI function; `enter` and `leave` do the same by hand."""

    def __init__(self, client: SimulatorClient, device: Device, book: Notebook) -> None:
        self.client = client
        self.device = device
        self.book = book
        self._frame = 0  # frames posted since the last answer
        self._told = client.clock
        self._names: dict[str, int] = {}
        self._calls = 0
        self._requests = 0
        self._pending: dict[int, Operation] = {}
        self.sending: int | None = None  # the request whose message the device is about to post
        self._stack = threading.local()
        client.sink = self
        device.report_charges(self._charged)
        device.report_room(self._room)
        if client.transport is not None:
            client.transport.wait_sink = self._collected
            client.transport.post_sink = self._left

    # MPI calls.

    def enter(
        self,
        name: str,
        peer: int = NOT_SAID,
        tag: int = NOT_SAID,
        context: int = NOT_SAID,
        size: int = -1,
        *,
        site: str = "",
    ) -> int:
        """Note that an MPI call begins, which the program makes at `site`. Return its number, for `leave`."""
        number = self._calls
        self._calls += 1
        stack = self._here()
        self._site(site, number)
        self._note(Note.BEGIN, 0, self._name(name), peer, tag, context, size, number)
        stack.append(number)
        return number

    @property
    def inside(self) -> bool:
        """Is this thread in an MPI call?"""
        return bool(self._here())

    def leave(self, number: int) -> None:
        self.look()
        stack = self._here()
        while stack and stack.pop() != number:
            pass
        self._note(Note.END, 0, 0, 0, 0, 0, 0, number)

    def call(self, name: str, prototype: list[Any], function: Callable[..., Any]) -> Callable[..., Any]:
        """Return `function` with a note of each call. A variant with large counts has the plain name. The peer, the
        tag and the size are those of the arguments with the usual names."""
        name = name.removesuffix("_c")
        places = {parameter[0]: index for index, parameter in enumerate(prototype[1]) if parameter[2] == 0}
        peer = _first(places, "dest", "source", "root", "target_rank")
        tag = _first(places, "tag", "sendtag")
        count = _first(places, "count", "sendcount", "origin_count")
        datatype = _first(places, "datatype", "sendtype", "origin_datatype")
        comm = places.get("comm")

        def entry(*arguments: Any) -> Any:
            number = self.enter(
                name,
                NOT_SAID if peer is None else arguments[peer],
                NOT_SAID if tag is None else arguments[tag],
                NOT_SAID if comm is None else _context(arguments[comm]),
                NOT_SAID if count is None or datatype is None else arguments[count] * _size(arguments[datatype]),
                site=source_lines.caller(sys._getframe()),
            )
            try:
                return function(*arguments)
            finally:
                self.leave(number)

        return entry

    # What the client reports (`RequestSink`).

    def posted(self) -> None:
        self._told = self.client.clock
        self._frame += 1

    def asks(self, op: Op) -> None:
        if op == Op.FINALIZE:
            self.look()

    def answered(self) -> None:
        self.book.begin_anew()
        self._told = self.client.clock
        self._frame = 0

    # What device and transport report.

    def _charged(self, what: HostCost, count: int, cost: int) -> None:
        if cost:
            self._note(Note.WORK, KINDS[what], 0, min(count, MOST), 0, 0, cost, 0)

    def _room(self, name: str, user: int, owner: int, change: int) -> None:
        self._note(Note.ROOM, 0, self._name(name), user, owner, 0, change, 0)

    def _collected(self, why: Wait | None, before: int) -> None:
        if spent := self.client.clock - before:
            reason = why or Wait("looking for messages")
            peer, tag, context = (NOT_SAID if n is None else n for n in (reason.peer, reason.tag, reason.context))
            self._note(Note.WAIT, 0, self._name(reason.call), peer, tag, context, spent, 0, at=before)

    def _left(self, begin: int, arrival: int) -> None:
        """A datagram leaves. The first one of a send request carries the message."""
        if self.sending is not None:
            self._note(Note.SENT, 0, 0, 0, 0, 0, arrival - begin, self.sending, at=begin)
            self.sending = None

    # Requests to the device.

    def request(self, sub: int, peer: int, tag: int, context: int, body: Body) -> int:
        """A request to the device begins; its number, for `begun`."""
        number = self._requests
        self._requests += 1
        size = body.size
        self._note(Note.REQUEST, sub, 0, peer, tag, context, size, number)
        return number

    def begun(
        self, number: int, operation: Operation, source: int | None = None, tag: int = 0, body: Body = NOTHING
    ) -> None:
        """The device has returned from it.

        A device may answer with one operation that stands for all sends that were done at once:
        what was sent says more."""
        self.sending = None
        if not operation.done:
            self._pending[number] = operation
        elif source is None:
            self._done(number, operation)
        else:
            self._note(Note.DONE, 0, 0, source, tag, 0, body.size, number)

    def look(self) -> None:
        """Note the requests that have ended since the last look."""
        if self._pending and (ended := [number for number, one in self._pending.items() if one.done]):
            for number in ended:
                self._done(number, self._pending.pop(number))

    def _done(self, number: int, operation: Operation) -> None:
        error = CANCELLED if operation.cancelled else 0
        if operation.error is not None and not error:
            error = operation.error.kind.value
        self._note(Note.DONE, error, 0, operation.source, operation.tag, 0, operation.length, number)

    # Notes.

    def _note(
        self, kind: Note, sub: int, name: int, a: int, b: int, c: int, d: int, e: int, at: int | None = None
    ) -> None:
        stack = self._here()
        offset = (self.device.now() if at is None else at) - self._told
        self.book.put((kind, sub, name, self._frame, stack[-1] if stack else OUTSIDE, offset, a, b, c, d, e))

    def _site(self, site: str, number: int) -> None:
        """Note where the program makes a call. The text is not kept, for that would take heap; the simulator finds the
        source line of an address."""
        if site:
            data = site.encode(errors="replace")[:MOST_TEXT]
            self.book.put((Note.SITE, 0, 0, self._frame, OUTSIDE, 0, 0, 0, 0, len(data), number), data)

    def _name(self, text: str) -> int:
        number = self._names.get(text)
        if number is None:
            number = len(self._names)
            data = text.encode(errors="replace")
            if self.book.put((Note.NAME, 0, number, self._frame, OUTSIDE, 0, 0, 0, 0, len(data), 0), data):
                self._names[text] = number
        return number

    def _here(self) -> list[int]:
        """The MPI calls that this thread is in."""
        stack: list[int] | None = getattr(self._stack, "calls", None)
        if stack is None:
            stack = self._stack.calls = []
        return stack


def _first(places: dict[str, int], *names: str) -> int | None:
    """The place of the first of these parameters that there is."""
    return next((places[name] for name in names if name in places), None)


def _context(handle: int) -> int:
    """The communicator's context, if the handle means one."""
    comm = abi.comms.get(handle)
    return int(getattr(comm, "context", NOT_SAID)) if comm is not None else NOT_SAID


def _size(handle: int) -> int:
    datatype = abi.types.get(handle)
    return int(datatype.size) if datatype is not None else 0


# The device of a traced rank: what the MPI library asks of it is noted.

MODES = {mode: number for number, mode in enumerate(SendMode)}
SEND, RECEIVE, RECEIVE_TAKEN = 1, 2, 3


class ObservedDevice(Device):
    """`device`, whose requests the observer notes. It has no `fast_path`, so every message is noted."""

    def __init__(self, device: Device, observer: Observer) -> None:
        self._device = device
        self._observer = observer
        self.rank, self.size, self.node, self.max_tag = device.rank, device.size, device.node, device.max_tag
        self.remote, self.writes, self.collectives = device.remote, device.writes, device.collectives
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
