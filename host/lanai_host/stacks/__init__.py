"""Messaging systems, one package each: from firmware to `Device`.

A package `my_stack` here that holds a module `stack` with `STACK`, a `Stack` object, is the device `my-stack`. Nothing
else needs to be registered. Packages are loaded when they are chosen.
"""

import importlib
import pkgutil
from functools import cache

from ..errors import UserError
from .base import Stack


@cache
def names() -> tuple[str, ...]:
    """The devices that exist, by name; `ideal` first, which is the default."""
    found = (info.name.replace("_", "-") for info in pkgutil.iter_modules(__path__) if info.ispkg)
    return tuple(sorted(found, key=lambda name: (name != "ideal", name)))


def stack(name: str) -> Stack:
    """The messaging system of that name. Raises UserError with those that exist."""
    if name not in names():
        raise UserError(f"device {name!r} is not known; choose one of {', '.join(names())}")
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}.stack")
    found: Stack = module.STACK
    if found.name != name:
        raise ValueError(f"{module.__name__} calls its stack {found.name!r}; its folder says {name!r}")
    return found
