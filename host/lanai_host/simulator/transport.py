"""Transport between ranks without a NIC: datagrams in shared memory. `transport.c` states when they
arrive and which ranks are released."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Any, Protocol

from ..body import NOTHING, Body, Run
from ..bus import reach
from ..bus.base import Wait
from ..call_site import located
from ..errors import UserError
from ..native import enums, load
from .protocol import ABORT_TIMEOUT, FOREVER, Op, pack_wait
from .requests import STOPPED, Stopped

DECLARED = """
typedef struct { uint64_t size; uint32_t source; int64_t arrival; char bytes[]; ...; } datagram;
typedef struct { uint32_t state; int64_t clock, wake; uint32_t why_size; char why[...]; ...; } rank_state;
typedef struct { uint64_t size; uint32_t source; int32_t taken, more; char head[...]; } delivery;
typedef ... hub;
hub *hub_open(int file, uint64_t size, uint32_t ranks, uint32_t started, uint32_t processors, int64_t latency,
              int64_t byte_time, int64_t limit);
void hub_close(hub *);
int hub_post(hub *, uint32_t from, uint32_t to, int64_t clock, int64_t quiet, const char *head, uint32_t head_size,
             uintptr_t body, uint64_t body_size, uint64_t charged);
int64_t hub_wait(hub *, uint32_t rank, int64_t clock, uint32_t what);
int64_t hub_wait_on(hub *, uint32_t rank);
void hub_begin_wait(hub *, uint32_t rank, int64_t clock, uint32_t what, int64_t limit);
int64_t hub_look_at_wait(hub *, uint32_t rank);
hub *hub_share(const hub *);
void hub_unshare(hub *);
int64_t hub_receive(hub *, uint32_t rank, int64_t clock, int64_t from, const char *match, uint32_t match_size,
                    uint32_t head_size, uintptr_t to, uint64_t room, delivery *result);
datagram *hub_take(hub *, uint32_t rank, datagram *done);
void hub_join(hub *, uint32_t rank, int64_t clock);
void hub_leave(hub *, uint32_t rank);
void hub_stop(hub *);
int hub_pass(hub *, const uint32_t *outside, uint32_t count);
void hub_state(hub *, uint32_t rank, rank_state *copy);
void hub_set_reason(hub *, uint32_t rank, const char *why, uint32_t size);
"""


class State(IntEnum):
    """What a rank is doing."""

    RUNS = 0
    WAITS = 1
    STOPPED = 2
    LEFT = 3


class Awaited(IntEnum):
    """What a rank waits for: a datagram, its own time, the end of the run, its turn."""

    DATAGRAM = 0
    LOOK = 1
    END = 2
    TURN = 3


class Answer(IntEnum):
    """Answers of `hub_wait_on` that are not a time: not yet, and never."""

    AGAIN = -1
    STOP = -2


HEADER = enums(State, Awaited, Answer)
UNREADABLE = -1  # answer of hub_post: the datagram's body cannot be read
LARGEST, SMALLEST = 1 << 38, 1 << 28  # bytes of the shared file; only what datagrams use takes memory
LOOK_TIME = 10_000  # picoseconds that a look takes, so that time passes for a free host that only looks


@dataclass(frozen=True)
class RankState:
    """A rank's state: its clock, when it resumes if no earlier datagram comes (FOREVER: never), and
    after a long wait the reason."""

    state: int
    clock: int
    wake: int
    why: bytes


@cache
def native() -> Any:
    return load(__package__, "transport", DECLARED, reach.GUARD_SOURCE, header=HEADER)


class ServedRank:
    """A rank's part of the hub in the simulator's process (`relay`). Nothing here blocks."""

    def __init__(self, ffi: Any, lib: Any, hub: Any, rank: int) -> None:
        self._ffi, self._lib, self._rank = ffi, lib, rank
        self._hub = lib.hub_share(hub)

    def post(self, dest: int, clock: int, datagram: bytes, charged: int) -> None:
        """As `RankTransport.post`; `charged` bytes take time on the link."""
        body = (0, 0)
        if not self._lib.hub_post(self._hub, self._rank, dest, clock, clock, datagram, len(datagram), *body, charged):
            raise UserError(f"no shared memory is left for a datagram of {len(datagram)} bytes")

    def begin_wait(self, clock: int, what: Awaited, limit: int = FOREVER) -> None:
        """A wait for a DATAGRAM ends at `limit` though none has come. Other ranks may be released
        by this."""
        self._lib.hub_begin_wait(self._hub, self._rank, clock, what, limit)

    def released(self) -> int:
        """The rank's time once its wait is over; else an `Answer`."""
        return int(self._lib.hub_look_at_wait(self._hub, self._rank))

    def take(self) -> list[tuple[int, bytes]]:
        """(source, datagram) of all that have arrived."""
        return _taken(self._ffi, self._lib, self._hub, self._rank)

    def close(self) -> None:
        self._lib.hub_unshare(self._hub)


