"""What the wire carries."""

from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out


class Kind(enum.Enum, shape=3):
    """The kinds of flit. A packet is HEAD, any number of DATA and CHECK, TAIL; IDLE may stand
    anywhere between."""

    IDLE = 0  # nothing in this slot
    HEAD = 1  # route: four bytes 1 ccc pppp, the next hop on top; see SwitchInput
    DATA = 2  # one word of the packet
    TAIL = 3  # end of the packet; CRC-32 of its words
    CHECK = 4  # CRC-32 of the words so far: what came before may be trusted
    DOWN = 7  # no carrier


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
