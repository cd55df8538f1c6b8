"""Flits, which the wire carries."""

from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from .format import FlitKind


class Kind(enum.Enum, shape=3):
    """`FlitKind` for signals."""

    IDLE = FlitKind.IDLE.value
    HEAD = FlitKind.HEAD.value
    DATA = FlitKind.DATA.value
    TAIL = FlitKind.TAIL.value
    CHECK = FlitKind.CHECK.value
    DOWN = FlitKind.DOWN.value


class Flit(data.Struct):
    """One flit, as queues carry it."""

    data: 32
    kind: Kind


class LinkPort(wiring.Signature):
    """One direction of a link, seen from its sender: at most one flit a slot, and `stop` coming
    back.

    Both cross the wire with the link's latency, which lies outside the NIC. What is sent between
    the raising of `stop` and its arrival still finds room at the receiver.
    """

    def __init__(self):
        super().__init__({"kind": Out(Kind), "data": Out(32), "stop": In(1)})
