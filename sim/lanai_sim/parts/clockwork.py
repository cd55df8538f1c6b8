"""Simulated time in several parts of a machine: each has the tasks of its own nodes, and all let their engines run up
to the earliest moment of any of them."""

from collections.abc import Sequence
from typing import cast

from ..engines.base import NEVER, Event, EventKind
from ..engines.cut import Turn
from ..engines.rtl import RtlEngine
from ..kernel.cluster import Cluster
from ..kernel.kernel import FOREVER, Deadlock, Kernel, TimeLimit
from .mpi_part import MpiPart


class PartKernel(Kernel):
    """The scheduler of a part. It ends when all parts' tasks are done, or all parts are deadlocked or at the limit
    of time; what ends one part alone ends the others by `Ended`.

    Attributes:
        runs: simulated time goes on, or other parts are waited for.
    """

    def __init__(self, part: MpiPart) -> None:
        super().__init__()
        self.part = part
        self.runs = False
        part.links.check = self.check

    @property
    def cluster(self) -> "PartCluster":
        return cast(PartCluster, self.clockwork)

    def run(self) -> None:
        self.runs = True
        try:
            ending = self._together()
            self.cluster.here.tell_progress()
        except BaseException:
            self.part.leave()
            self.cluster.here.leave_parts()
            raise
        finally:
            self.runs = False
        if ending is not None:
            raise ending

    def _together(self) -> Deadlock | TimeLimit | None:
        """Run to the end. Return what ends all parts at once, unless all have done their tasks."""
        try:
            super().run()
            while not self.cluster.follow():
                self.check()
        except (Deadlock, TimeLimit) as ending:
            return ending
        return None

    def turn(self, slot: int) -> Turn:
        """Return what this part wants, whose next moment is in that slot."""
        pending = bool(self._moments) or self._timeout_pending()
        aside = self.outside is not None and bool(self.outside.aside)
        return Turn(slot, False, pending, aside, self.next_time() > self.limit)


class PartCluster(Cluster):
    """The nodes of a machine of which this process has a part."""

    takes_continuations = False  # parts meet at the end of each run of the engine
    kernel: PartKernel

    @property
    def here(self) -> RtlEngine:
        """The engine of the units that are simulated here."""
        return cast(RtlEngine, self.engine)

    def follow(self) -> bool:
        """Let the engine run as the others want, with no task left here. Return True if none is left anywhere."""
        all_want, stopped = self._run(Turn(done=True, over=True))
        if all_want.done:
            return True
        if stopped:
            return False
        if self.still and not all_want.pending:
            if not all_want.aside:
                raise Deadlock
        elif all_want.over:
            self.kernel.now = self.kernel.limit
            raise TimeLimit
        return False

    def advance(self, limit: int) -> bool:
        slot = self._slot(limit)
        mine = self.kernel.turn(slot)
        if slot <= self.reached and not mine.over:
            return False
        all_want, stopped = self._run(mine)
        if stopped:
            return True
        if self.still and not all_want.pending:  # nothing comes by itself, but perhaps from outside
            self.still = mine.aside or not all_want.aside
            return not self.still
        self.still = False
        return not all_want.over if mine.over else slot != all_want.limit

    def _slot(self, time: int) -> int:
        return NEVER if time == FOREVER else self.engine.time.slot(time)

    def _run(self, mine: Turn) -> tuple[Turn, bool]:
        """Let the engine run. Return what all parts want, and whether it stopped before that limit, in some part."""
        all_want, self.still, events = self.here.run_turn(mine)
        if self.engine.cut_short:
            return all_want, True
        if not (events or self.still or all_want.done):
            self.reached = all_want.limit
        self._resume(events)
        return all_want, bool(events)

    def _resume(self, events: Sequence[Event]) -> None:
        """Let the tasks go on that wait for these events of units here."""
        here = self.here.part
        assert here is not None
        for event in sorted(event for event in events if event.unit in here.units):
            if event.kind != EventKind.IRQ:
                suspension = self._expected.pop(event.tag, None)
                if suspension is not None:
                    self.kernel.now = self.engine.time.picoseconds(event.slot)
                    suspension.resume((self.kernel.now, event.value))
