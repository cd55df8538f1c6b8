"""Messaging systems, one package each: from firmware to `Device`.

A package `my_stack` here, or in `stacks/` of a directory on LANAI_PATH, that holds a module `stack`
with `STACK`, a `Stack` object, is the device `my-stack`. Nothing else needs to be registered.
Packages are loaded when they are chosen.
"""

from functools import cache

from .. import plugins
from ..errors import UserError, unknown
from .base import Stack


@cache
def names() -> tuple[str, ...]:
    """The devices that exist, by name; `ideal` first, which is the default."""
    plugins.extend(__path__, "stacks")
    return tuple(sorted(plugins.names(__path__, packages_only=True), key=lambda name: (name != "ideal", name)))


def stack(name: str) -> Stack:
    """The messaging system of that name. Raises UserError with those that exist."""
    if name not in names():
        raise unknown("device", name, names())
    module = plugins.load(__name__, name, "stack")
    found: Stack = module.STACK
    if found.name != name:
        raise UserError(f"{module.__file__} calls its stack {found.name!r}; its folder says {name!r}")
    return found
