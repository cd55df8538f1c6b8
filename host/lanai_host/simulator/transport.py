"""Transport between ranks without a NIC: datagrams in shared memory. `hub.c` states when they arrive
and which ranks are released."""

import errno
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, partial
from pathlib import Path
from typing import Any

from .. import process_memory
from ..c_module import enums, load
from ..errors import UserError
from ..operation import Wait
from .protocol import FOREVER
from .spin import processors

DECLARED = """
typedef struct { uint64_t size; uint32_t source; int64_t arrival; char bytes[]; ...; } datagram;
typedef struct { uint32_t state; int64_t clock, wake; uint32_t why_size; char why[...]; ...; } rank_state;
typedef struct { uint64_t size; uint32_t source; int32_t taken, more; char head[...]; } delivery;
typedef struct { ...; } queue;
typedef ... hub;
hub *hub_open(int file, uint64_t size, uint32_t ranks, uint32_t started, uint32_t processors, int64_t latency,
              int64_t byte_time, int64_t limit);
void hub_set_path(hub *, const char *path);
void hub_close(hub *);
int hub_post(hub *, uint32_t from, uint32_t to, int64_t clock, int64_t quiet, const char *head, uint32_t head_size,
             uintptr_t body, uint64_t body_size, uint64_t charged);
void hub_last_posted(const hub *, int64_t *begin, int64_t *arrival);
int hub_write(hub *, uint32_t from, uint32_t to, int64_t clock, const char *head, uint32_t head_size, uintptr_t body,
              uint64_t body_size, int64_t *settled);
uint64_t hub_allocate(hub *, uint64_t size);
uintptr_t hub_address(const hub *, uint64_t place);
void hub_free(hub *, uint64_t place);
int64_t hub_wait(hub *, uint32_t rank, int64_t clock, uint32_t what);
int64_t hub_wait_on(hub *, uint32_t rank);
void hub_begin_wait(hub *, uint32_t rank, int64_t clock, uint32_t what, int64_t limit);
int64_t hub_look_at_wait(hub *, uint32_t rank);
hub *hub_share(const hub *);
void hub_unshare(hub *);
int64_t hub_receive(hub *, uint32_t rank, int64_t clock, int64_t from, const char *match, uint32_t match_size,
                    uint32_t head_size, uintptr_t to, uint64_t room, delivery *result);
datagram *hub_take(hub *, uint32_t rank, datagram *done);
void hub_give_back(hub *, datagram *done);
void hub_join(hub *, uint32_t rank, int64_t clock);
void hub_leave(hub *, uint32_t rank);
void hub_stop(hub *, rank_state *copies);
int hub_pass(hub *, const uint32_t *outside, uint32_t count);
void hub_set_aside(hub *, uint32_t rank);
void hub_take_back(hub *, uint32_t rank);
int hub_begin_looks(hub *, uint32_t rank, int64_t clock, int64_t step, int64_t most);
uint32_t hub_missed(hub *);
void hub_state(hub *, uint32_t rank, rank_state *copy);
void hub_set_reason(hub *, uint32_t rank, const char *why, uint32_t size);
"""


class State(IntEnum):
    """The state of a rank."""

    RUNS = 0
    WAITS = 1
    STOPPED = 2
    LEFT = 3


class Awaited(IntEnum):
    """The event that a rank waits for: a datagram, its own time, the last of some looks that finds nothing, the end of
    the run, its turn."""

    DATAGRAM = 0
    LOOK = 1
    LOOKS = 2
    END = 3
    TURN = 4


class Answer(IntEnum):
    """Answers of `hub_wait_on` that are not a time: not yet, and never."""

    AGAIN = -1
    STOP = -2


HEADER = enums(State, Awaited, Answer)
# The C files of the transport, each by package and name, in the order in which they are compiled.
PARTS = (
    process_memory.GUARD_SOURCE,
    *((__package__, name) for name in ("real_clock", "hub", "landing", "releasing", "waiting", "transport")),
)
UNREADABLE = -1  # answer of hub_post and hub_write: the body cannot be read
LARGEST, SMALLEST = 1 << 38, 1 << 28  # bytes of the shared file; only what datagrams use takes memory
LOOK_TIME = 10_000  # picoseconds that a look takes, so that time passes for a free host that only looks

LARGE = 1 << 20  # bytes of a datagram that is not copied more often than it must be

Datagram = bytes | memoryview
WaitSink = Callable[[Wait | None, int], None]  # why a rank collected datagrams (None: a look), its clock before
PostSink = Callable[[int, int], None]  # when a datagram began to leave, when it arrives


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
    *before, (package, name) = PARTS
    return load(package, name, DECLARED, *before, header=HEADER)


