"""The engines that `lanai run --engine` offers, one module or package each.

A module `my_engine` here, or in `engines/` of a directory on LANAI_PATH, that holds `KIND`, an
`EngineKind` object, is the engine `my-engine`. Nothing else needs to be registered. Modules are
loaded when they are chosen.
"""

from functools import cache

from lanai_host import plugins
from lanai_host.errors import UserError, unknown

from .base import EngineKind

DEFAULT = "rtl"


@cache
def names() -> tuple[str, ...]:
    """The engines that exist, by name; the default first."""
    plugins.extend(__path__, "engines")
    found = [name for name in plugins.names(__path__, packages_only=False) if name != "base"]
    return tuple(sorted(found, key=lambda name: (name != DEFAULT, name)))


def kind(name: str) -> EngineKind:
    """The engine of that name. Raises UserError with those that exist."""
    if name not in names():
        raise unknown("engine", name, names())
    module = plugins.load(__name__, name)
    found: EngineKind = module.KIND
    if found.name != name:
        raise UserError(f"{module.__file__} calls its engine {found.name!r}; its file says {name!r}")
    return found