class TransportHub:
    """The simulator's end. `latency` and `byte_time` (for each byte of a body) are in picoseconds.
    No rank is released after `limit`. `started` ranks begin, all unless given; the others may join
    later. `path` names the shared memory to the ranks until `close`."""

    def __init__(
        self, ranks: int, latency: int, byte_time: int = 0, limit: int = FOREVER, started: int | None = None
    ) -> None:
        made = native()
        self._ffi, self._lib = made.ffi, made.lib
        self._file = os.memfd_create("lanai-transport", os.MFD_CLOEXEC)
        self.path = f"/proc/{os.getpid()}/fd/{self._file}"
        processors = len(os.sched_getaffinity(0))
        size = LARGEST
        while True:
            os.ftruncate(self._file, size)
            begin = ranks if started is None else started
            self._hub = self._lib.hub_open(self._file, size, ranks, begin, processors, latency, byte_time, limit)
            if self._hub:
                return
            size //= 4
            if size < SMALLEST:
                os.close(self._file)
                raise UserError(f"cannot map {4 * size} bytes of shared memory for messages; raise `ulimit -v`")

    def look(self, rank: int) -> "RankState":
        """What a rank is doing."""
        return _look(self._ffi, self._lib, self._hub, rank)

    def join(self, rank: int, clock: int) -> None:
        """A rank without a process gets one, which takes part from `clock` on. A rank that runs has
        not passed that time."""
        self._lib.hub_join(self._hub, rank, clock)

    def leave(self, rank: int) -> None:
        """The rank's process has ended."""
        self._lib.hub_leave(self._hub, rank)

    def let_time_pass(self, outside: Sequence[int]) -> bool:
        """The processes of these ranks wait for something outside the simulation. If all others wait
        here, time passes for them until the first of the others resumes; whether one did."""
        return bool(self._lib.hub_pass(self._hub, outside, len(outside)))

    def serve(self, rank: int) -> "ServedRank":
        """For a rank that asks this process for everything, and never touches the memory itself."""
        return ServedRank(self._ffi, self._lib, self._hub, rank)

    def stop(self) -> None:
        """The run is over: waiting ranks are stopped, and report what they wait for."""
        self._lib.hub_stop(self._hub)

    def close(self) -> None:
        self._lib.hub_close(self._hub)
        os.close(self._file)


class Connection(Protocol):
    """What `RankTransport` uses of its rank's connection to the simulator
    (`client.SimulatorClient`)."""

    rank: int
    clock: int
    watchful: bool

    def check(self) -> None: ...

    def count_from_now(self) -> None: ...

    def call(self, op: Op, payload: bytes = b"") -> bytes: ...

    def finalize(self) -> None: ...


