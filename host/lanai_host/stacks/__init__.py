"""Messaging systems, one package each: from firmware to `Device`.

A package `my_stack` here, or in `stacks/` of a directory on LANAI_PATH, that holds a module `stack`
with `STACK`, a `Stack` object, is the device `my-stack`. Nothing else needs to be registered.
Packages are loaded when they are chosen.
"""

from functools import cache

from .. import plugins
from ..errors import unknown
from ..plugins import Contract, usable
from .base import Stack

CONTRACT = Contract("device", __name__, "STACK", Stack, lambda found: str(found.name), "stack")


@cache
def names() -> tuple[str, ...]:
    """The devices that exist, by name; `ideal` first, which is the default."""
    plugins.extend(__path__, "stacks")
    return tuple(sorted(plugins.names(__path__, packages_only=True), key=lambda name: (name != "ideal", name)))


def stack(name: str) -> Stack:
    """The messaging system of that name. Raises UserError with those that exist."""
    if name not in names():
        raise unknown("device", name, names())
    found: Stack = CONTRACT.load(name)
    if not found.presets:
        raise CONTRACT.unusable(name, "STACK.presets is empty; its first entry is the default")
    CONTRACT.make(name, found.default_options)
    return found


def stacks() -> tuple[Stack, ...]:
    """The messaging systems that exist, the default first. Broken ones are left out, with a warning."""
    return tuple(found for _, found in usable(names(), stack))
