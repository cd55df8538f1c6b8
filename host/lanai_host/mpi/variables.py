"""The variables of the tools interface: control variables (prices of host work) and performance variables (counters of
the NIC).
"""

import enum
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ..config import HostCost
from .world import World


class Kind(enum.Enum):
    """The class of a performance variable; the value is MPI's name for it."""

    COUNTER = "COUNTER"
    LEVEL = "LEVEL"
    TIMER = "TIMER"


class Variable(NamedTuple):
    """One variable, whose value is a 64-bit number that cannot be set."""

    name: str
    text: str
    read: Callable[[], int]
    kind: Kind = Kind.LEVEL


def control(world: World) -> list[Variable]:
    """The prices of host work, which a run chooses with `--host` and `--host-option`."""
    device = world.process.device
    return [
        Variable(f"host_{name}", f"picoseconds that a unit of host work of the kind {name!r} takes", read)
        for what in HostCost
        for name, read in [(what.name.lower(), partial(device.price, what))]
    ]


def performance(world: World) -> list[Variable]:
    """Simulated time, messages that no receive has taken, and what the NIC counts."""
    device = world.process.device
    own = [
        Variable("host_time", "picoseconds of simulated time at this process", device.now, Kind.TIMER),
        Variable(
            "unexpected_messages",
            "messages that the host keeps and no receive has taken",
            lambda: len(device.unexpected()),
        ),
    ]
    return own + [
        Variable(f"nic_{name.lower()}", text, partial(device.read_counter, name), Kind.COUNTER)
        for name, text in device.counters().items()
    ]
