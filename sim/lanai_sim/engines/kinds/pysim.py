"""The engine `pysim`: the gateware in Amaranth's own simulator."""

from ..base import Engine, Layout
from .base import Capability, EngineKind, EngineOptions


class Pysim(EngineKind):
    name = "pysim"
    help = "the gateware in Amaranth's simulator: the same cycles, a thousand times slower, no C++ compiler"
    capabilities = Capability.RANKS

    def make(self, layout: Layout, options: EngineOptions) -> Engine:
        from ..pysim import PysimEngine

        return PysimEngine(layout)


KIND = Pysim()
