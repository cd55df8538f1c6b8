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
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from lanai_host.simulator.protocol import Op
from lanai_host.simulator.requests import WATCHED_WORD

from ..engines.base import NEVER, Calls
from ..engines.words import Continuation, Polls, Words
from ..kernel.cluster import Cluster
from ..kernel.kernel import FOREVER, Suspension
from .native_module import address, module, pointer
from .rank import Rank, why_of
from .ranks import Came, Ranks
from .request import SHORTEST, Packer, Request, frames_of

if TYPE_CHECKING:
    from .nic_service import RankAccess


# One rank as C code serves it (`served_rank.c`): what it knows of the rank, and the rank's last request.


ROOM, MOST_ROOM = 1 << 12, 1 << 18  # bytes of a request, at first and at most


class ServedRank:
    """A rank. `suspension`: its task's wait for a request, while the engine has the wait that the request began."""

    __slots__ = ("access", "memory", "packer", "rank", "struct", "suspension", "table")

    def __init__(self, rank: Rank, access: "RankAccess") -> None:
        self.rank = rank
        self.access = access
        self.suspension: Suspension[list[Request]] | None = None
        self.packer: Packer | None = None  # the struct has the addresses of these
        self.table: Any = None
        self.struct: Any = module().ffi.new("LoopRank *")
        self.struct.sock = rank.sock.fileno()
        self.struct.number = rank.number
        self.struct.nic = access.node.number
        self.struct.spin = pointer("Spin *", rank.spin)
        self.make_room(ROOM)

    def make_room(self, room: int) -> None:
        """Take requests of so many bytes."""
        new, struct = module().ffi.new, self.struct
        words, bursts = new("Word[]", room // WATCHED_WORD.size), new("Burst[]", room // SHORTEST)
        came, data = new("char[]", room), new("char[]", room)
        self.memory = words, bursts, came, data
        struct.words, struct.bursts, struct.came, struct.data, struct.room = words, bursts, came, data, room

    def renew(self) -> None:
        """Tell the struct what Python knows. The rank runs."""
        rank, access, struct = self.rank, self.access, self.struct
        struct.clock, struct.pio, struct.waited = rank.clock, rank.pio, rank.waited
        struct.expired = access.timeout.expired
        if struct.got == struct.room < MOST_ROOM:
            self.make_room(4 * struct.room)
        if self.packer is not access.packer:
            self.packer = access.packer
            struct.reach = pointer("Reach *", access.packer.reach)
        table, count = access.words_in.table
        if self.table is not table:
            self.table = table
            struct.buffers, struct.buffer_count = pointer("Buffer *", table), count

    def learn(self) -> None:
        """Take over what the struct tells."""
        rank, struct = self.rank, self.struct
        rank.clock, rank.pio, rank.waited = struct.clock, struct.pio, struct.waited
        self.access.timeout.expired = bool(struct.expired)

    @property
    def request(self) -> bytes:
        """The frames of the request that the rank waits for."""
        return bytes(module().ffi.buffer(self.struct.came, self.struct.got))

    @property
    def came(self) -> bytes | None:
        """The bytes that have come from the rank: none if it has gone, None if nothing came for a while."""
        got = self.struct.got
        if got in (-errno.EAGAIN, -errno.EINTR):
            return None
        if got < 0 and got != -errno.ECONNRESET:
            raise OSError(-got, os.strerror(-got))
        return self.request if got > 0 else b""

    def continuation(self) -> Continuation:
        """Return what the engine goes on with after the rank's writes."""
        struct, place = self.struct, module().ffi.addressof
        count = struct.poll.count + struct.poll.decisive
        words = Words.at(address(struct.poll.words), count, (self.access.words_in.memory, self.memory))
        polls = Polls.at(address(place(struct, "poll")), words)
        return Continuation.at(address(place(struct, "continuation")), struct.nic, polls, struct.timeout)


class Timed(Protocol):
    """An engine that hears of the CPU time that it takes (`Calls.mark`)."""

    def timed(self, seconds: float, system: float, entries: int, marked: bool) -> int:
        """So many entries of the engine took so much CPU time, of which `system` was the kernel's work. Return the
        next `Calls.mark`; `marked`: the last one was reached before the engine ran last."""


class NativeLoop:
    """Serves ranks in C. It is the cluster's `OtherWaits`.

    Args:
        calls: those of the cluster's engine.
    """

    used: ClassVar[bool] = True

    def __init__(self, ranks: Ranks, cluster: Cluster, calls: Calls) -> None:
        self._ranks, self._cluster, self._lib = ranks, cluster, module().lib
        self._served: dict[int, ServedRank] = {}
        self._loop: Any = module().ffi.new("Loop *")
        self._loop.engine = pointer("void *", calls.engine)
        self._loop.khz = cluster.engine.time.khz
        self._loop.mark = pointer("double *", calls.mark)
        self._lib.loop_calls(self._loop, calls.run, calls.events, calls.slot, calls.bursts, calls.quiet_until)
        self._room = 0
        cluster.other_waits = self

    def attach(self, rank: Rank, access: "RankAccess") -> None:
        """Serve a rank from now on."""
        self._served[rank.number] = ServedRank(rank, access)
        if len(self._served) > self._room:
            self._make_room(2 * len(self._served))

    def _make_room(self, room: int) -> None:
        loop = self._loop
        self._lists = runs, waits, changes = [module().ffi.new("LoopRank *[]", room) for _ in range(3)]
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
            loop.runs[i] = served.struct
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
            struct = loop.changes[i]
            struct.changed = 0
            served = self._served[struct.number]
            served.learn()
            if struct.tag and served.suspension is None:
                served.suspension = self._ranks.begin_wait(served.rank)
            elif not struct.tag and served.suspension is not None:
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
            spent = loop.engine_seconds, loop.system, loop.entries, bool(loop.marked)
            loop.mark = pointer("double *", cast(Timed, self._cluster.engine).timed(*spent))
            loop.engine_seconds, loop.system, loop.entries, loop.marked = 0.0, 0.0, 0, 0

    def end(self, tag: int) -> None:
        self._loop.processor = self._ranks.processor
        if self._lib.loop_end(self._loop, tag):
            self._learn_changes()
            self._cluster.kernel.now = self._loop.now

    def take_back(self) -> bool:
        loop = self._loop
        waiting = [self._served[loop.waits[i].number] for i in range(loop.waiting)]
        for served in waiting:
            tag, continuation = served.struct.tag, served.continuation()
            self._lib.loop_leave(loop, served.struct)
            loop.changed = served.struct.changed = 0
            if served.struct.op != Op.CATCH_UP:
                served.access.begun = self._cluster.adopt(tag, continuation), continuation
            elif served.struct.count:
                served.access.begun = self._cluster.adopt(tag, continuation), None
            suspension, served.suspension = served.suspension, None
            requests = served.rank.take(served.request)
            assert suspension is not None
            assert requests is not None
            served.rank.request = requests[-1]
            suspension.resume(requests)
        return bool(waiting)

    def look(self, rank: Rank) -> tuple[bool, bytes] | None:
        """Return whether a rank runs code, and the record of its wait; None if Python knows that."""
        served = self._served.get(rank.number)
        if served is None or served.rank is not rank:
            return None
        while tag := served.struct.tag:
            request = served.request
            if served.struct.tag == tag:  # else another thread has served the rank meanwhile
                return False, why_of(frames_of(request)[-1])
        return (True, b"") if served.suspension is not None else None
