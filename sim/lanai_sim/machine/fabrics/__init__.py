"""The fabrics that `--fabric` offers.

Those of this package are the `KINDS` of its modules. A module `my_fabric` in `fabrics/` of a directory
on LANAI_PATH that holds `KIND`, a `FabricKind` object, is the fabric `my-fabric` or
`my-fabric:ARGUMENT`. Nothing else needs to be registered. A name that ends in .toml is a file of cables.
"""

from functools import cache

from lanai_host import plugins
from lanai_host.errors import UserError, did_you_mean
from lanai_host.plugins import Contract, usable

from ..fabric import Fabric
from . import grids, switches, wires
from .base import FabricKind
from .grids import SUFFIX, Ends, FileEnds, from_cables, from_file

OWN: dict[str, FabricKind] = {**grids.KINDS, **switches.KINDS, **wires.KINDS}
CONTRACT = Contract("fabric", __name__, "KIND", FabricKind, lambda found: str(found.usage).partition(":")[0])


@cache
def names() -> tuple[str, ...]:
    """The fabrics that exist, by name."""
    return tuple(sorted(plugins.names_with(__path__, "fabrics", OWN)))


def kind(name: str) -> FabricKind:
    """The fabric of that name, which must be one of `names`."""
    found: FabricKind = OWN.get(name) or CONTRACT.load(name)
    return found


def kinds() -> tuple[FabricKind, ...]:
    """The fabrics that exist. Broken ones are left out, with a warning."""
    return tuple(found for _, found in usable(names(), kind))


def usages() -> str:
    """Return the spellings of all fabrics that exist."""
    return ", ".join(one.usage for one in kinds())


def describe(text: str | Ends, nics: int) -> Fabric:
    """The fabric that the command line or a file asks for, or that of some cables. UserError for
    what cannot be."""
    if not isinstance(text, str):
        return from_cables(text.path if isinstance(text, FileEnds) else "cables", nics, text)
    if text.endswith(SUFFIX):
        return from_file(text, nics)
    name, colon, argument = text.partition(":")
    if name not in names():
        near = did_you_mean(name, names())
        raise UserError(f"fabric {text!r} is not known; {near}write {usages()} or a {SUFFIX} file")
    chosen = kind(name)
    if bool(colon) != (":" in chosen.usage):
        raise UserError(f"fabric {text!r} is not understood; write {chosen.usage}")
    return chosen.make(argument, nics)
