"""The engine of boards: an access becomes a frame on a board's line, and what the board asks for is served."""

import struct
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import takewhile

from lanai_hdl.boards.registers import PhySeen
from lanai_hdl.control.identity import identity
from lanai_hdl.errors import UserError
from lanai_hdl.machine import SRAM_HOST, host_offset
from lanai_hdl.uart.bridge import UNANSWERED
from lanai_hdl.uart.frame import MOST_WORDS, Frame, FrameKind

from ..base import Access, Engine, Event, EventKind, Layout
from ..pages import HostPages
from .lines import Boards

A_WHILE = 0.2  # seconds of one call of `run`
ANSWER_SECONDS = 5.0  # in which a board answers a read


class _Host:
    """The host of one board: accesses on their way, memory, words that are watched."""

    def __init__(self, boards: Boards, number: int) -> None:
        self.boards, self.number = boards, number
        self.accesses: deque[Access] = deque()  # yet to be sent
        self.posted: list[Access] = []  # writes that the board has yet to take
        self.reads: deque[Access] = deque()  # without an answer
        self.asked = 0.0  # when the board was asked, or has last said something
        self.pages = HostPages()
        self.refused = 0
        self.watches: dict[int, list[tuple[int, int]]] = {}  # by tag: address, seen
        self.events: list[Event] = []

    @property
    def due(self) -> int | None:
        """The slot of the next access that is not on its way; None if something is on its way already."""
        return self.accesses[0].slot if self.accesses and not (self.posted or self.reads) else None

    @property
    def waits(self) -> bool:
        """The board has yet to take or to answer something."""
        return bool(self.posted or self.reads)

    def go_on(self) -> None:
        """Send what is due, and report writes that the board has taken."""
        if self.posted and not self.boards.untaken(self.number, True):
            for access in self.posted:
                self._done(access, 0)
            self.posted.clear()
        if self.waits:
            return
        now = self.boards.slot
        due = list(takewhile(lambda access: access.slot <= now, self.accesses))
        writes = list(takewhile(lambda access: access.write, due))
        runs = _runs(writes) if writes else _runs(takewhile(lambda access: not access.write, due))[:UNANSWERED]
        if not runs:
            return
        for run in runs:
            for _ in run:
                self.accesses.popleft()
            (self.posted if writes else self.reads).extend(run)
        self.asked = time.monotonic()
        self.boards.send(self.number, b"".join(_frame_of(run).to_bytes() for run in runs))
        self.boards.untaken(self.number, bool(writes))

    def take(self, frame: Frame) -> None:
        """A frame has come."""
        self.asked = time.monotonic()
        if frame.kind is FrameKind.PIO_DATA:
            for value in _words(frame.data)[: len(self.reads)]:
                self._done(self.reads.popleft(), value)
        elif frame.kind is FrameKind.INTERRUPT:
            self.events.append(Event(self.boards.slot, EventKind.IRQ, self.number, 0, 0))
        else:
            self.boards.send(self.number, self._serve(frame).to_bytes())

    def _done(self, access: Access, value: int) -> None:
        if access.tag:
            self.events.append(Event(self.boards.slot, EventKind.PIO_DONE, self.number, access.tag, value))

    def _serve(self, frame: Frame) -> Frame:
        addresses = range(frame.addr, frame.addr + 4 * frame.count, 4)
        try:
            if frame.kind is FrameKind.MEMORY_READ:
                read = [self.pages.read(address) for address in addresses]
                return Frame(FrameKind.MEMORY_ANSWER, data=struct.pack(f">{len(read)}I", *read))
            values = {
                address: self.pages.write(address, word, frame.be)
                for address, word in zip(addresses, _words(frame.data), strict=True)
            }
        except OSError:
            self.refused += frame.count
            return Frame(FrameKind.MEMORY_REFUSED)
        for tag, words in self.watches.items():
            if any(values.get(address, seen) != seen for address, seen in words):
                self.events.append(Event(self.boards.slot, EventKind.WATCH, self.number, tag, 0))
        return Frame(FrameKind.MEMORY_ANSWER)

    def check(self) -> None:
        """Raise UserError for a board that was asked long ago and says nothing."""
        if self.reads and time.monotonic() > self.asked + ANSWER_SECONDS:
            raise UserError(
                f"board {self.number} has not answered a read for {ANSWER_SECONDS:g} s; does it run a NIC bitstream, "
                "at this baud rate?"
            )


def _words(data: bytes) -> tuple[int, ...]:
    return struct.unpack(f">{len(data) // 4}I", data)


def _runs(accesses: Iterable[Access]) -> list[list[Access]]:
    """Accesses of whole words that follow on one another, together, and others alone."""
    found: list[list[Access]] = []
    for access in accesses:
        run = found[-1] if found else []
        if run and len(run) < MOST_WORDS and access.address == run[-1].address + 4 and access.be == run[-1].be == 0xF:
            run.append(access)
        else:
            found.append([access])
    return found


