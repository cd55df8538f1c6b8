"""The world of one part of a run: NICs, hosts and ranks of its nodes."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, cast

from lanai_firmware.image import Image

from ..engines.base import Engine, FaultKind, Layout
from ..engines.cut import parts_of_units
from ..engines.rtl import RtlEngine
from ..job import snapshot
from ..job.data import JobData
from ..job.nic_world import NicWorld
from ..job.world import VALUE
from ..kernel.cluster import Cluster
from ..kernel.kernel import Kernel
from .clockwork import PartCluster, PartKernel
from .mpi_part import MpiPart


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
