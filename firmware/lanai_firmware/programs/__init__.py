"""Programs for the NIC's processor, one package each.

A package `my_program` here that holds a module `program` with `FIRMWARE`, a `Firmware` object, is
the firmware `my-program`. Nothing else needs to be registered.
"""

import pkgutil
from importlib import import_module

from lanai_hdl.errors import UserError

from .base import Firmware

__all__ = ["Firmware", "firmware", "names"]


def names() -> tuple[str, ...]:
    """The programs that exist, by name."""
    return tuple(sorted(info.name.replace("_", "-") for info in pkgutil.iter_modules(__path__) if info.ispkg))


def firmware(name: str) -> Firmware:
    """The program of that name. Raises UserError with those that exist."""
    if name not in names():
        raise UserError(f"firmware {name!r} is not known; choose one of {', '.join(names())}")
    found: Firmware = import_module(f"{__name__}.{name.replace('-', '_')}.program").FIRMWARE
    return found
