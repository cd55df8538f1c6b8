"""Interfaces whose latency is part of their type."""

from amaranth.lib import wiring
from amaranth.lib.wiring import Out


class Timed(wiring.Signature):
    """An interface with a latency of `slots`. What is so late, or so early, its docstring says."""

    def __init__(self, members, slots: int):
        super().__init__(members)
        self.slots = slots


class Ahead(Timed):
    """`value` stands `slots` before the work that it is about is offered, and until that is taken."""

    def __init__(self, shape, slots: int):
        super().__init__({"value": Out(shape)}, slots)


def join(m, one, other):
    """Connect two timed interfaces, if they agree on the latency."""
    slots = one.signature.slots, other.signature.slots
    if slots[0] != slots[1]:
        raise wiring.ConnectionError(
            f"an interface with a latency of {slots[0]} slots cannot be joined with one of {slots[1]}; take the same"
        )
    wiring.connect(m, one, other)
