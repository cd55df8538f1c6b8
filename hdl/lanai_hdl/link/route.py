"""The route word of a packet on a segment, or at a switch with multicast. Port n is NIC n's.

To one port: `1 000 pppp` on top, as at a switch, so a switch of as many ports can take the
segment's place. To several: `11 000000` on top, then a bit for each port, port 0's the lowest of
the two bytes, then a byte of zeros.
"""

from collections.abc import Iterable

MULTICAST = 0xC0  # the top byte
MASK_SHIFT = 8
MOST_PORTS = 16


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
