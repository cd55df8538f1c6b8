"""Puts by the shell: stores of the processor through its write buffer, and gets that fetch words (T3-01).

The aperture of the NIC's remote-memory adapter is the shell, and its stream buffers are the write buffer. Gets and
swaps are commands. `Remote.read_bytes` says how many bytes a packet of a get asks for: 8 in the preset `t3d_shell`.
Bytes that no store of a word can move, as on the T3D, go by a command here.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lanai_firmware.programs.put.layout import Kind
from lanai_hdl.remote.packets import Atomic, Op, Status

from ... import process_memory
from ...adapter.aperture import MOST_MAPPED
from ...adapter.commands import Command
from ...adapter.exposures import pages_of
from ...adapter.opened import OWN_PAGES, OpenedAdapter
from ...adapter.operation import REASONS, Attachment, RemoteOperation
from ...bus.base import PAGE_SIZE, Bus, HostBuffer, KnownPoll, Pinned, Watched
from ...host_model.meter import Meter
from ...operation import DeviceError, ErrorKind, Wait
from ...remote import Access
from .heap import WORD
from .puts import Presence, Put, Puts, Question, Remote, Window, Words, never
from .windows import PAGES, Windows, landings, name_of, named, place_of

ATOMICS = {Kind.SWAP: Atomic.SWAP, Kind.ADD: Atomic.ADD}
ALL = Access.READ | Access.WRITE | Access.ATOMIC


class Run(NamedTuple):
    """A put of some bytes of this process's memory."""

    there: Remote
    address: int
    size: int


class Tell(NamedTuple):
    """A put of a word to a rank that need not be there."""

    there: Remote
    data: bytes


class Settle(NamedTuple):
    """Ask what has become of all stores to these ranks."""

    ranks: frozenset[int]


Request = Put | Question | Run | Tell


@dataclass
class Running:
    """A command under way."""

    request: Request | Settle
    operation: RemoteOperation


