"""Mail between ranks without a NIC: letters in memory that the ranks share. `mail.c` says when they arrive and who may go on."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from ..body import NOTHING, Body, Run
from ..bus import reach
from ..bus.base import Wait
from ..call_site import located
from ..errors import UserError
from ..native import load
from .protocol import ABORT_PATIENCE, FOREVER, Op, pack_wait
from .requests import STOPPED, Stopped

DECLARED = """
typedef struct { uint64_t size; uint32_t source; int64_t arrival; char bytes[]; ...; } letter;
typedef struct { uint32_t state; int64_t clock, wake; uint32_t why_size; char why[...]; ...; } seat;
typedef struct { uint64_t size; uint32_t source; int32_t taken, more; char head[...]; } delivery;
typedef ... office;
office *office_open(int file, uint64_t size, uint32_t ranks, uint32_t processors, int64_t latency, int64_t byte_time, int64_t limit);
void office_close(office *);
int office_post(office *, uint32_t from, uint32_t to, int64_t clock, int64_t quiet, const char *head, uint32_t head_size,
                uintptr_t body, uint64_t body_size, uint64_t charged);
int64_t office_wait(office *, uint32_t rank, int64_t clock, uint32_t what);
int64_t office_rest(office *, uint32_t rank);
int64_t office_receive(office *, uint32_t rank, int64_t clock, int64_t from, const char *match, uint32_t match_size, uint32_t head_size,
                       uintptr_t to, uint64_t room, delivery *result);
letter *office_take(office *, uint32_t rank, letter *done);
void office_leave(office *, uint32_t rank);
void office_stop(office *);
void office_look(office *, uint32_t rank, seat *copy);
void office_tell(office *, uint32_t rank, const char *why, uint32_t size);
"""
RUNS, WAITS, ENDED, LEFT = range(4)  # states of a seat
LETTER, LOOK, LAST = range(3)
NAP = -1
UNREADABLE = -1  # answer of office_post: the letter's body cannot be read
LARGEST, SMALLEST = 1 << 38, 1 << 28  # bytes of the shared file; only what letters use takes memory
LOOK_TIME = 10_000  # picoseconds that a look for mail takes, so that a free host that only looks still lets time pass


@dataclass(frozen=True)
class Seat:
    """A rank's state: its clock, when it goes on if no earlier letter comes (FOREVER: never), and if it has waited long, why."""

    state: int
    clock: int
    wake: int
    why: bytes


@cache
def native() -> Any:
    return load(__package__, "mail", DECLARED, reach.GUARD_SOURCE)


class PostOffice:
    """The simulator's end. `latency` and `byte_time`, for each byte of a body, in picoseconds; no rank goes on after `limit`.
    `path` names the shared memory to the ranks as long as the simulator lives."""

    def __init__(self, ranks: int, latency: int, byte_time: int = 0, limit: int = FOREVER) -> None:
        made = native()
        self._ffi, self._lib = made.ffi, made.lib
        self._file = os.memfd_create("lanai-mail", os.MFD_CLOEXEC)
        self.path = f"/proc/{os.getpid()}/fd/{self._file}"
        processors = len(os.sched_getaffinity(0))
        size = LARGEST
        while True:
            os.ftruncate(self._file, size)
            self._office = self._lib.office_open(self._file, size, ranks, processors, latency, byte_time, limit)
            if self._office:
                return
            size //= 4
            if size < SMALLEST:
                os.close(self._file)
                raise UserError(f"cannot map {4 * size} bytes of shared memory for mail; raise `ulimit -v`")

    def look(self, rank: int) -> "Seat":
        """What a rank is doing."""
        return _look(self._ffi, self._lib, self._office, rank)

    def leave(self, rank: int) -> None:
        """The rank's process has ended."""
        self._lib.office_leave(self._office, rank)

    def stop(self) -> None:
        """The run is over: who waits does not go on, but tells what it waits for."""
        self._lib.office_stop(self._office)

    def close(self) -> None:
        self._lib.office_close(self._office)
        os.close(self._file)


class Connection(Protocol):
    """What a mailbox uses of its rank's connection to the simulator (`client.Portal`)."""

    rank: int
    clock: int
    watchful: bool

    def check(self) -> None: ...

    def count_from_now(self) -> None: ...

    def call(self, op: Op, payload: bytes = b"") -> bytes: ...

    def finalize(self) -> None: ...


