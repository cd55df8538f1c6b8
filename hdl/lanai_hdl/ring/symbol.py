"""The symbols that the links of the ring carry."""

from amaranth.lib import data

from ..link.flit import Flit, Kind
from .config import MOST_PORTS, MOST_SENDS

NODE_BITS = (MOST_PORTS - 1).bit_length()
PLACE_BITS = (MOST_SENDS - 1).bit_length()


class Symbol(data.Struct):
    """One flit, or an idle symbol with its go bit: a node may insert a packet behind an idle symbol
    that says go, and behind no other. A packet is followed by at least one idle symbol."""

    data: 32
    kind: Kind
    go: 1


class PacketFlit(data.Struct):
    """A flit of a packet that a node sends; `last`: it is the TAIL."""

    flit: Flit
    last: 1


class RingHead(data.Struct):
    """The word of a HEAD on the ring. `place` is where the source keeps the packet until its echo
    comes. An echo is a packet of HEAD and TAIL; `busy`: the target had no space, send it again."""

    target: NODE_BITS
    source: NODE_BITS
    place: PLACE_BITS
    echo: 1
    busy: 1
    _reserved: 32 - 2 * NODE_BITS - PLACE_BITS - 2


GO = {"kind": Kind.IDLE, "go": 1}  # what an empty ring carries
