"""The engines that `lanai run --engine` offers.

`rtl` and `pysim` are here, `board` beside. A module `my_engine` in `engines/` of a directory on LANAI_PATH that holds
`KIND`, an `EngineKind` object, is the engine `my-engine`. Nothing else needs to be registered. Modules
are loaded when they are chosen.
"""

from functools import cache

from lanai_host import plugins
from lanai_host.errors import unknown
from lanai_host.plugins import Contract, usable

from ..base import Engine, Layout
from .base import Capability, EngineKind, EngineOptions
from .board import BoardKind

DEFAULT = "rtl"


class Rtl(EngineKind):
    name = "rtl"
    help = "the gateware compiled by LLVM: the default"
    capabilities = ~Capability(0)

    def make(self, layout: Layout, options: EngineOptions) -> Engine:
        from ..rtl import RtlEngine

        return RtlEngine(layout, skip=options.skip, threads=options.threads, trace=options.waves)


class Pysim(EngineKind):
    name = "pysim"
    help = "the gateware in Amaranth's simulator: the same cycles, a thousand times slower, no C++ compiler"
    capabilities = Capability.RANKS

    def make(self, layout: Layout, options: EngineOptions) -> Engine:
        from ..pysim import PysimEngine

        return PysimEngine(layout)


OWN: dict[str, EngineKind] = {one.name: one for one in (Rtl(), Pysim(), BoardKind())}
CONTRACT = Contract("engine", __name__, "KIND", EngineKind, lambda found: str(found.name))


@cache
def names() -> tuple[str, ...]:
    """The engines that exist, by name; the default first."""
    found = plugins.names_with(__path__, "engines", OWN)
    return tuple(sorted(found, key=lambda name: (name != DEFAULT, name)))


def kind(name: str) -> EngineKind:
    """The engine of that name. Raises UserError with those that exist."""
    if name not in names():
        raise unknown("engine", name, names())
    if name in OWN:
        return OWN[name]
    found: EngineKind = CONTRACT.load(name)
    return found


def kinds() -> tuple[EngineKind, ...]:
    """The engines that exist, the default first. Broken ones are left out, with a warning."""
    return tuple(found for _, found in usable(names(), kind))
