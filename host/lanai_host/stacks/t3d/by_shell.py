"""Puts by the shell: the NIC's remote-memory adapter does in hardware what the T3D's shell did (T3-01)."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lanai_firmware.programs.put.layout import Kind
from lanai_hdl.remote.packets import Atomic, Op, Status

from ... import process_memory
from ...adapter.commands import Command
from ...adapter.exposures import Exposure, pages_of
from ...adapter.opened import OWN_PAGES, OpenedAdapter
from ...adapter.operation import REASONS, Attachment, RemoteOperation
from ...bus.base import PAGE_SIZE, Bus, HostBuffer, KnownLook, Pinned, Watched
from ...host_model.meter import Meter
from ...operation import DeviceError, ErrorKind, Wait
from ...remote import Access
from .heap import WORD
from .puts import Presence, Put, Puts, Question, Remote, Window, Words, never
from .windows import PAGES, Windows, landings, name_of, named, near_runs, place_of

ATOMICS = {Kind.SWAP: Atomic.SWAP, Kind.ADD: Atomic.ADD}
ALL = Access.READ | Access.WRITE | Access.ATOMIC


@dataclass
class Source:
    """Pinned memory of some puts of runs. `exposure`: once the first of them has begun, until the last one ends."""

    pinned: Pinned
    address: int
    size: int
    exposure: Exposure | None = None


class Run(NamedTuple):
    """A put of some bytes of a source to one window. `last`: no other put of that source follows."""

    there: Remote
    source: Source
    address: int
    size: int
    last: bool


class Tell(NamedTuple):
    """A put of a word to a rank that need not be there."""

    there: Remote
    data: bytes


Request = Put | Question | Run | Tell


@dataclass
class Running:
    """A request whose command is under way."""

    request: Request
    number: int
    operation: RemoteOperation


class ShellPuts(Puts):
    """Commands to the adapter, which carries out those to one rank in order. What has no command buffer waits here.

    Args:
        size: bytes of the heap, which is this rank's first exposure. Behind it are words that tell who is there.
        reply_pages: pages that a reply may describe.
    """

    longest_put = 1 << 20
    longest_get = 1 << 20

    def __init__(self, bus: Bus, attachment: Attachment, meter: Meter, size: int, reply_pages: int) -> None:
        ranks = len(attachment.places)
        self.memory = bus.allocate(size + Presence.room(ranks))
        self.most_pages = min(reply_pages, PAGES)
        self.asked = 0
        self.news = 0
        self._bus = bus
        self._rank = attachment.rank
        self._presence = Presence(self.memory, size, ranks, attachment.rank)
        self._tokens = [attachment.token(rank, self.memory.size) for rank in range(ranks)]
        self._adapter = OpenedAdapter(bus, attachment, meter, attachment.adapter.payload, one_key=True)
        self._commands = self._adapter.share()
        pages = attachment.adapter.pages - OWN_PAGES - pages_of(0, self.memory.size)
        self._windows = Windows(self._adapter, landings(pages))
        self._waiting: deque[tuple[int, Request]] = deque()
        self._running: deque[Running] = deque()
        self._questions = 0  # without an answer
        self._done = 0  # number of the last request that has ended
        self._failure: DeviceError | None = None
        self._closed = False

    def open(self) -> None:
        self._adapter.open(self.memory, self.memory.size, ALL, little=False)
        for rank, word in self._presence.hello():
            self._queue(Tell(Remote(rank, self._presence.place), word))
        self.push()

    def close(self, orderly: bool = True, lost: Callable[[], bool] = never) -> None:
        if orderly and self._failure is None:
            for rank, word in self._presence.farewell():
                self._queue(Tell(Remote(rank, self._presence.place), word))
            self.push()
            while self._running:
                self._bus.wait_any(self.watched(list), Wait("the end", note="peers are told that this rank leaves"))
                self.push()
        self.abandon()

    def abandon(self) -> None:
        self._closed = True
        self._waiting.clear()
        self._windows.close_all()

    @property
    def failure(self) -> DeviceError | None:
        return self._failure

    def put(self, put: Put) -> int:
        """A longer put than a command's staging page takes several commands, in order."""
        for at in range(0, max(len(put.data), 1), PAGE_SIZE):
            there = put.there._replace(address=put.there.address + at)
            self._queue(put._replace(there=there, data=put.data[at : at + PAGE_SIZE]))
        return self.asked

    def put_runs(self, rank: int, names: Sequence[int], pinned: Pinned, runs: Sequence[tuple[int, int]]) -> None:
        """Each run takes a command. Runs that are near to each other in memory have one window."""
        there = Remote(rank, names[0], named=True)
        for part in near_runs(runs):
            begin = min(address for address, _ in part)
            source = Source(pinned, begin, max(address + size for address, size in part) - begin)
            for number, (address, size) in enumerate(part, start=1):
                self._queue(Run(there, source, address, size, last=number == len(part)))
                there = there._replace(address=there.address + size)

    def ask(self, question: Question) -> None:
        self._questions += 1
        self._queue(question)

    def share(self, memory: HostBuffer) -> int:
        return self._windows.share(memory)

    def window(self, pinned: Pinned, address: int, size: int) -> Window | None:
        exposure = self._windows.open(pinned, address, size, Access.WRITE)
        if exposure is None:
            return None
        return Window([name_of(exposure.number, exposure.offset(address))], exposure.number)

    def close_window(self, window: Window) -> None:
        self._windows.close(window.handle)

    @property
    def unanswered(self) -> int:
        return self._questions

    def completed(self, number: int) -> bool:
        return number <= self._done

    def push(self) -> None:
        self._take_ended()
        while self._waiting and self._failure is None and not self._closed:
            number, request = self._waiting[0]
            if not self._begin(number, request):
                return
            self._waiting.popleft()

    def look(self, words: Words) -> None:
        if any(one.now != one.seen for one in words()):
            self.news += 1
        self.push()

    def watched(self, words: Words) -> list[Watched]:
        found = words()
        command = self._commands.watched()
        if command is not None:
            found.append(command)
        if self._waiting and not self._is_there(self._waiting[0][1]):
            found.append(self._presence.watched(self._waiting[0][1].there.rank))
        return found

    def known_look(self, watched: Sequence[Watched], words: Sequence[Watched], picoseconds: int) -> KnownLook | None:
        """The good end of a put of this rank's heap or of staged bytes is noted, if nothing waits for it."""
        if self._waiting or not all(type(one.request) is Put for one in self._running):
            return None
        return self._adapter.known_look(watched, picoseconds)

    def note(self) -> None:
        self._adapter.note()
        self.push()

    def _queue(self, request: Request) -> None:
        self.asked += 1
        self._waiting.append((self.asked, request))

    def _is_there(self, request: Request) -> bool:
        return isinstance(request, Tell) or self._presence.is_there(request.there.rank)

    def _begin(self, number: int, request: Request) -> bool:
        """Begin a request. False if it must wait: for a rank, a command buffer, a window, or for all before it."""
        if isinstance(request, Question) and request.kind == Kind.FENCE:
            if self._running:
                return False
            self._questions -= 1
            self._done = number
            return True
        buffer = self._commands.free
        last = isinstance(request, Put) and request.flag  # it must not arrive if what was put before has failed
        if buffer is None or not self._is_there(request) or (last and self._running):
            return False
        if isinstance(request, Run):
            exposure = self._exposure(request.source)
            if exposure is None:
                return False
            local = exposure.offset(request.address)
            command = self._command(Op.WRITE, request.there, request.size, exposure.number, local)
        elif isinstance(request, Question):
            command = self._ask_command(request)
        else:
            command = self._put_command(request, buffer)
        what = f"{command.op.name.lower()} of {command.size} bytes at rank {request.there.rank}"
        self._running.append(Running(request, number, self._commands.start(command, what)))
        return True

    def _exposure(self, source: Source) -> Exposure | None:
        """Return what names a source in commands; None if it must wait for a window."""
        if source.exposure is None:
            source.exposure = self._windows.open(source.pinned, source.address, source.size, Access(0))
        return source.exposure

    def _put_command(self, put: Put | Tell, buffer: int) -> Command:
        if not put.data:
            assert isinstance(put, Put)
            return self._command(Op.WRITE, put.there, put.size, 0, put.source - self.memory.bus_address)
        staging, stage = self._adapter.staging, self._adapter.stage(buffer)
        process_memory.write(stage, put.data)
        return self._command(Op.WRITE, put.there, len(put.data), staging.number, staging.offset(stage))

    def _ask_command(self, question: Question) -> Command:
        if question.kind == Kind.GET:
            here = question.result - self.memory.bus_address
            return self._command(Op.READ, question.there, question.size, 0, here)
        exposure, offset = self._there(question.there)
        return Command(
            Op.ATOMIC,
            named(self._tokens[question.there.rank], exposure),
            offset,
            WORD.size,
            atomic=ATOMICS[Kind(question.kind)],
            operand=question.operand & 0xFFFF_FFFF,
        )

    def _command(self, op: Op, there: Remote, size: int, local: int, local_offset: int) -> Command:
        exposure, offset = self._there(there)
        return Command(op, named(self._tokens[there.rank], exposure), offset, size, local, local_offset)

    def _there(self, there: Remote) -> tuple[int, int]:
        return place_of(there.address) if there.named else (0, there.address)

    def _take_ended(self) -> None:
        for operation in self._commands.take_ended():
            running = self._running.popleft()
            assert running.operation is operation, "commands end in order"
            self.news += 1
            self._done = running.number
            request = running.request
            if isinstance(request, Run) and request.last and request.source.exposure is not None and not self._closed:
                self._windows.close(request.source.exposure.number)
            self._end(running)

    def _end(self, running: Running) -> None:
        request, operation = running.request, running.operation
        rank = request.there.rank
        if isinstance(request, Tell):
            if operation.status is Status.OK:
                self._presence.meet(rank)
            if operation.status is not Status.LOST:  # it may be not there yet, or have left
                return
        if isinstance(request, Question):
            self._questions -= 1
            if request.kind != Kind.GET:
                WORD.pack_into(self.memory.view, request.result - self.memory.bus_address, operation.value)
        if operation.status is not Status.OK and not self._presence.has_left(rank) and self._failure is None:
            assert operation.status is not None
            kind = ErrorKind.PEER_FAILED if operation.status is Status.LOST else ErrorKind.NIC_LOST
            text = f"an access that failed ({operation.what}: {REASONS[operation.status]})"
            self._failure = DeviceError(kind, text)
            self._bus.report_lost(self._rank, f"its NIC met {text}")
