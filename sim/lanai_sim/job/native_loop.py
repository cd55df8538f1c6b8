"""The usual turns of a run, in C (`native_loop.c`).

In a turn each rank that runs code writes to its NIC and begins to wait. The engine runs until waits of ranks end, and
these run code. As long as that goes on, C code serves the ranks: it does what `Service`, `RankAccess`, `Kernel` and
`Cluster` do, at the same times and in the same order. Whatever else comes is left to them: another request, a moment,
an event of the engine that is not the end of a wait.

A rank whose wait was begun here has no task that waits for the engine. If Python must know more of the wait, the rank's
task gets its request, and goes on from there (`take_back`).
"""

import errno
import os
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, cast

from lanai_host.c_module import enums, load
from lanai_host.simulator.protocol import CATCH_UP_TIME, Op, Status
from lanai_host.simulator.requests import WATCHED_WORD
from lanai_host.simulator.spin import PARTS as SPIN_PARTS

from ..engines.base import NEVER, Calls, EventKind
from ..engines.declared import EVENT
from ..engines.words import Continuation, Polls, Stage, Words
from ..kernel.cluster import Cluster
from ..kernel.kernel import FOREVER, Suspension
from .rank import Rank, why_of
from .rank_service import QUIET_AT_MOST
from .request import Request, frames_of
from .writes import HEADER_TEXT, SHORTEST, Packer

if TYPE_CHECKING:
    from .nic_service import RankAccess
    from .ranks import Ranks

DECLARED = """
typedef struct { ...; } Spin;
typedef struct { ...; } Reach;
typedef struct { ...; } Buffer;
typedef struct { ...; } Word;
typedef struct { ...; } Burst;
typedef struct { Word *words; uint32_t count, decisive; ...; } Poll;
typedef struct { ...; } Continuation;
enum { TURN, BYTES, STOPS, ... };
typedef struct {
    int sock;
    uint32_t number, nic;
    Spin *spin;
    const Reach *reach;
    const Buffer *buffers;
    uint32_t buffer_count;
    int64_t clock, pio, waited;
    uint32_t expired, tag, changed, op, count;
    long got;
    int64_t timeout;
    Poll poll;
    Continuation continuation;
    uint32_t room;
    char *came, *data;
    Word *words;
    Burst *bursts;
    ...;
} LoopRank;
typedef struct {
    void *engine;
    int64_t next;
    uint64_t khz, limit, reached, bound;
    uint32_t last_tag;
    int processor;
    int64_t now;
    uint32_t running, heard, waiting, changed;
    LoopRank **runs, **waits, **changes;
    uint32_t turns;
    double seconds[...];
    uint32_t released[...];
    int64_t began;
    uint32_t ran, ending;
    const double *mark;
    uint32_t entries;
    double engine_seconds, system;
    ...;
} Loop;
void loop_calls(Loop *l, uintptr_t run, uintptr_t events, uintptr_t slot, uintptr_t bursts,
    uintptr_t quiet_until);
int loop_serve(Loop *l);
int loop_end(Loop *l, uint32_t tag);
void loop_leave(Loop *l, LoopRank *r);
"""
NAMES = {
    "WAIT_ANY": Op.WAIT_ANY,
    "LOOK_AND_WAIT": Op.LOOK_AND_WAIT,
    "CATCH_UP": Op.CATCH_UP,
    "CATCH_UP_TIME": CATCH_UP_TIME,
    "QUIET_AT_MOST": QUIET_AT_MOST,
    "OK": Status.OK,
}
HEADER = (
    "#include <assert.h>\n#include <stddef.h>\n#include <stdint.h>\n"
    f"typedef struct Event Event;\n{EVENT.text}{enums(Stage, EventKind)}{HEADER_TEXT}"
    f"enum {{ {', '.join(f'{name} = {int(value)}' for name, value in NAMES.items())} }};\n"
)
ROOM, MOST_ROOM = 1 << 12, 1 << 18  # bytes of a request, at first and at most
PARTS = (
    *SPIN_PARTS,
    ("lanai_host.simulator", "spin"),
    ("lanai_sim.engines", "words"),
    ("lanai_sim.job", "writes"),
)


@cache
def _native() -> Any:
    return load(__package__, "native_loop", DECLARED, *PARTS, header=HEADER)


class Timed(Protocol):
    """An engine that hears of the CPU time that it takes (`Calls.mark`)."""

    def timed(self, seconds: float, system: float, entries: int) -> int:
        """So many entries of the engine took so much CPU time, of which `system` was the kernel's work. Return the
        next `Calls.mark`."""


class Came(NamedTuple):
    """Bytes that have come from a rank that runs: none if it has gone, None if nothing came for a while."""

    rank: Rank
    data: bytes | None