class ServedRank:
    """A rank's part of the hub in the simulator's process (`relay`). Nothing here blocks."""

    def __init__(self, ffi: Any, lib: Any, hub: Any, rank: int) -> None:
        self._ffi, self._lib, self._rank = ffi, lib, rank
        self._hub = lib.hub_share(hub)

    def post(self, dest: int, clock: int, datagram: bytes, charged: int) -> None:
        """Send a datagram as `RankTransport.post` does; `charged` bytes take time on the link."""
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

    def take(self) -> list[tuple[int, Datagram]]:
        """(source, datagram) of all that have arrived."""
        return taken_of(self._ffi, self._lib, self._hub, self._rank)

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
        self._file = process_memory.memory_file("lanai-transport")
        self.path = f"/proc/{os.getpid()}/fd/{self._file}"
        self._at_stop: list[RankState] = []  # of all ranks, when the run was stopped
        self._ranks = ranks
        needed = self._check_queues(ranks)
        size = LARGEST
        while True:
            begin = ranks if started is None else started
            if self._has(size):
                self._hub = self._lib.hub_open(self._file, size, ranks, begin, processors(), latency, byte_time, limit)
                if self._hub:
                    return
            size //= 4
            if size < max(SMALLEST, 4 * needed):
                os.close(self._file)
                raise UserError(
                    f"cannot map {4 * size} bytes of shared memory for messages; raise `ulimit -v` or `ulimit -f`"
                )

    def _has(self, size: int) -> bool:
        """Give the memory this size. Return whether the limit on the size of files allows that."""
        try:
            os.ftruncate(self._file, size)
        except OSError as error:
            if error.errno != errno.EFBIG:
                raise
            return False
        return True

    def _check_queues(self, ranks: int) -> int:
        """Bytes of the queues of datagrams, one from each rank to each. Those of writes are as many,
        and take memory once they are used. A UserError if the machine lacks the memory: it would stop
        processes of others too."""
        needed = ranks**2 * int(self._ffi.sizeof("queue"))
        available = memory_available()
        if 2 * needed > min(available, LARGEST):
            os.close(self._file)
            raise UserError(
                f"{ranks} ranks need {needed >> 20} MiB of memory for their queues, one from each rank to each; "
                f"{available >> 20} MiB are available; start fewer ranks"
            )
        return needed

    def look(self, rank: int) -> "RankState":
        """Return the state of a rank."""
        return look_at(self._ffi, self._lib, self._hub, rank)

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

    def set_aside(self, rank: int) -> None:
        """The rank's process sleeps: time passes without it until it is taken back, or calls."""
        self._lib.hub_set_aside(self._hub, rank)

    def take_back(self, rank: int) -> None:
        """The process of a rank that was set aside runs again."""
        self._lib.hub_take_back(self._hub, rank)

    @property
    def missed(self) -> bool:
        """Time has passed without a rank that was set aside."""
        return bool(self._lib.hub_missed(self._hub))

    def serve(self, rank: int) -> "ServedRank":
        """For a rank that asks this process for everything, and never touches the memory itself."""
        return ServedRank(self._ffi, self._lib, self._hub, rank)

    def stop(self) -> None:
        """The run is over: waiting ranks are stopped, and report what they wait for."""
        copies = self._ffi.new("rank_state[]", self._ranks)
        self._lib.hub_stop(self._hub, copies)
        self._at_stop = self._at_stop or [_state(self._ffi, one) for one in copies]

    def at_stop(self, rank: int) -> "RankState | None":
        """Return the state of a rank at the moment of `stop`, the same for all ranks, if that was. Those that ran code
        may have posted and begun to wait since."""
        return self._at_stop[rank] if self._at_stop else None

    def close(self) -> None:
        self._lib.hub_close(self._hub)
        os.close(self._file)


def memory_available() -> int:
    """Bytes that the machine can give without swapping."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return LARGEST


def taken_of(ffi: Any, lib: Any, hub: Any, rank: int) -> list[tuple[int, Datagram]]:
    """Return (source, datagram) of all that has come to the rank. A large one stays in the shared memory
    until nothing refers to it any more."""
    take, unpack, null = lib.hub_take, ffi.unpack, ffi.NULL
    datagrams: list[tuple[int, Datagram]] = []
    datagram = take(hub, rank, null)
    while datagram:
        size = datagram.size
        if size < LARGE:
            datagrams.append((datagram.source, unpack(datagram.bytes, size)))
            datagram = take(hub, rank, datagram)
        else:
            held = ffi.gc(ffi.cast("char *", datagram.bytes), partial(_give_back, lib, hub, datagram))
            datagrams.append((datagram.source, memoryview(ffi.buffer(held, size))))
            datagram = take(hub, rank, null)
    return datagrams


def _give_back(lib: Any, hub: Any, datagram: Any, _: Any) -> None:
    lib.hub_give_back(hub, datagram)


def look_at(ffi: Any, lib: Any, hub: Any, rank: int) -> RankState:
    """Return the state of the rank."""
    rank_state = ffi.new("rank_state *")
    lib.hub_state(hub, rank, rank_state)
    return _state(ffi, rank_state)


def _state(ffi: Any, copy: Any) -> RankState:
    return RankState(copy.state, copy.clock, copy.wake, ffi.unpack(copy.why, copy.why_size))
