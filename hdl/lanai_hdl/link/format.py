"""The format of packets on a link, for those that do without Amaranth: kinds of flit, and route words.

The route word of a HEAD is four bytes, the first on top, unused ones 0.

A byte `1 ccc pppp` is for one switch, which sends the packet out of port `pppp`. If `ccc` is not 0,
the packet keeps the byte with the count less 1, so `ccc` further switches send it out of the same
port. Otherwise the byte is stripped. On a segment, port n is NIC n's, and `1 000 pppp` on top goes
there: a switch of as many ports can take the segment's place.

To several ports of a segment, or of a switch with multicast: `11 000000` on top, then a bit for each
port, port 0's the lowest of the two bytes, then a byte of zeros.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from itertools import groupby

MOST_PORTS = 16  # pppp
MOST_REPEATS = 7  # ccc
MOST_BYTES = 4  # of a route word
MULTICAST = 0xC0  # the top byte
MASK_SHIFT = 8


class FlitKind(IntEnum):
    """Three bits. A packet is HEAD, any number of DATA and CHECK, TAIL; IDLE may stand anywhere
    between."""

    IDLE = 0  # nothing in this slot
    HEAD = 1  # route: four bytes 1 ccc pppp, the next hop on top; see SwitchInput
    DATA = 2  # one word of the packet
    TAIL = 3  # end of the packet; CRC-32 of its words
    CHECK = 4  # CRC-32 of the words so far: what came before may be trusted
    DOWN = 7  # no carrier


def route_bytes(ports: Sequence[int]) -> list[int]:
    """The bytes for these output ports, one a switch. Counts are used only if one byte a switch
    would not fit."""
    if len(ports) <= MOST_BYTES:
        return [0x80 | port for port in ports]
    found = []
    for port, run in groupby(ports):
        left = len(list(run))
        while left:
            repeats = min(left - 1, MOST_REPEATS)
            found.append(0x80 | repeats << 4 | port)
            left -= 1 + repeats
    return found


def route_word(ports: Sequence[int]) -> int:
    """The word for these output ports. ValueError if it takes more than four bytes."""
    taken = route_bytes(ports)
    if len(taken) > MOST_BYTES:
        raise ValueError(f"a route through the ports {list(ports)} takes {len(taken)} bytes; a HEAD holds {MOST_BYTES}")
    return int.from_bytes(bytes(taken).ljust(MOST_BYTES, b"\0"), "big")


def multicast_word(ports: Iterable[int]) -> int:
    """The route to these ports. ValueError for none, and for a port that no segment has."""
    mask = 0
    for port in ports:
        if not 0 <= port < MOST_PORTS:
            raise ValueError(f"a segment has no port {port}; ports are 0 to {MOST_PORTS - 1}")
        mask |= 1 << port
    if not mask:
        raise ValueError("a packet to no port cannot be sent; name at least one")
    return MULTICAST << 24 | mask << MASK_SHIFT