class RankTransport:
    """A rank's end, the `Transport` of `stacks.ideal.device`. Its time is the client's `clock`."""

    def __init__(self, client: Connection, path: str) -> None:
        made = native()
        self._ffi, self._lib, self._unpack = made.ffi, made.lib, made.ffi.unpack
        self._post, self._wait = made.lib.hub_post, made.lib.hub_wait
        self._receive, self.delivery = made.lib.hub_receive, made.ffi.new("delivery *")
        self._client = client
        self._rank = client.rank
        try:
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise UserError(f"cannot open the simulator's shared memory {path}: {error.strerror}") from error
        try:
            self._hub = self._lib.hub_open(file, os.fstat(file).st_size, 0, 0, 0, 0, 0, 0)
        finally:
            os.close(file)
        if not self._hub:
            raise UserError("cannot map the shared memory for messages; raise `ulimit -v`")

    @property
    def now(self) -> int:
        return self._client.clock

    def elapse(self, picoseconds: int) -> None:
        self._client.clock += picoseconds

    def post(self, dest: int, head: bytes, body: Body = NOTHING, quiet: int = 0) -> None:
        """Only the body takes time on the link. `quiet`: this rank will post nothing more for so
        many picoseconds, so that the datagram may be taken before this rank waits.

        Raises BusError if the body cannot be read.
        """
        client = self._client
        if client.watchful:
            client.check()
        charged = body.size
        if isinstance(body, Run):
            address, size = body.start, charged
        else:
            head += body.read()
            address = size = 0
        now = client.clock
        posted = self._post(self._hub, self._rank, dest, now, now + quiet, head, len(head), address, size, charged)
        if posted == UNREADABLE:
            raise reach.unreadable(address, size)
        if not posted:
            raise UserError(f"no shared memory is left for a datagram of {len(head) + size} bytes")

    def collect(self, why: Wait | None) -> list[tuple[int, bytes]]:
        client = self._client
        if client.watchful:
            client.check()
        if why is None:
            client.clock += LOOK_TIME
            now = self._wait(self._hub, self._rank, client.clock, Awaited.LOOK)
        else:
            now = self._wait(self._hub, self._rank, client.clock, Awaited.DATAGRAM)
        if now < 0:
            now = self._wait_on(now, why)
        client.clock = now
        if client.watchful:
            client.count_from_now()
        return self._collected()

    def receive(
        self, source: int, match: bytes, head: int, address: int, room: int, why: Callable[[], Wait]
    ) -> list[tuple[int, bytes]]:
        """As `collect` with a reason. But if the first datagram is from `source` (any: -1), begins
        with `match`, and has at most `room` bytes after its `head` bytes, these are copied to
        `address`, and `delivery` describes that datagram, which is not in the list."""
        client = self._client
        if client.watchful:
            client.check()
        delivery = self.delivery
        now = self._receive(
            self._hub, self._rank, client.clock, source, match, len(match), head, address, room, delivery
        )
        if now < 0:
            now = self._wait_on(now, why())
        client.clock = now
        if client.watchful:
            client.count_from_now()
        return [] if delivery.taken and not delivery.more else self._collected()

    def take_turn(self, why: Wait) -> None:
        """Wait until all other ranks wait, and none would resume before this one. What this rank
        then asks of the simulator comes in the order of simulated time."""
        client = self._client
        if client.watchful:
            client.check()
        now = self._wait(self._hub, self._rank, client.clock, Awaited.TURN)
        client.clock = now if now >= 0 else self._wait_on(now, why)
        if client.watchful:
            client.count_from_now()

    def head(self, size: int) -> bytes:
        """The first `size` bytes of the datagram that `delivery` describes."""
        found: bytes = self._unpack(self.delivery.head, size)
        return found

    def _collected(self) -> list[tuple[int, bytes]]:
        """All datagrams that have arrived."""
        return _taken(self._ffi, self._lib, self._hub, self._rank)

    def await_end(self) -> None:
        """Wait until no other rank can run: those that wait have then been stopped. Give up after
        `ABORT_TIMEOUT` if a rank goes on computing."""
        give_up = time.monotonic() + ABORT_TIMEOUT
        answer = self._lib.hub_wait(self._hub, self._rank, self._client.clock, Awaited.END)
        while answer == Answer.AGAIN and time.monotonic() < give_up:
            answer = self._lib.hub_wait_on(self._hub, self._rank)

    def close(self) -> None:
        self._lib.hub_leave(self._hub, self._rank)
        self._client.finalize()

    def _wait_on(self, now: int, why: Wait | None) -> int:
        """Continue a wait and publish its reason; if the run is over, report that to the simulator,
        which ends this process."""
        if now >= 0:
            return now
        record = pack_wait(located(why or Wait("a look for messages")))
        while now == Answer.AGAIN:
            self._lib.hub_set_reason(self._hub, self._rank, record, len(record))
            now = self._lib.hub_wait_on(self._hub, self._rank)
        if now < 0:
            wake = _look(self._ffi, self._lib, self._hub, self._rank).wake
            self._client.call(Op.STOPPED, STOPPED.pack(Stopped(wake), record))
        return now


def _taken(ffi: Any, lib: Any, hub: Any, rank: int) -> list[tuple[int, bytes]]:
    take, unpack = lib.hub_take, ffi.unpack
    datagrams = []
    datagram = take(hub, rank, ffi.NULL)
    while datagram:
        datagrams.append((datagram.source, unpack(datagram.bytes, datagram.size)))
        datagram = take(hub, rank, datagram)
    return datagrams


def _look(ffi: Any, lib: Any, hub: Any, rank: int) -> RankState:
    rank_state = ffi.new("rank_state *")
    lib.hub_state(hub, rank, rank_state)
    return RankState(
        rank_state.state, rank_state.clock, rank_state.wake, ffi.unpack(rank_state.why, rank_state.why_size)
    )
