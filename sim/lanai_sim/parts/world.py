"""The world of one part of a run: NICs, hosts and ranks of its nodes."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, cast

from lanai_firmware.image import Image

from ..engines.base import NEVER, Engine, Event, EventKind, FaultKind, Layout
from ..engines.cut import Turn, parts_of_units
from ..engines.rtl import RtlEngine
from ..job import snapshot
from ..job.data import JobData
from ..job.nic_world import NicWorld
from ..job.world import VALUE
from ..kernel.cluster import Cluster
from ..kernel.kernel import FOREVER, Deadlock, Kernel, TimeLimit
from .mpi_part import MpiPart

# Simulated time in several parts of a machine: each has the tasks of its own nodes, and all let their engines run up
# to the earliest moment of any of them.


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


class PartWorld(NicWorld):
    """The world of a part. A rank sees the same in it whichever part its node is in."""

    cluster_kind: ClassVar[type[Cluster]] = PartCluster
    engine: RtlEngine

    def __init__(self, config: JobData, kernel: Kernel) -> None:
        self.part: MpiPart = cast(PartKernel, kernel).part
        super().__init__(config, kernel)

    def _new_engine(self, layout: Layout) -> Engine:
        parts = parts_of_units(self.part.count, layout.nics, layout.switches, layout.cables)
        self.part.units = frozenset(unit for unit, part in enumerate(parts) if part == self.part.number)
        config = self.config
        return RtlEngine(layout, skip=config.skip, threads=config.threads, part=self.part)

    @property
    def nodes_here(self) -> Sequence[int]:
        return [node for node in range(len(self.cluster.nodes)) if node in self.part.units]

    @property
    def nodes_seen(self) -> Sequence[int]:
        return self.nodes_here if self.part.apart else super().nodes_seen

    @property
    def ranks_here(self) -> range:
        ranks = [rank for node in self.nodes_here for rank in self.placement.ranks_on(node)]
        return range(min(ranks), max(ranks) + 1)

    def gathered(self, found: VALUE) -> list[VALUE]:
        return [found] if self.part.apart else self.part.gather(found)

    def _booted(self, image: Image | None) -> snapshot.Booted | None:
        found = super()._booted(image)
        return found if all(self.gathered(found is not None)) else None

    def all_faults(self, counts: Sequence[Mapping[tuple[int, FaultKind], int]]) -> list[str]:
        """Return a line for each fault that happened, given the counts of each part."""
        return self.describe_faults({key: sum(each[key] for each in counts) for key in self.fault_counts()})
