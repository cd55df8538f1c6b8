"""Registers, events and counters of the link."""

from ..csr.declare import Counter, EventBit, RegisterBlock

LINK = RegisterBlock(
    "Link",
    events=(EventBit("LINK_ERROR", 8, "wrong CRC, truncated or stray flits, misrouted, link down"),),
    counters=(
        Counter("TX_PACKETS", 0x23C, "TAIL sent"),
        Counter("TX_FLITS", 0x240, "flit sent, control symbols included"),
        Counter("TX_STOPPED", 0x244, "slot in which a flit was held by STOP"),
        Counter("TX_DROPPED", 0x248, "flit discarded because the link is down"),
        Counter("RX_FLITS", 0x250, "flit received, control symbols included"),
        Counter("RX_STOPS", 0x254, "STOP raised by the receiver"),
        Counter("RX_MISROUTED", 0x264, "packet dropped: its HEAD still names a hop"),
        Counter("RX_STRAYS", 0x268, "flit dropped: outside a packet"),
        Counter("RX_OVERFLOWS", 0x26C, "flit lost because the sender ignored STOP"),
        Counter("LINK_DOWNS", 0x270, "loss of the link's carrier"),
    ),
)