class _Served:
    """A rank. `suspension`: its task's wait for a request, while the engine has the wait that the request began."""

    __slots__ = ("access", "memory", "native", "packer", "rank", "suspension", "table")

    def __init__(self, rank: Rank, access: "RankAccess") -> None:
        self.rank = rank
        self.access = access
        self.suspension: Suspension[list[Request]] | None = None
        self.packer: Packer | None = None  # the struct has the addresses of these
        self.table: Any = None
        self.native: Any = _native().ffi.new("LoopRank *")
        self.native.sock = rank.sock.fileno()
        self.native.number = rank.number
        self.native.nic = access.node.number
        self.native.spin = _pointer("Spin *", rank.spin)
        self.make_room(ROOM)

    def make_room(self, room: int) -> None:
        """Take requests of so many bytes."""
        new, native = _native().ffi.new, self.native
        words, bursts = new("Word[]", room // WATCHED_WORD.size), new("Burst[]", room // SHORTEST)
        came, data = new("char[]", room), new("char[]", room)
        self.memory = words, bursts, came, data
        native.words, native.bursts, native.came, native.data, native.room = words, bursts, came, data, room

    def renew(self) -> None:
        """Tell the struct what Python knows. The rank runs."""
        rank, access, native = self.rank, self.access, self.native
        native.clock, native.pio, native.waited = rank.clock, rank.pio, rank.waited
        native.expired = access.timeout.expired
        if native.got == native.room < MOST_ROOM:
            self.make_room(4 * native.room)
        if self.packer is not access.packer:
            self.packer = access.packer
            native.reach = _pointer("Reach *", access.packer.reach)
        table, count = access.words_in.table
        if self.table is not table:
            self.table = table
            native.buffers, native.buffer_count = _pointer("Buffer *", table), count

    def learn(self) -> None:
        """Take over what the struct tells."""
        rank, native = self.rank, self.native
        rank.clock, rank.pio, rank.waited = native.clock, native.pio, native.waited
        self.access.timeout.expired = bool(native.expired)

    @property
    def request(self) -> bytes:
        """The frames of the request that the rank waits for."""
        return bytes(_native().ffi.buffer(self.native.came, self.native.got))

    @property
    def came(self) -> bytes | None:
        """The bytes that have come from the rank, as `Came` has them."""
        got = self.native.got
        if got in (-errno.EAGAIN, -errno.EINTR):
            return None
        if got < 0 and got != -errno.ECONNRESET:
            raise OSError(-got, os.strerror(-got))
        return self.request if got > 0 else b""

    def continuation(self) -> Continuation:
        native, node = self.native, self.access.node.number
        count = native.poll.count + native.poll.decisive
        found = Words.at(_address(native.poll.words), count, (self.access.words_in.memory, self.memory))
        polls = Polls.at(_address(_native().ffi.addressof(native, "poll")), found)
        state = _address(_native().ffi.addressof(native, "continuation"))
        return Continuation.at(state, node, polls, native.timeout)


def _address(pointer: Any) -> int:
    return int(_native().ffi.cast("uintptr_t", pointer))


def _pointer(kind: str, pointer: Any) -> Any:
    """Return a pointer of another module as one of this module."""
    return _native().ffi.cast(kind, pointer)


class NativeLoop:
    """Serves ranks in C. It is the cluster's `OtherWaits`.

    Args:
        calls: those of the cluster's engine.
    """

    used: ClassVar[bool] = True

    def __init__(self, ranks: "Ranks", cluster: Cluster, calls: Calls) -> None:
        native = _native()
        self._ranks, self._cluster, self._lib = ranks, cluster, native.lib
        self._served: dict[int, _Served] = {}
        self._loop: Any = native.ffi.new("Loop *")
        self._loop.engine = native.ffi.cast("void *", calls.engine)
        self._loop.khz = cluster.engine.time.khz
        self._loop.mark = native.ffi.cast("double *", calls.mark)
        self._lib.loop_calls(self._loop, calls.run, calls.events, calls.slot, calls.bursts, calls.quiet_until)
        self._room = 0
        cluster.other_waits = self

    def attach(self, rank: Rank, access: "RankAccess") -> None:
        """Serve a rank from now on."""
        self._served[rank.number] = _Served(rank, access)
        if len(self._served) > self._room:
            self._make_room(2 * len(self._served))

    def _make_room(self, room: int) -> None:
        loop = self._loop
        self._lists = runs, waits, changes = [_native().ffi.new("LoopRank *[]", room) for _ in range(3)]
        for i in range(loop.waiting):
            waits[i] = loop.waits[i]
        loop.runs, loop.waits, loop.changes = runs, waits, changes
        self._room = room

    def may_serve(self, ranks: Sequence[Rank]) -> bool:
        """Return whether these ranks, which alone run code, may be served here."""
        cluster = self._cluster
        return (
            self.used
            and cluster.may_go_on
            and cluster.on_event is None
            and not cluster.kernel.alone_next
            and all(rank.number in self._served and rank.at_frame for rank in ranks)
        )

    def serve(self, ranks: Sequence[Rank]) -> list[Came]:
        """Serve these ranks, and those that go on after them. Return what has come from those that run at last; none if
        no rank runs any more: the engine has run, or has come to the next moment before."""
        self._enter(ranks)
        try:
            while (reason := self._lib.loop_serve(self._loop)) == self._lib.TURN:
                self._look_after()
        finally:
            self._leave()
        self._tell_turns()
        loop = self._loop
        if reason == self._lib.STOPS:
            if loop.ran:
                self._cluster.has_run = self._cluster.engine.ended(loop.ending)
            return []
        heard = [self._served[loop.runs[i].number] for i in range(loop.heard)]
        return [Came(served.rank, served.came) for served in heard]

    @property
    def began(self) -> float:
        """The time at which the last turn began, in seconds of `time.monotonic`."""
        return 1e-9 * float(self._loop.began)

    def _enter(self, ranks: Sequence[Rank]) -> None:
        loop, cluster = self._loop, self._cluster
        kernel = cluster.kernel
        for i, rank in enumerate(sorted(ranks, key=lambda rank: rank.number) if len(ranks) > 1 else ranks):
            served = self._served[rank.number]
            served.renew()
            loop.runs[i] = served.native
        loop.running = len(ranks)
        limit = min(kernel.next_time(), kernel.limit)
        loop.next, loop.limit = limit, NEVER if limit == FOREVER else cluster.engine.time.slot(limit)
        loop.reached, loop.bound, loop.last_tag = cluster.reached, cluster.bound, cluster.last_tag
        loop.now = kernel.now
        loop.processor = self._ranks.processor

    def _leave(self) -> None:
        """Let Python know all."""
        loop, cluster = self._loop, self._cluster
        self._learn_changes()
        cluster.bound, cluster.last_tag, cluster.kernel.now = loop.bound, loop.last_tag, loop.now

    def _learn_changes(self) -> None:
        """Ranks that were served have begun to wait or go on."""
        loop = self._loop
        for i in range(loop.changed):
            native = loop.changes[i]
            native.changed = 0
            served = self._served[native.number]
            served.learn()
            if native.tag and served.suspension is None:
                served.suspension = self._ranks.begin_wait(served.rank)
            elif not native.tag and served.suspension is not None:
                suspension, served.suspension = served.suspension, None
                self._ranks.go_on(served.rank, suspension)
        loop.changed = 0

    def _look_after(self) -> None:
        """Do what Python must do at least every few turns."""
        self._tell_turns()
        self._cluster.kernel.now = self._loop.now
        self._cluster.kernel.check()
        self._loop.processor = self._ranks.processor

    def _tell_turns(self) -> None:
        loop = self._loop
        for i in range(loop.turns):
            self._ranks.waited(loop.released[i], loop.seconds[i])
        loop.turns = 0
        if loop.mark:
            mark = cast(Timed, self._cluster.engine).timed(loop.engine_seconds, loop.system, loop.entries)
            loop.mark = _native().ffi.cast("double *", mark)
            loop.engine_seconds, loop.system, loop.entries = 0.0, 0.0, 0

    def end(self, tag: int) -> None:
        self._loop.processor = self._ranks.processor
        if self._lib.loop_end(self._loop, tag):
            self._learn_changes()
            self._cluster.kernel.now = self._loop.now

    def take_back(self) -> None:
        loop = self._loop
        for served in [self._served[loop.waits[i].number] for i in range(loop.waiting)]:
            tag, continuation = served.native.tag, served.continuation()
            self._lib.loop_leave(loop, served.native)
            loop.changed = served.native.changed = 0
            if served.native.op != Op.CATCH_UP:
                served.access.begun = self._cluster.adopt(tag, continuation), continuation
            elif served.native.count:
                served.access.begun = self._cluster.adopt(tag, continuation), None
            suspension, served.suspension = served.suspension, None
            requests = served.rank.take(served.request)
            assert suspension is not None
            assert requests is not None
            served.rank.request = requests[-1]
            suspension.resume(requests)

    def look(self, rank: Rank) -> tuple[bool, bytes] | None:
        """Return whether a rank runs code, and the record of its wait; None if Python knows that."""
        served = self._served.get(rank.number)
        if served is None or served.rank is not rank:
            return None
        while tag := served.native.tag:
            request = served.request
            if served.native.tag == tag:  # else another thread has served the rank meanwhile
                return False, why_of(frames_of(request)[-1])
        return (True, b"") if served.suspension is not None else None