def _frame_of(run: Sequence[Access]) -> Frame:
    first = run[0]
    if first.write:
        return Frame(
            FrameKind.PIO_WRITE, first.address, struct.pack(f">{len(run)}I", *(one.data for one in run)), first.be
        )
    return Frame(FrameKind.PIO_READ, first.address, asked=len(run))


class BoardEngine(Engine):
    """NICs on boards. What is not known of a board but by asking it is asked over its line."""

    def __init__(self, layout: Layout, boards: Boards) -> None:
        super().__init__(layout)
        self._boards = boards
        self._hosts = [_Host(boards, number) for number in range(layout.nics)]

    def run(self, limit: int) -> tuple[bool, Sequence[Event]]:
        boards, until = self._boards, time.monotonic() + A_WHILE
        self.cut_short = False
        while True:
            for host in self._hosts:
                host.go_on()
            if events := self._events():
                return False, events
            if boards.slot >= limit:
                return False, ()
            asked = [host.due for host in self._hosts if host.due is not None]
            due = min((limit, *asked))
            waits = any(host.waits for host in self._hosts)
            if boards.still and not waits:
                if not asked:
                    return True, ()
                boards.pass_to(due)
            elif time.monotonic() > until:
                self.cut_short = True
                return False, ()
            self._run_to(min(due, limit))

    def _run_to(self, slot: int) -> None:
        for board, frame in self._boards.run(slot):
            self._hosts[board].take(frame)
        for host in self._hosts:
            host.check()

    def _events(self) -> list[Event]:
        found = [event for host in self._hosts for event in host.events]
        for host in self._hosts:
            host.events = []
        return found

    def slot(self, unit: int) -> int:
        return self._boards.slot

    def evaluated(self, unit: int) -> int:
        return self._boards.slot

    def pio(self, nic: int, accesses: Sequence[Access]) -> None:
        self._hosts[nic].accesses.extend(accesses)

    def map_local(self, nic: int, page: int, address: int, writable: bool) -> None:
        self._hosts[nic].pages.map_local(page, address, writable)

    def map_remote(self, nic: int, page: int, pid: int, address: int, writable: bool) -> None:
        self._hosts[nic].pages.map_remote(page, pid, address, writable)

    def unmap(self, nic: int, page: int) -> None:
        self._hosts[nic].pages.unmap(page)

    def watch(self, nic: int, address: int, seen: int, tag: int) -> None:
        self._hosts[nic].watches.setdefault(tag, []).append((address, seen))

    def unwatch(self, nic: int, tag: int) -> None:
        self._hosts[nic].watches.pop(tag, None)

    def sram(self, nic: int, addresses: Sequence[int]) -> list[int]:
        return self._ask(nic, [SRAM_HOST + address % self.layout.nic.sram_size for address in addresses])

    def _ask(self, nic: int, addresses: Sequence[int]) -> list[int]:
        """Read words of a board's window: its time goes on meanwhile. What else happens then is reported by the next
        `run`."""
        host, found = self._hosts[nic], list[int]()
        for address in addresses:
            host.accesses.append(Access(0, False, address, tag=ASK_TAG))
        while len(found) < len(addresses):
            host.go_on()
            self._run_to(self._boards.slot + A_FEW_SLOTS)
            found += [event.value for event in host.events if event.tag == ASK_TAG]
            host.events = [event for event in host.events if event.tag != ASK_TAG]
        return found

    def check(self) -> None:
        """Raise UserError if a board's NIC is not that of the layout. Its clock may be another: time is the board's."""
        expected = {name: value for name, value in identity(self.layout.nic).items() if name != "SLOT_KHZ"}
        for nic in range(self.layout.nics):
            for name, value in zip(expected, self._ask(nic, [host_offset(name) for name in expected]), strict=True):
                if value != expected[name]:
                    raise UserError(
                        f"board {nic} has another bitstream: {name} is {value:#x}, and {expected[name]:#x} in this "
                        "run's NIC; `lanai board load` puts that on it, and --board NAME:PORT,PORT names another board"
                    )

    def await_link(self) -> None:
        """Let the boards go on until they have a link. Raises UserError that says what is wrong with the cable."""
        until = self._boards.slot + TRAINED
        while True:
            seen = [PhySeen.of(partial(self._ask, nic)) for nic in range(self.layout.nics)]
            if all(phy is not None and phy.up for phy in seen):
                return
            if self._boards.slot > until:
                raise UserError(
                    f"the boards have no link: {'; '.join(_troubles(seen))}; `lanai board pins` shows the cable"
                )
            self._run_to(self._boards.slot + A_FEW_SLOTS)

    def refused(self, nic: int) -> int:
        return self._hosts[nic].refused

    def close(self) -> None:
        for host in self._hosts:
            host.pages.close()
        self._boards.close()


def _troubles(seen: Iterable[PhySeen | None]) -> Iterator[str]:
    for number, phy in enumerate(seen):
        if phy is None:
            yield f"board {number} has no phy (`lanai build --phy`)"
        else:
            yield from (f"board {number}: {trouble}" for trouble in phy.troubles())


ASK_TAG = 1 << 32  # no access of a cluster's has it
A_FEW_SLOTS = 4096
TRAINED = 20_000  # slots in which phys find a link, many times over
