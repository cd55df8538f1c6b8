"""The route word of a packet's HEAD: four bytes, the first on top, unused ones 0.

A byte is `1 ccc pppp`. The switch that reads it sends the packet out of port `pppp`. If `ccc` is
not 0, the packet keeps the byte with the count less 1, so `ccc` further switches send it out of the
same port. Otherwise the byte is stripped.
"""

from collections.abc import Sequence
from itertools import groupby

MOST_BYTES = 4
MOST_REPEATS = 7  # ccc
MOST_PORTS = 16  # pppp


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
