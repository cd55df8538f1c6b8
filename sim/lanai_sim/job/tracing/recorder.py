"""Makes the host's part of the stream from what ranks ask for and note: calls, host work, requests,
requests placed on NICs.

A rank's clock is known here at each of its frames; its notes give moments since the frame before.
So every stretch of host time has exact edges, and a rank's stretches follow each other without a
gap: what has no name is OTHER.
"""

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from lanai_host.config import HostConfig
from lanai_host.operation import Wait
from lanai_host.simulator.protocol import OUTSIDE, Fields, Note, Notebooks, Op, unpack_wait
from lanai_host.simulator.requests import PIO_READ, PIO_WRITE, split_wait_any
from lanai_host.source_lines import place_of
from lanai_host.stacks.attachment import PlacedRequest

from ...trace.schema import HostKind, kind_of_work
from ...trace.writer import Writer
from ..request import Request

_INSTALLED = re.compile(r"^/.*/(site|dist)-packages/")  # folders that say nothing about a module that is installed
MOST_SITES = 1 << 15  # of a run, by their texts: other names take numbers of 16 bits
KEEP = 4096  # rows of a table to collect before they are written


class Attachment(Protocol):
    """The part of a rank's attachment that a trace uses."""

    def request_in(self, offset: int, data: bytes) -> PlacedRequest | None:
        """The request that a write to PIO `offset` completes, if it does."""


@dataclass
class Book:
    """The state of one rank's record. `at`: its host time is recorded up to there."""

    rank: int
    at: int
    attachment: Attachment | None = None
    names: dict[int, int] = field(default_factory=dict)  # the rank's numbers for texts -> the file's
    calls: dict[int, int] = field(default_factory=dict)  # its numbers for calls -> the file's; those under way
    requests: dict[int, int] = field(default_factory=dict)
    pid: int = 0  # of the rank's process
    places: dict[str, int] = field(default_factory=dict)  # where its program calls, as it tells -> the file's number
    sites: dict[int, int] = field(default_factory=dict)  # its numbers for calls that begin next -> place
    call: int = OUTSIDE  # the file's number of the call that it is in
    parents: dict[int, int] = field(default_factory=dict)
    unread: deque[tuple[Fields, str]] | None = None  # notes that belong to later requests of this batch
    frame: int = 0  # requests seen since the last answer
    clock: int = 0  # at the last answer
    left: bool = False
    lost: int = 0  # notes that found no room
    stretches: list[tuple[Any, ...]] = field(default_factory=list)  # HOST rows that the clock has not reached yet


