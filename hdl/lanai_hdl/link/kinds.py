"""The kinds of flit, also for those that do without Amaranth."""

from enum import IntEnum


class FlitKind(IntEnum):
    """Three bits. A packet is HEAD, any number of DATA and CHECK, TAIL; IDLE may stand anywhere
    between."""

    IDLE = 0  # nothing in this slot
    HEAD = 1  # route: four bytes 1 ccc pppp, the next hop on top; see SwitchInput
    DATA = 2  # one word of the packet
    TAIL = 3  # end of the packet; CRC-32 of its words
    CHECK = 4  # CRC-32 of the words so far: what came before may be trusted
    DOWN = 7  # no carrier