class Mailbox:
    """A rank's end, and the ideal device's mail (`stacks.ideal.device.Mail`). Its time is the portal's `clock`."""

    def __init__(self, portal: Connection, path: str) -> None:
        made = native()
        self._ffi, self._lib, self._unpack = made.ffi, made.lib, made.ffi.unpack
        self._post, self._wait, self._take = made.lib.office_post, made.lib.office_wait, made.lib.office_take
        self._receive, self.delivery = made.lib.office_receive, made.ffi.new("delivery *")
        self._portal = portal
        self._rank = portal.rank
        try:
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise UserError(f"cannot open the simulator's mail {path}: {error.strerror}") from error
        try:
            self._office = self._lib.office_open(file, os.fstat(file).st_size, 0, 0, 0, 0, 0)
        finally:
            os.close(file)
        if not self._office:
            raise UserError("cannot map the shared memory for mail; raise `ulimit -v`")

    @property
    def now(self) -> int:
        return self._portal.clock

    def elapse(self, picoseconds: int) -> None:
        self._portal.clock += picoseconds

    def post(self, dest: int, head: bytes, body: Body = NOTHING, quiet: int = 0) -> None:
        """Only the body takes time on the line. `quiet`: nothing more will be posted for so many picoseconds, so that the letter
        may be taken before this rank waits.

        Raises BusError if the body cannot be read.
        """
        portal = self._portal
        if portal.watchful:
            portal.check()
        charged = body.size
        if isinstance(body, Run):
            address, size = body.start, charged
        else:
            head += body.read()
            address = size = 0
        now = portal.clock
        posted = self._post(self._office, self._rank, dest, now, now + quiet, head, len(head), address, size, charged)
        if posted == UNREADABLE:
            raise reach.unreadable(address, size)
        if not posted:
            raise UserError(f"no shared memory is left for a letter of {len(head) + size} bytes")

    def collect(self, why: Wait | None) -> list[tuple[int, bytes]]:
        portal = self._portal
        if portal.watchful:
            portal.check()
        if why is None:
            portal.clock += LOOK_TIME
            now = self._wait(self._office, self._rank, portal.clock, LOOK)
        else:
            now = self._wait(self._office, self._rank, portal.clock, LETTER)
        if now < 0:
            now = self._rest(now, why)
        portal.clock = now
        if portal.watchful:
            portal.count_from_now()
        return self._collected()

    def receive(
        self, source: int, match: bytes, head: int, address: int, room: int, why: Callable[[], Wait]
    ) -> list[tuple[int, bytes]]:
        """As `collect` with a reason, but if the first letter is from `source` (any: -1), begins with `match` and has after its
        `head` bytes no more than `room`, these go to `address`, and `delivery` tells of the letter instead of the list."""
        portal = self._portal
        if portal.watchful:
            portal.check()
        delivery = self.delivery
        now = self._receive(
            self._office, self._rank, portal.clock, source, match, len(match), head, address, room, delivery
        )
        if now < 0:
            now = self._rest(now, why())
        portal.clock = now
        if portal.watchful:
            portal.count_from_now()
        return [] if delivery.taken and not delivery.more else self._collected()

    def head(self, size: int) -> bytes:
        """Of the letter that `delivery` tells of."""
        found: bytes = self._unpack(self.delivery.head, size)
        return found

    def _collected(self) -> list[tuple[int, bytes]]:
        """All letters that have arrived."""
        take, office, rank = self._take, self._office, self._rank
        letters = []
        letter = take(office, rank, self._ffi.NULL)
        while letter:
            letters.append((letter.source, self._unpack(letter.bytes, letter.size)))
            letter = take(office, rank, letter)
        return letters

    def await_end(self) -> None:
        """Until this rank would be the next to do anything: the others have then been stopped. Or until they have used up the
        patience with those that do not wait."""
        give_up = time.monotonic() + ABORT_PATIENCE
        answer = self._lib.office_wait(self._office, self._rank, self._portal.clock, LAST)
        while answer == NAP and time.monotonic() < give_up:
            answer = self._lib.office_rest(self._office, self._rank)

    def close(self) -> None:
        self._lib.office_leave(self._office, self._rank)
        self._portal.finalize()

    def _rest(self, now: int, why: Wait | None) -> int:
        """Goes on waiting, with the reason to be seen; if the run is over, tells the simulator and waits for the end."""
        if now >= 0:
            return now
        record = pack_wait(located(why or Wait("a look for messages")))
        while now == NAP:
            self._lib.office_tell(self._office, self._rank, record, len(record))
            now = self._lib.office_rest(self._office, self._rank)
        if now < 0:
            wake = _look(self._ffi, self._lib, self._office, self._rank).wake
            self._portal.call(Op.STOPPED, STOPPED.pack(Stopped(wake), record))
        return now


def _look(ffi: Any, lib: Any, office: Any, rank: int) -> Seat:
    seat = ffi.new("seat *")
    lib.office_look(office, rank, seat)
    return Seat(seat.state, seat.clock, seat.wake, ffi.unpack(seat.why, seat.why_size))
