"""Keeps one rank restartable: takes its snapshots, logs what it is told, and makes it anew when its
process has been killed. No rank asks another (CC-26)."""

import contextlib
import signal
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from lanai_host.config import HostCost, HostCosts
from lanai_host.simulator.protocol import HEADER, Op, Status
from lanai_host.simulator.requests import HELLO, SNAPSHOT, Snapshot

from ...kernel.kernel import Kernel
from ...units import format_time
from ..output import Output
from ..processes import Process
from ..rank import Rank
from ..rank_service import NicAccess, Service
from ..ranks import Ranks
from ..request import Request
from ..system_calls import end_sessions
from .log import Log, Step, Write, difference
from .plan import Adopted, Checkpoint, Line, SnapshotProcess, has_ended, unfit

# A rank that asks this waits until the rest of the world has come to its time, so that a snapshot, for which it must
# wait so too, changes no time. HELLO has its snapshot by itself.
WAITING = frozenset({Op.CATCH_UP, Op.PIO_READ, Op.WAIT_ANY, Op.LOOK_AND_WAIT, Op.WORK, Op.SYNC, Op.COLLECT})
MOST_IN_VAIN = 20  # restarts in a row that bring the rank no further than the one before


class NoSnapshot(Exception):
    """The rank cannot be kept restartable, or cannot be restarted; the text says why."""


class Memory(Protocol):
    """A rank's memory as its NIC sees it."""

    def kept(self) -> object:
        """Return the state of this moment that `restore` needs."""

    def lost(self) -> None:
        """The rank's process has ended, and the rank is to be restarted."""

    def restore(self, kept: object, pid: int) -> None:
        """The rank is this process, and is where it was when `kept` was taken."""

    def apply(self, writes: Sequence[Write]) -> None:
        """Write again what NICs wrote."""

    def repeated(self, request: Request) -> None:
        """The restarted rank has asked for this again."""

    def restored(self) -> None:
        """It is where its process was killed."""