class Recorder:
    """Collects rows and hands them to the writer."""

    def __init__(self, writer: Writer, notebooks: Notebooks, host: HostConfig, ranks: int, ranks_per_node: int) -> None:
        self.writer = writer
        self.notebooks = notebooks
        self.host = host
        self.ranks_per_node = ranks_per_node
        self.books = [Book(rank, 0) for rank in range(ranks)]
        self._rows: dict[bytes, list[tuple[Any, ...]]] = {}
        self._calls = 0
        self._requests = 0
        self._sites: set[str] = set()

    def begin(self, started: int, attachments: Mapping[int, Any]) -> None:
        """The ranks begin."""
        for book in self.books:
            book.at = started
            book.attachment = attachments.get(book.rank)

    def connected(self, rank: int, pid: int) -> None:
        """The rank runs in this process. Another one has its code elsewhere."""
        self.books[rank].pid = pid
        self.books[rank].places.clear()

    def asked(self, rank: int, request: Request, clock: int) -> None:
        """A rank's request to the simulator begins at `clock`; what it noted before tells what it
        has done until then."""
        book, op = self.books[rank], request.op
        if book.unread is None:
            self._read(book)
        self._handle(book, clock - request.elapsed)
        book.frame += 1
        if op in (Op.PIO_WRITE, Op.PIO_READ):
            self._fill(book, clock - (self.host.pio_write if op == Op.PIO_WRITE else self.host.pio_read))
        else:
            self._fill(book, clock)
        if op == Op.PIO_WRITE:
            self._placed(book, request.payload, clock)
        self._settle(book, clock)
        if op > Op.POSTED_LAST:
            book.unread, book.frame = None, 0

    def _read(self, book: Book) -> None:
        book.lost += self.notebooks.lost(book.rank)
        book.unread = deque(self.notebooks.read(book.rank))

    def _handle(self, book: Book, base: int) -> None:
        """Notes made since the frame before this one, which was at `base`."""
        while book.unread and book.unread[0][0][3] <= book.frame:
            fields, text = book.unread.popleft()
            self._note(book, base, fields, text)

    def _note(self, book: Book, base: int, fields: Fields, text: str) -> None:
        kind, sub, name, _, call, offset, a, b, c, d, e = fields
        time = base + offset
        if kind == Note.WORK:
            self._work(book, time, self._call(book, call), sub, a, d)
        elif kind == Note.BEGIN:
            self._fill(book, time)
            self._begin(book, time, self._text(book, name), call, (a, b, c, d), e)
        elif kind == Note.END:
            self._fill(book, time)
            self._end(book, time, e)
        elif kind == Note.REQUEST:
            book.requests[e] = self._requests
            row = (self._requests, book.rank, self._call(book, call), sub & 15, sub >> 4, a, b, c, d, time)
            self._requests += 1
            self._add(b"RQST", row)
        elif kind == Note.DONE and e in book.requests:  # else its REQUEST was lost
            self._add(b"RDON", (book.requests.pop(e), a, b, d, sub, time))
        elif kind == Note.SENT and e in book.requests:
            self._add(b"LINE", (book.requests[e], time, time + d))
        elif kind == Note.ROOM:
            self._add(b"ROOM", (a, b, self._text(book, name), d, time))
        elif kind == Note.WAIT:
            self._fill(book, time)
            self._host(book, HostKind.WAIT, time + d, self._call(book, call), self._text(book, name), a, b)
        elif kind == Note.NAME:
            book.names[name] = self.writer.name(text)
        elif kind == Note.SITE:
            book.sites[e] = self._place(book, text)

    def _place(self, book: Book, site: str) -> int:
        """Return the file's number for where a rank's program calls; -1 if that is not known."""
        number = book.places.get(site)
        if number is None:
            place = _INSTALLED.sub("", place_of(book.pid, site))
            if len(self._sites) < MOST_SITES:
                self._sites.add(place)
            number = book.places[site] = self.writer.name(place) if place and place in self._sites else -1
        return number

    def _text(self, book: Book, name: int) -> int:
        """The file's number for a rank's text."""
        number = book.names.get(name)
        return self.writer.name("(not recorded)") if number is None else number

    def answered(self, rank: int, op: int, payload: bytes, clock: int) -> None:
        """The request is done."""
        book = self.books[rank]
        book.clock = clock
        if op == Op.PIO_WRITE:
            (offset,), data = PIO_WRITE.split(payload)
            self._host(book, HostKind.PIO_WRITE, clock, book.call, offset=offset, size=len(data))
        elif op == Op.PIO_READ:
            offset, size = PIO_READ.unpack(payload)
            self._host(book, HostKind.PIO_READ, clock, book.call, offset=offset, size=size)
        elif op == Op.WAIT_ANY:
            why = unpack_wait(split_wait_any(payload)[2]) or Wait("the NIC")
            peer, tag = (-1 if n is None else n for n in (why.peer, why.tag))
            self._host(book, HostKind.WAIT, clock, book.call, self.writer.name(why.call), peer, tag)
        else:
            self._host(book, HostKind.OTHER if op == Op.WORK else HostKind.SERVICE, clock, book.call)

    def left(self, rank: int, clock: int) -> None:
        """The rank has finalized: whatever it was in is over."""
        book = self.books[rank]
        book.left = True
        self._fill(book, clock)
        for number in list(book.calls):
            self._end(book, clock, number)
        self._settle(book, clock)

    def finish(self, clocks: list[int]) -> None:
        """The run is over, in whatever way. A rank that died leaves its calls open."""
        for book, clock in zip(self.books, clocks, strict=True):
            if book.unread is None and not book.left:
                self._read(book)  # the last words of one that died
                self._handle(book, book.clock)
            self._fill(book, clock)
            self._add_all(
                b"HOST",
                [(*row[:9], min(row[9], clock), min(row[10], clock)) for row in book.stretches if row[9] < clock],
            )
            book.stretches = []
        self.flush()

    def lost(self) -> list[str]:
        """Return a line for each rank whose notes did not all fit into its memory."""
        return [
            f"{book.lost:,} notes of rank {book.rank}, for which its memory had no room"
            for book in self.books
            if book.lost
        ]

    def flush(self) -> None:
        """Write all rows collected."""
        rows, self._rows = self._rows, {}
        for tag in sorted(rows):
            self.writer.table(tag, rows[tag])

    # Calls.

    def _call(self, book: Book, number: int) -> int:
        return book.calls.get(number, OUTSIDE)

    def _begin(self, book: Book, time: int, name: int, parent: int, numbers: tuple[int, ...], own: int) -> None:
        number = self._calls
        self._calls += 1
        peer, tag, context, size = numbers
        above = self._call(book, parent)
        self._add(b"CALL", (number, book.rank, above, name, peer, tag, context, size, time))
        if (site := book.sites.pop(own, -1)) >= 0:
            self._add(b"SITE", (number, site))
        book.calls[own] = number
        book.parents[number] = above
        book.call = number

    def _end(self, book: Book, time: int, own: int) -> None:
        if own not in book.calls:  # its BEGIN was lost
            return
        number = book.calls.pop(own)
        self._add(b"CEND", (number, time))
        book.call = book.parents.pop(number)

    # Host time.

    def _work(self, book: Book, time: int, call: int, kind: int, count: int, cost: int) -> None:
        self._fill(book, time)
        self._host(book, kind_of_work(kind), max(time, book.at) + cost, call, count=count)

    def _fill(self, book: Book, time: int) -> None:
        if time > book.at:
            self._host(book, HostKind.OTHER, time, book.call)

    def _host(
        self, book: Book, kind: int, end: int, call: int, reason: int = 0, peer: int = -1, tag: int = -1, *,
        count: int = 1, offset: int = -1, size: int = 0,
    ) -> None:  # fmt: skip
        if end > book.at:
            book.stretches.append((book.rank, call, int(kind), reason, peer, tag, count, offset, size, book.at, end))
            book.at = end

    def _settle(self, book: Book, clock: int) -> None:
        """Write the rank's host time once its clock has passed it: it is certain then."""
        ready = book.stretches
        if ready and ready[-1][10] <= clock:
            self._add_all(b"HOST", ready)
            book.stretches = []

    # Requests on the NIC.

    def _placed(self, book: Book, payload: bytes, clock: int) -> None:
        """Does this write complete a request?"""
        if book.attachment is None:
            return
        head, data = PIO_WRITE.split(payload)
        one = book.attachment.request_in(head.offset, data)
        if one is not None:
            row = (book.rank // self.ranks_per_node, one.local_rank, one.slot, one.op, book.rank, book.call)
            self._add(b"SLOT", (*row, one.operation, one.peer, one.tag, one.context, one.length, clock))

    # Rows.

    def _add(self, tag: bytes, row: tuple[Any, ...]) -> None:
        self._rows.setdefault(tag, []).append(row)
        if len(self._rows[tag]) >= KEEP:
            self.flush()

    def _add_all(self, tag: bytes, rows: list[tuple[Any, ...]]) -> None:
        for row in rows:
            self._add(tag, row)
