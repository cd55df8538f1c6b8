"""The engine `rtl`: the gateware compiled by Verilator."""

from ..base import Engine, Layout
from .base import Capability, EngineKind, EngineOptions


class Rtl(EngineKind):
    name = "rtl"
    help = "the gateware compiled by Verilator: the default"
    capabilities = ~Capability(0)

    def make(self, layout: Layout, options: EngineOptions) -> Engine:
        from ..rtl import RtlEngine

        return RtlEngine(layout, skip=options.skip, threads=options.threads, trace=options.waves)


KIND = Rtl()