class Keeper:
    """`log` is None until the first snapshot, taken when the rank connects. `ready` is the time at
    which a restarted rank has done its work again: no answer comes to it before."""

    def __init__(
        self, line: Line, checkpoint: Checkpoint, kernel: Kernel, ranks: Ranks, rank: Rank, process: Process,
        output: Output, memory: Memory, costs: HostCosts, due: int, deaths: list[str],
    ) -> None:  # fmt: skip
        self._line, self._checkpoint, self._kernel, self._ranks = line, checkpoint, kernel, ranks
        self._process, self._output, self._memory, self._costs = process, output, memory, costs
        self._deaths = deaths
        self.rank = rank
        self.due = due
        self.log: Log | None = None
        self.ready = 0
        self.restarts = 0
        self.snapshots = 0
        self.logged = 0  # bytes in all
        self.writes: Sequence[Write] = ()  # what NICs wrote before the next answer
        self._snapshot: SnapshotProcess | None = None
        self._asked = 0  # snapshots, whether they came about or not
        self._marks: list[int] = []
        self._kept: object = None
        self._in_vain = (0, 0)  # steps of the log at the last restart, and how often it was so
        rank.log = self

    # What the rank is told and asks

    def answered(self, frame: bytes) -> None:
        if self.log is not None:
            self.log.steps.append(Step(frame, self.writes))
            self.writes = ()

    def asked(self, requests: list[Request]) -> None:
        if self.log is not None and self.log.steps:
            self.log.steps[-1].requests = requests

    # Snapshots

    def is_due(self, request: Request) -> bool:
        """Is a snapshot to be taken before this is served?"""
        if self.log is None:
            return request.op == Op.HELLO
        return self.rank.clock >= self.due and request.op in WAITING

    def take(self, request: Request) -> None:
        """The rank waits in this request, and none of it has been done."""
        rank = self.rank
        if self.log is None:  # the program's own start costs nothing extra
            rank.pid = HELLO.split(request.payload)[0].pid
            if rank.pid != self._process.popen.pid:
                raise NoSnapshot(
                    f"rank {rank.number} cannot be snapshotted: it is process {rank.pid}, below process "
                    f"{self._process.popen.pid} that was started; name the program itself, not a script that starts it"
                )
            self._take()
            return
        self._take()
        rank.clock += self._costs.price(HostCost.SNAPSHOT)
        while self.due <= rank.clock:
            self.due += self._checkpoint.every

    def _take(self) -> None:
        rank = self.rank
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it was killed just now
            if reason := unfit(rank.pid):
                raise NoSnapshot(f"rank {rank.number} cannot be snapshotted: {reason}")
        marks = self._output.marks(rank.number)
        self._asked += 1
        payload = SNAPSHOT.pack(Snapshot(self._asked), self._line.name)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # killed: told below
            rank.sock.sendall(HEADER.pack(len(payload), Status.SNAPSHOT, 0, rank.clock) + payload)
        made = self._line.accept(rank.number, self._asked, False, self._refused)
        if made is None:
            return  # it was killed just now, and is made from the snapshot before
        if self._snapshot is not None:
            self._snapshot.close()
        self._snapshot = SnapshotProcess(self._line, rank.number, self._asked, made)
        self._marks = marks
        self._kept = self._memory.kept()
        self.log = Log(rank.clock)
        self.snapshots += 1

    def _refused(self) -> bool:
        """Has the process ended? Raises NoSnapshot if it could not be copied."""
        self.rank.read()
        for reply in self.rank.taken_replies():
            text = reply.payload.decode(errors="replace")
            raise NoSnapshot(f"rank {self.rank.number} cannot be snapshotted: it cannot be copied: {text}")
        return self._process.popen.poll() is not None

    # Restarts

    @property
    def can_restart(self) -> bool:
        """Was the rank's process killed, and is there a snapshot? What ends in another way does so
        by its own doing, and would again."""
        return self._snapshot is not None and self._process.popen.returncode == -signal.SIGKILL

    def revive(self) -> bool:
        """The rank's process may have been killed: if so, make the rank anew."""
        process = self._process.popen
        if process.poll() is None and has_ended(process.pid):
            process.wait()
        if not self.can_restart:
            return False
        self.restart(self.rank.clock)
        return True

    def restart(self, now: int) -> None:
        """Make the rank anew. Its process was killed at about `now` and has been waited for."""
        log = self.log
        assert log is not None
        self._count(len(log.steps))
        self._memory.lost()
        while not self._attempt():
            pass
        self.restarts += 1
        self.rank.restarts += 1
        self.ready = now + self._costs.price(HostCost.RESTART) + log.work
        if self.rank.running:
            self.rank.clock = max(self.rank.clock, self.ready)
        self._deaths.append(
            f"rank {self.rank.number} was killed at {format_time(now)} and restarted from its snapshot of "
            f"{format_time(log.taken)}"
        )

    def _count(self, steps: int) -> None:
        last, times = self._in_vain
        self._in_vain = (steps, times + 1 if steps == last else 1)
        if self._in_vain[1] > MOST_IN_VAIN:
            raise NoSnapshot(
                f"rank {self.rank.number} was killed {self._in_vain[1]} times at the same point of its program; "
                "something kills it whenever it comes there"
            )

    def _attempt(self) -> bool:
        """False if the new process was killed before it had come as far."""
        rank, process, log = self.rank, self._process, self.log
        assert self._snapshot is not None
        assert log is not None
        end_sessions({process.popen.pid})  # what it had started
        made = self._snapshot.make()
        if made is None:
            raise NoSnapshot(f"rank {rank.number} was killed, and its snapshot too")
        process.sock.close()
        process.popen, process.sock = Adopted(made.pid), made.sock
        self._ranks.reconnect(rank, made.sock, made.pid)
        self._memory.restore(self._kept, made.pid)
        self._output.rewind(rank.number, self._marks)
        for step in log.steps:
            if not self._repeat(step):
                return False
        self._memory.restored()
        return True

    def _repeat(self, step: Step) -> bool:
        self._memory.apply(step.writes)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.rank.sock.sendall(step.frame)
        if step.requests is None:
            return True  # the last step: the rank runs
        requests = self._next()
        if requests is None:
            return False
        if what := difference(step.requests, requests):
            raise NoSnapshot(
                f"rank {self.rank.number} was killed and does not repeat what it did before: {what}; its program "
                "depends on more than its messages, such as the time of day, its process number or a file that it "
                "has changed since"
            )
        self._memory.repeated(requests[-1])
        return True

    def _next(self) -> list[Request] | None:
        """Return the rank's next requests; None if its process has ended."""
        while True:
            requests = self.rank.read(0)
            if requests is not None:
                return requests
            self._kernel.check()
            if self._process.popen.poll() is not None:
                if self._process.popen.returncode == -signal.SIGKILL:
                    return None
                raise NoSnapshot(
                    f"rank {self.rank.number} was killed and does not repeat what it did before: "
                    f"{self._process.describe_exit()}"
                )

    def close(self) -> None:
        if self._snapshot is not None:
            self._snapshot.close()
            self._snapshot = None


# A rank's task where the rank is kept restartable.


class RestartableAccess(NicAccess, Memory, Protocol):
    """A rank's NIC, or what it has instead. `revive` is the keeper's."""

    revive: Callable[[], bool]

    def arrived(self) -> bool:
        """The rank has begun to wait. False if not all of its memory that its NIC may reach could be
        read: its process has ended, or the program has unmapped some."""

    async def come_to(self, clock: int) -> None:
        """Wait until the rest of the world has come to this time of the rank's, if it has a time of its own."""

    def delivered(self) -> tuple[Sequence[Write], int]:
        """The rank is about to be answered: what NICs have written into its memory since, and how
        many bytes others have sent it, which the log keeps."""


class RestartableService(Service):
    """Before a request is served the rank may have to take a snapshot; what it is told is logged,
    which its host pays for by the byte that others send it."""

    in_one = False

    def __init__(self, keeper: Keeper, kept: RestartableAccess, costs: HostCosts, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.keeper = keeper
        self.kept = kept
        self.costs = costs

    def _arrived(self) -> None:
        while not self.kept.arrived() and self.keeper.revive():
            pass

    async def _begin(self, request: Request) -> None:
        if self.keeper.is_due(request):
            await self.kept.come_to(self.rank.clock)
            self.keeper.take(request)

    def _answer(self, payload: bytes, status: Status = Status.OK) -> None:
        keeper, rank = self.keeper, self.rank
        keeper.writes, size = self.kept.delivered()
        keeper.logged += size
        rank.clock = max(rank.clock + self.costs.price(HostCost.LOG_BYTE, size), keeper.ready)
        super()._answer(payload, status)
