"""Watches one rank for a trace: its MPI calls, its host work, its requests to the device.

Puts itself around the functions of one client and one device, so that a process that is not traced
has none of it. Charges nothing and reads clocks only: the rank's time stays as it is."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from ..body import NOTHING, Body
from ..bus.base import Wait
from ..config import HostCost
from ..device import Device, SendMode
from ..operation import Operation
from ..simulator.client import SimulatorClient
from ..simulator.notes import CANCELLED, NOT_SAID, OUTSIDE, Note, Notebook
from ..simulator.protocol import Op
from .context import abi

KINDS = {cost: number for number, cost in enumerate(HostCost)}  # traces add how many kinds go before
MODES = {mode: number for number, mode in enumerate(SendMode)}
SEND, RECEIVE, RECEIVE_TAKEN = 1, 2, 3
MOST = 2**31 - 1


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
        self._stack = threading.local()
        self._watch_client()
        self._watch_device()

    # MPI calls.

    def enter(
        self, name: str, peer: int = NOT_SAID, tag: int = NOT_SAID, context: int = NOT_SAID, size: int = -1
    ) -> int:
        """An MPI call begins; its number, for `leave`."""
        number = self._calls
        self._calls += 1
        stack = self._here()
        self._note(Note.BEGIN, 0, self._name(name), peer, tag, context, size, number)
        stack.append(number)
        return number

    @property
    def inside(self) -> bool:
        """Is this thread in an MPI call?"""
        return bool(self._here())

    def leave(self, number: int) -> None:
        self._look()
        stack = self._here()
        while stack and stack.pop() != number:
            pass
        self._note(Note.END, 0, 0, 0, 0, 0, 0, number)

    def call(self, name: str, prototype: list[Any], function: Callable[..., Any]) -> Callable[..., Any]:
        """`function`, noted each time; variants with large counts go by the plain name. The
        arguments that say whom it talks to are found by their names."""
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
            )
            try:
                return function(*arguments)
            finally:
                self.leave(number)

        return entry

    # Around client and device.

    def _watch_client(self) -> None:
        client, post, call = self.client, self.client.post, self.client.call

        def noted_post(op: Op, payload: bytes = b"") -> None:
            post(op, payload)
            self._told = client.clock
            self._frame += 1

        def noted_post_two(op: Op, first: bytes, picoseconds: int, second: bytes) -> None:
            client.post(op, first)
            client.charge(picoseconds)
            client.post(op, second)

        def noted_call(op: Op, payload: bytes = b"") -> bytes:
            if op == Op.FINALIZE:
                self._look()
            try:
                return call(op, payload)
            finally:
                self.book.begin_anew()
                self._told = client.clock
                self._frame = 0

        client.post, client.call = noted_post, noted_call  # type: ignore[method-assign]
        client.post_two = noted_post_two  # type: ignore[method-assign]  # each frame counts

    def _watch_device(self) -> None:
        device: Any = self.device
        transport = self.client.transport
        charged: Any = getattr(device, "endpoint", device)
        charge, price = charged.charge, charged.config.price if hasattr(charged, "config") else device._costs.price
        send, receive, taken, wait = device.send, device.receive, device.receive_taken, device.wait

        def noted_charge(what: HostCost, count: int = 1) -> None:
            if cost := price(what, count):
                self._note(Note.WORK, KINDS[what], 0, min(count, MOST), 0, 0, cost, 0)
            charge(what, count)

        def noted_send(dest: int, tag: int, context: int, body: Body, mode: SendMode) -> Operation:
            number = self._request(SEND | MODES[mode] << 4, dest, tag, context, body)
            operation: Operation = send(dest, tag, context, body, mode)
            self._begun(number, operation, device.rank, tag, body)
            return operation

        def noted_receive(source: int, tag: int, context: int, body: Body) -> Operation:
            number = self._request(RECEIVE, source, tag, context, body)
            operation: Operation = receive(source, tag, context, body)
            self._begun(number, operation)
            return operation

        def noted_taken(arrived: Any, body: Body) -> Operation:
            number = self._request(RECEIVE_TAKEN, arrived.source, arrived.tag, arrived.context, body)
            operation: Operation = taken(arrived, body)
            self._begun(number, operation)
            return operation

        def noted_wait(operations: Sequence[Operation] | None, why: Wait) -> None:
            wait(operations, why)
            self._look()

        charged.charge = noted_charge
        device.send, device.receive, device.receive_taken = noted_send, noted_receive, noted_taken
        device.wait = noted_wait
        device.fast_path = None  # every message goes the way that is watched
        if transport is not None:
            self._watch_transport(transport)

    def _watch_transport(self, transport: Any) -> None:
        collect = transport.collect

        def noted_collect(why: Wait | None) -> Any:
            before = self.client.clock
            datagrams = collect(why)
            spent = self.client.clock - before
            if spent:
                reason = why or Wait("looking for messages")
                peer, tag, context = (NOT_SAID if n is None else n for n in (reason.peer, reason.tag, reason.context))
                self._note(Note.WAIT, 0, self._name(reason.call), peer, tag, context, spent, 0, at=before)
            return datagrams

        transport.collect = noted_collect

    # Requests to the device.

    def _request(self, sub: int, peer: int, tag: int, context: int, body: Body) -> int:
        number = self._requests
        self._requests += 1
        size = body.size
        self._note(Note.REQUEST, sub, 0, peer, tag, context, size, number)
        return number

    def _begun(
        self, number: int, operation: Operation, source: int | None = None, tag: int = 0, body: Body = NOTHING
    ) -> None:
        """A device may answer with one operation that stands for all sends that were done at once:
        what was sent says more."""
        if not operation.done:
            self._pending[number] = operation
        elif source is None:
            self._done(number, operation)
        else:
            self._note(Note.DONE, 0, 0, source, tag, 0, body.size, number)

    def _look(self) -> None:
        """Which requests have ended?"""
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

    def _name(self, text: str) -> int:
        number = self._names.get(text)
        if number is None:
            number = len(self._names)
            data = text.encode()
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
