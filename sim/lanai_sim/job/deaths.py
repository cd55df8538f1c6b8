"""Ranks whose processes end before their time: killed on purpose, restarted, survived by the
others, or the end of the run."""

import os
import signal
from collections.abc import Sequence

from lanai_host.errors import UserError

from ..kernel.kernel import Kernel
from ..units import counted, format_time
from .data import JobData
from .output import Output
from .processes import Process, exit_code
from .rank import Rank
from .ranks import Ranks
from .restart.keeper import Keeper
from .restart.plan import Kill, Line
from .waiting import ranks_text
from .world import World

MOST_DEATHS = 20  # that the result tells one by one


class RankFailed(Exception):
    """A rank's process ended in a way that leaves the others without hope."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Deaths:
    """`pairs`: each process with its rank, in the order of ranks; `keepers`: of ranks that can be
    restarted; `restarts`: what became of ranks that were killed."""

    def __init__(self, config: JobData, kernel: Kernel, world: World, output: Output) -> None:
        self.config = config
        self.kernel = kernel
        self.world = world
        self.output = output
        self.pairs: list[tuple[Process, Rank]] = []
        self.ranks: Ranks | None = None
        self.line = Line() if config.checkpoint is not None else None
        self.keepers: dict[int, Keeper] = {}
        self.restarts: list[str] = []
        self.killed: set[Kill] = set()
        self.unfinished: list[Process] = []  # that ended with code 0, and without MPI_Finalize

    def begin(self, ranks: Ranks, pairs: list[tuple[Process, Rank]]) -> None:
        """The ranks are there. Where there are NICs the scheduler's time is that of all ranks; else
        the relay knows a rank's."""
        self.ranks, self.pairs = ranks, pairs
        started = self.world.started
        for kill in self.config.kills:
            if kill.at < started:
                raise UserError(f"fault '{kill}': the ranks begin at {format_time(started)}")
            if self.world.relay is None:
                self.kernel.at(kill.at, kill.rank, lambda one: self._kill(one.rank, one.at), kill)
        if self.world.relay is not None:
            self.world.relay.kill = self._kill

    def keep(self, process: Process, rank: Rank) -> None:
        """The rank can be restarted when its process is killed, if that is asked for."""
        plan, world = self.config.checkpoint, self.world
        if plan is not None and self.line is not None and self.ranks is not None:
            due = plan.first(world.started, rank.number, self.config.ranks)
            memory, costs = world.restartable_access(rank.number), self.config.machine.host
            keeper = self.keepers[rank.number] = Keeper(
                self.line, plan, self.kernel, self.ranks, rank, process, self.output, memory, costs, due, self.restarts
            )
            memory.revive = keeper.revive

    def _kill(self, number: int, time_: int) -> None:
        """Kill a rank's process, all others of which wait."""
        process, rank = self.pairs[number]
        if rank.finalized or process.popen.poll() is not None:
            return
        self.killed.add(Kill(number, time_))
        os.kill(process.popen.pid, signal.SIGKILL)
        process.popen.wait()
        self.died(process, rank, time_)

    def died(self, process: Process, rank: Rank, time_: int) -> None:
        """The rank's process has ended before its time: it is restarted, or lost, or that ends the
        run by `RankFailed`."""
        assert self.ranks is not None
        keeper = self.keepers.get(rank.number)
        if keeper is not None and keeper.can_restart:
            keeper.restart(time_)
            return
        rank.clock = time_
        self._ended(process, rank)
        self.world.left(rank.number)
        self.ranks.leave(rank)

    def _ended(self, process: Process, rank: Rank) -> None:
        code = process.popen.returncode
        if code and self.config.survive and rank.connected and not rank.finalized:
            self.world.report_lost(rank.number, process.describe_exit())  # its exit code is the job's in the end
        elif code:
            raise failed(process, rank)
        elif rank.connected and not rank.finalized:
            rank.clock = self.world.look(rank)[0]
            self.unfinished.append(process)

    def not_finalized(self) -> str:
        """Return the report of a rank that has ended without MPI_Finalize while other ranks wait for it; empty if there
        is none.
        """
        if not self.unfinished:
            return ""
        first, self.unfinished = self.unfinished[0], []
        return f"{first.describe_exit()} without MPI_Finalize; the other ranks cannot go on without it"

    def restarted(self, process: Process) -> bool:
        """The rank's process was killed after it had left the simulation, and is restarted."""
        keeper = self.keepers.get(process.rank)
        if keeper is None or not keeper.can_restart:
            return False
        keeper.restart(keeper.rank.clock)
        return True

    def notes(self) -> list[str]:
        """Ranks that did not finalize; what became of those that were killed, what it took to be able
        to restart them, and kills that did not happen."""
        return [*self._unfinished(), *self._restarts(), *self._too_late()]

    def _unfinished(self) -> list[str]:
        return unfinished_note([process.rank for process in self.unfinished])

    def _restarts(self) -> list[str]:
        if not self.keepers:
            return []
        snapshots = sum(keeper.snapshots for keeper in self.keepers.values())
        logged = sum(keeper.logged for keeper in self.keepers.values())
        more = len(self.restarts) - MOST_DEATHS
        cut = [counted(more, "more restart")] if more > 0 else []
        return [
            *self.restarts[:MOST_DEATHS],
            *cut,
            f"{counted(snapshots, 'snapshot')} of ranks, {counted(logged, 'byte')} logged",
        ]

    def _too_late(self) -> list[str]:
        clocks = {rank.number: format_time(rank.clock) for _, rank in self.pairs}
        left = [kill for kill in self.config.kills if clocks and kill not in self.killed]
        return [f"fault '{kill}' did not happen: the rank ended at {clocks[kill.rank]}" for kill in left]

    def close(self) -> None:
        for keeper in self.keepers.values():
            keeper.close()
        if self.line is not None:
            self.line.close()


def unfinished_note(ranks: Sequence[int]) -> list[str]:
    """Return a line on ranks that ended without MPI_Finalize, if there are any."""
    if not ranks:
        return []
    return [f"warning: {ranks_text(sorted(ranks))} ended without MPI_Finalize; MPI demands that each rank calls it"]


def failed(process: Process, rank: Rank) -> RankFailed:
    """Return the error by which a rank's exit code ends the run."""
    how = f" at {rank.crash}" if rank.crash else f", by {rank.leaves}" if rank.leaves else ""
    return RankFailed(exit_code(process.popen.returncode), f"{process.describe_exit()}{how}")
