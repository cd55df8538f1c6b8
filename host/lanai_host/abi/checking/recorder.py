"""Watches the MPI calls of one rank for `lanai check`: what each records, and what is wrong with its
buffers."""

import re
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from ...mpi.errors import ErrorClass, MpiError, ThreadLevelError
from ...mpi.windows import Window
from ..context import abi
from ..leaks import Left
from .call import Buffer, Call, Flight, Identities, Regions, overlaps_itself, shared
from .journal import Journal
from .requests import Made, Requests
from .touches import Touch, Touches, place, python_call
from .variables import compare, compare_blocks

After = Callable[[int], None]  # what to do once the call has returned this code
Handler = Callable[["Recorder", Call], After | None]  # what to do before it
_COMPLETES = ("MPI_Wait", "MPI_Test", "MPI_Request_free", "MPI_Request_get_status", "MPI_Cancel")
_MAKES_WINDOWS = ("MPI_Win_create", "MPI_Win_allocate", "MPI_Win_create_dynamic")
_STORE = re.compile(r"(?P<call>MPI_\w+) at (?P<line>\S+) of rank (?P<rank>\d+) and a store of .* race for (?P<what>.*)")
_LEAVE_ALONE = "leave the buffer alone until the operation is complete"


class Recorder:
    """`call` wraps what C calls for an MPI function."""

    def __init__(
        self,
        directory: str,
        rank: int,
        handlers: Mapping[str, Handler],
        window_made: Callable[["Recorder", Call, Window], None],
    ) -> None:
        self._handlers = handlers
        self._window_made = window_made
        self.journal = Journal(directory, rank)
        self.names = Identities()
        self.flight = Flight()
        self.requests = Requests()
        self.touches = Touches()
        self.messages: dict[int, int] = {}  # by handle: the call that took the message
        self.windows: dict[str, tuple[int, int]] = {}
        self.windows_made: dict[str, tuple[str, str]] = {}  # the calls that made them, and their places
        self.started: list[Made] = []
        self._coming: list[int] = []  # handles of communicators on which the ranks have not agreed yet
        self._calls = self._operations = 0
        self._inside = threading.local()
        self._threads: set[int] = set()
        self._told: set[tuple[str, ...]] = set()
        if self.touches.seen:
            self.journal.put("touches", 0)

    # Calls

    def call(self, name: str, prototype: list[Any], function: Callable[..., Any]) -> Callable[..., Any]:
        """Return `function`, recorded each time it is called."""
        name = name.removesuffix("_c")
        names = [parameter[0] for parameter in prototype[1]]
        handler = self._handlers.get(name)
        completes = name.startswith(_COMPLETES)
        communicators = [p[0] for p in prototype[1] if p[1] == "MPI_Comm" and p[2] == 1 and p[0] != "comm"]
        if handler is None and not completes and not communicators and name != "MPI_Finalize":
            return function
        idle = "idup" in name

        def entry(*arguments: Any) -> Any:
            if getattr(self._inside, "call", None) is not None:
                return function(*arguments)
            call = self._begin(name, names, arguments)
            self._inside.call = call
            try:
                after = self._handled(handler, call)
                code = function(*call.arguments)
                self._returned(call, after, code, communicators, idle)
                return code
            finally:
                self._inside.call = None

        return entry

    def _begin(self, name: str, names: list[str], arguments: Sequence[Any]) -> Call:
        self._calls += 1
        self._threads.add(threading.get_ident())
        if len(self._threads) > 1 and self.flight.watching:
            self.flight.watching = False
            self.flight.pending.clear()
            self.journal.put("threads", self._calls)
        call = Call(self._calls, name, place(), names, list(arguments))
        self.note("call", call, c=name, s=call.place, py=python_call() or None)
        for touch in self.touches.take():
            self._touched(call, touch)
        self._look(call)
        return call

    def _handled(self, handler: Handler | None, call: Call) -> After | None:
        if handler is None:
            return None
        try:
            return handler(self, call)
        except Exception:  # the arguments are wrong, which the library will say
            return None

    def _returned(self, call: Call, after: After | None, code: int, communicators: list[str], idle: bool) -> None:
        if after is not None:
            after(code)
        if not code:
            self._coming += [call.raw(argument)[0] for argument in communicators]
            if not idle:
                self._name_communicators()
            if call.name.startswith(_MAKES_WINDOWS):
                self._window_made(self, call, abi.wins[call.raw("win")[0]])
        for made, fields in self.requests.matches():
            self.journal.put("match", call.number, id=made.id, **fields)
        if self._coming:
            self._name_communicators()
        for made in self.requests.ended():
            self._done(call, made)
        self.flight.settle()
        if self.touches.seen:
            self.touches.watch([*self.windows.values(), *self.flight.regions()])
        self.note("end", call)

    def _name_communicators(self) -> None:
        """Name those that can be used, in the order in which the program made them."""
        left = []
        for handle in self._coming:
            comm = abi.comms.get(handle)
            if comm is not None and comm.origin:
                self.names.of(comm)
            elif comm is not None:
                left.append(handle)
        self._coming = left

    def _done(self, call: Call, made: Made) -> None:
        handle = made.handle
        self.flight.end(lambda keys: handle in keys)
        self.journal.put("done", call.number, id=made.id, freed=call.name == "MPI_Request_free" or None)

    # What handlers ask for

    def note(self, kind: str, call: Call, **fields: Any) -> None:
        self.journal.put(kind, call.number, **fields)

    def operation(self, kind: str, call: Call, fields: dict[str, Any], **more: Any) -> int:
        """A send or a receive begins; its number."""
        self._operations += 1
        self.note(kind, call, id=self._operations, **fields, **more)
        return self._operations

    def use(
        self,
        call: Call,
        buffers: Sequence[Buffer],
        *,
        pending: bool = False,
        keys: Sequence[Hashable] = (),
        watch: bool = True,
        made: str = "",
    ) -> None:
        """The call uses these buffers; `pending`: also after it has returned, until an operation with one
        of `keys` ends."""
        self._aliased(call, buffers)
        compare(call, buffers, self._tell)
        compare_blocks(call, buffers, self.touches.block_of, self._tell)
        for buffer in buffers:
            for other in self.flight.conflicts(buffer):
                self._conflict(call, buffer, other)
            for name, region in self.windows.items():
                if not keys and shared(buffer.regions, (region,)) is not None:
                    regions = [(begin - region[0], end - region[0]) for begin, end in buffer.regions]
                    self.note("use", call, win=name, at=regions, writes=buffer.writes, pending=pending or None)
        if pending and keys:
            self.flight.begin(buffers, call.name, call.place, call.number, keys, watch)

    def made(
        self,
        call: Call,
        records: list[tuple[str, dict[str, Any]]],
        buffers: list[Buffer],
        *,
        started: bool = True,
        extra: Hashable = None,
    ) -> After:
        """The call makes a request, which has begun these records' operations if it is `started`."""
        number = 0
        for kind, fields in records if started else ():
            number = self.operation(kind, call, fields)
        if not records and started:
            self._operations += 1
            number = self._operations
            self.note("begins", call, id=number)
        pointer = call.raw("request")

        def after(code: int) -> None:
            if code:
                return
            handle = pointer[0]
            request = abi.requests.get(handle)
            if request is None:
                return
            one = Made(handle, request, call.name, call.place, records, buffers)
            one.id = number
            self.requests.add(one)
            if extra is not None:
                for pending in self.flight.pending:
                    if pending.number == call.number:
                        pending.keys |= {handle}
            if started:
                self.requests.start(one, call.number)
                watch = not self.in_window(buffers)
                self.flight.begin(buffers, call.name, call.place, call.number, [handle], watch)

        return after

    def starting(self, call: Call, made: Made) -> None:
        """A persistent request is about to be started."""
        for kind, fields in made.records:
            made.id = self.operation(kind, call, fields, s=made.place)
        watch = not self.in_window(made.buffers)
        self.flight.begin(made.buffers, made.call, made.place, call.number, [made.handle], watch)
        self.started.append(made)

    def in_window(self, buffers: Sequence[Buffer]) -> bool:
        """Return if other ranks may change some of these bytes."""
        regions = tuple(self.windows.values())
        return any(shared(buffer.regions, regions) is not None for buffer in buffers)

    # What the rank finds by itself

    def _aliased(self, call: Call, buffers: Sequence[Buffer]) -> None:
        for index, one in enumerate(buffers):
            if one.writes and overlaps_itself(one.regions):
                text = f"{call.name} stores some bytes of {one.name} twice: its elements overlap"
                self._tell(
                    "buffer-overlap", [call.name], [call.place], text, "let no two received elements share bytes"
                )
            for other in buffers[index + 1 :]:
                if (one.writes or other.writes) and shared(one.regions, other.regions) is not None:
                    text = f"{one.name} and {other.name} of {call.name} overlap"
                    hint = "pass two buffers that share no byte, or MPI_IN_PLACE where the call allows it"
                    self._tell("buffer-aliasing", [call.name], [call.place], text, hint)

    def _conflict(self, call: Call, buffer: Buffer, other: Any) -> None:
        does = "stores into" if buffer.writes else "reads"
        owner = "receives into" if other.buffer.writes else "sends from"
        text = f"{call.name} {does} memory that {other.call} still {owner}"
        hint = "complete the first operation before its buffer is used again"
        self._tell("buffer-in-use", [other.call, call.name], [other.place, call.place], text, hint)

    def _touched(self, call: Call, touch: Touch) -> None:
        """The program's own code has used memory that is watched."""
        region = ((touch.begin, touch.end),)
        for name, (begin, end) in self.windows.items():
            if not touch.frees and shared(region, ((begin, end),)) is not None:
                at = [(touch.begin - begin, touch.end - begin)]
                self.note("touch", call, win=name, at=at, writes=touch.writes, s=touch.place)
        if touch.frees:
            self._freed(touch, region)
            return
        for one in self.flight.conflicts(Buffer(region, touch.writes)):
            one.watched = False
            kind = "buffer-modified" if touch.writes else "buffer-read"
            does = "stores into" if touch.writes else "reads"
            text = f"the program {does} {one.buffer.name} before {one.call} is complete"
            name = "a store" if touch.writes else "a load"
            self._tell(kind, [one.call, name], [one.place, touch.place], text, _LEAVE_ALONE)

    def _freed(self, touch: Touch, region: Regions) -> None:
        """The program has given memory back that MPI still uses."""
        for one in self.flight.conflicts(Buffer(region, True)):
            one.watched = False
            text = f"the program frees {one.buffer.name} before {one.call} is complete"
            self._tell("buffer-freed", [one.call, "free"], [one.place, touch.place], text, _LEAVE_ALONE)
        for name, memory in self.windows.items():
            if shared(region, (memory,)) is not None:
                call, place = self.windows_made[name]
                text = "the program frees the memory of a window before MPI_Win_free"
                self._tell("buffer-freed", [call, "free"], [place, touch.place], text, "free the window first")

    def _look(self, call: Call) -> None:
        """Find what the program has stored into buffers in flight."""
        for one in self.flight.changed():
            if one.buffer.writes:
                text = f"the program stored into {one.buffer.name} while {one.call} could still receive into it"
            else:
                text = f"the program changed {one.buffer.name} before {one.call} was complete"
            lines = [one.place, call.place]
            self._tell("buffer-modified", [one.call, call.name], lines, text, _LEAVE_ALONE, before=True)

    def _tell(self, kind: str, calls: list[str], lines: list[str], text: str, hint: str, before: bool = False) -> None:
        if (kind, *lines) not in self._told:
            self._told.add((kind, *lines))
            self.journal.put(
                "found", self._calls, **{"class": kind}, calls=calls, lines=lines, text=text, hint=hint,
                before=before or None,
            )  # fmt: skip

    # Errors and the end

    def error(self, error: MpiError, fatal: bool) -> None:
        """A call is about to return an error, or to end the program by it."""
        inside = getattr(self._inside, "call", None)
        where = place() if inside is None else inside.place
        name, _, _ = error.text.partition(":")
        kind = ErrorClass(error.error_class).name if error.error_class in tuple(ErrorClass) else "OTHER"
        if isinstance(error, ThreadLevelError):
            kind = "THREAD_LEVEL"
        self.journal.put("error", self._calls, c=name, s=where, **{"class": kind}, text=error.text, fatal=fatal)

    def leaves(self, text: str) -> None:
        """The program ends by an exception of Python's."""
        self.journal.put("leaves", self._calls, text=text)

    def race(self, text: str) -> None:
        """The library itself has seen a race with a store of the target's program, by comparing its memory."""
        found = _STORE.search(text)
        if found is None or self.touches.seen:
            return
        name, line, origin = found["call"], found["line"], int(found["rank"])
        self.journal.put(
            "found", self._calls, **{"class": "one-sided-race"}, calls=[name, "a store"], lines=[line, ""],
            text=f"{name} at {line} of rank {origin} and a store of this rank race for {found['what']}",
            hint="end the epoch before the window's memory is changed",
        )  # fmt: skip

    def over(self, left: Sequence[Left]) -> None:
        """MPI ends in this rank, and this is `left`."""
        for one in left:
            self.journal.put(
                "leak", self._calls, **{"class": one.kind}, text=one.text, s=one.place, times=one.times
            )  # fmt: skip
        self.journal.put("over", self._calls)