class ShellPuts(Puts):
    """Stores, fetches and swaps, begun in order. What must wait, for a rank or a command buffer, waits here.

    Nothing tells of a store's end. A command that moves nothing asks for it (`Settle`) before this rank sleeps, and
    before a flag leaves.

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
        self._tokens = [attachment.token(rank, MOST_MAPPED) for rank in range(ranks)]
        self._adapter = OpenedAdapter(bus, attachment, meter, attachment.adapter.payload, one_key=True)
        self._commands = self._adapter.share()
        pages = attachment.adapter.pages - OWN_PAGES - pages_of(0, self.memory.size)
        self._windows = Windows(self._adapter, landings(pages))
        self._waiting: deque[Request] = deque()
        self._running: deque[Running] = deque()
        self._stored: set[int] = set()  # ranks whose memory was stored to, of which no command tells yet
        self._questions = 0  # without an answer
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
            while not self._settled():
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
        size = len(put.data)
        if size:
            most = size if stores(put.there, size) else PAGE_SIZE
            for at in range(0, size, most):
                there = put.there._replace(address=put.there.address + at)
                self._queue(put._replace(there=there, data=put.data[at : at + most]))
        else:
            address = process_memory.address_of(self.memory.view) + put.source - self.memory.bus_address
            self._queue_run(put.there, address, put.size)
        return self.asked

    def put_runs(self, rank: int, names: Sequence[int], pinned: Pinned, runs: Sequence[tuple[int, int]]) -> None:
        there = Remote(rank, names[0], named=True)
        for address, size in runs:
            self._queue_run(there, address, size)
            there = there._replace(address=there.address + size)

    def ask(self, question: Question) -> None:
        self._questions += 1
        self._queue(question)

    def share(self, memory: HostBuffer) -> int:
        return self._windows.share(memory)

    def window(self, pinned: Pinned, address: int, size: int) -> Window | None:
        exposure = self._windows.open(pinned, address, size)
        if exposure is None:
            return None
        return Window([name_of(exposure.number, exposure.offset(address))], exposure.number)

    def close_window(self, window: Window) -> None:
        self._windows.close(window.handle)

    @property
    def unanswered(self) -> int:
        return self._questions

    def completed(self, number: int) -> bool:
        return number <= self.asked - len(self._waiting)

    def push(self) -> None:
        self._take_ended()
        while self._waiting and self._failure is None and not self._closed:
            if not self._begin(self._waiting[0]):
                return
            self._waiting.popleft()

    def look(self, words: Words) -> None:
        if any(one.now != one.seen for one in words()):
            self.news += 1
        self.push()

    def watched(self, words: Words) -> list[Watched]:
        self._settled()
        found = words()
        command = self._commands.watched()
        if command is not None:
            found.append(command)
        if self._waiting and not self._is_there(self._waiting[0]):
            found.append(self._presence.watched(self._waiting[0].there.rank))
        return found

    def known_poll(self, watched: Sequence[Watched], words: Sequence[Watched], picoseconds: int) -> KnownPoll | None:
        """The good end of stores is noted, if nothing waits for it."""
        if self._waiting or not all(type(one.request) is Settle for one in self._running):
            return None
        return self._adapter.known_poll(watched, picoseconds)

    def note(self) -> None:
        self._adapter.note()
        self.push()

    def _queue(self, request: Request) -> None:
        self.asked += 1
        self._waiting.append(request)

    def _queue_run(self, there: Remote, address: int, size: int) -> None:
        """One that goes by commands takes one for each staging page."""
        most = size if stores(there, size) else PAGE_SIZE
        for at in range(0, size, most):
            place = there._replace(address=there.address + at)
            self._queue(Run(place, address + at, min(most, size - at)))

    def _is_there(self, request: Request) -> bool:
        return isinstance(request, Tell) or self._presence.is_there(request.there.rank)

    def _begin(self, request: Request) -> bool:
        """Begin a request. False if it must wait: for a rank, a command buffer, or for what was begun before."""
        if isinstance(request, Question):
            return self._begin_question(request)
        if not self._is_there(request):
            return False
        if isinstance(request, Put) and request.flag and not self._settled():
            return False  # it must not arrive if what was put before has failed
        if isinstance(request, Tell):
            return self._stage(request, request.data)
        if self._presence.has_left(request.there.rank):
            return True  # nobody needs it
        size = request.size if isinstance(request, Run) else len(request.data)
        data = process_memory.read(request.address, size) if isinstance(request, Run) else request.data
        if not stores(request.there, size):
            return self._stage(request, data)
        if any(isinstance(one.request, Put | Run) for one in self._running):
            return False  # a store would overtake it
        exposure, offset = self._there(request.there)
        self._stored.add(request.there.rank)
        self._adapter.aperture.store(named(self._tokens[request.there.rank], exposure), offset, data)
        return True

    def _begin_question(self, question: Question) -> bool:
        if question.kind == Kind.FENCE:
            if not self._settled():
                return False
            self._questions -= 1
            return True
        if not self._is_there(question):
            return False
        if question.kind != Kind.GET:
            return self._start(question, self._atomic(question))
        here = question.result - self.memory.bus_address
        return self._start(question, self._command(Op.READ, question.there, question.size, 0, here))

    def _stage(self, request: Put | Run | Tell, data: bytes) -> bool:
        """Put bytes by a command, from the page of its buffer."""
        buffer = self._commands.free
        if buffer is None:
            return False
        staging, stage = self._adapter.staging, self._adapter.stage(buffer)
        process_memory.write(stage, data)
        return self._start(
            request, self._command(Op.WRITE, request.there, len(data), staging.number, staging.offset(stage))
        )

    def _start(self, request: Request, command: Command) -> bool:
        if self._commands.free is None:
            return False
        what = f"{command.op.name.lower()} of {command.size} bytes at rank {request.there.rank}"
        self._running.append(Running(request, self._commands.start(command, what)))
        return True

    def _settled(self) -> bool:
        """Return whether nothing is under way. The command that tells of stores begins here at the latest."""
        if self._stored and not self._closed and self._commands.free is not None:
            ranks, self._stored = frozenset(self._stored), set()
            what = f"stores at rank {', '.join(map(str, sorted(ranks)))}"
            operation = self._commands.start(self._adapter.nothing, what)
            self._running.append(Running(Settle(ranks), operation))
        return not (self._running or self._stored)

    def _atomic(self, question: Question) -> Command:
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
            self._end(running)

    def _end(self, running: Running) -> None:
        request, operation = running.request, running.operation
        ranks = request.ranks if isinstance(request, Settle) else frozenset((request.there.rank,))
        if isinstance(request, Tell):
            if operation.status is Status.OK:
                self._presence.meet(request.there.rank)
            if operation.status is not Status.LOST:  # it may be not there yet, or have left
                return
        if isinstance(request, Question):
            self._questions -= 1
            if request.kind != Kind.GET:
                WORD.pack_into(self.memory.view, request.result - self.memory.bus_address, operation.value)
        if operation.status is not Status.OK and self._failure is None and not any(map(self._presence.has_left, ranks)):
            assert operation.status is not None
            kind = ErrorKind.PEER_FAILED if operation.status is Status.LOST else ErrorKind.NIC_LOST
            text = f"an access that failed ({operation.what}: {REASONS[operation.status]})"
            self._failure = DeviceError(kind, text)
            self._bus.report_lost(self._rank, f"its NIC met {text}")


def stores(there: Remote, size: int) -> bool:
    """Return whether stores can move so many bytes to a place: whole words, in a page that the aperture can name."""
    offset = place_of(there.address)[1] if there.named else there.address
    return not (offset | size) % WORD.size and offset + size <= MOST_MAPPED
