"""The memory of the put firmware. All counts are of things since the start, and wrap around."""

from lanai_firmware.lang import Array, Global, Struct, u32

from .layout import BODY, COUNTERS, HEADER, NODES, Border

BUFFERS = 4
WORDS = (int(HEADER) + int(BODY)) // 4


class Outgoing(Struct):
    """A packet on its way out. `fetched`: host DMA transfers after which it is complete."""

    route: u32
    size: u32
    fetched: u32
    ends: u32  # 1: the last packet of its request
    packet: Array[u32, WORDS]


class Incoming(Struct):
    """A buffer for a packet that arrives. `stored`: host DMA transfers after which it may be used again."""

    stored: u32
    packet: Array[u32, WORDS]


class Nic(Struct):
    transfers: u32  # host DMA transfers queued
    taken: u32  # requests whose packets have all been begun
    offset: u32  # bytes of the next request that are in packets
    begun: u32  # packets whose bytes were asked for
    launched: u32  # packets given to the send DMA
    stored: u32  # packets given to the host DMA
    posted: u32  # receive buffers given to the receive DMA
    changed: u32  # 1: the host has not seen `counters`
    shown_after: u32  # host DMA transfers after which `shown` may change
    counters: Array[u32, int(COUNTERS)]
    shown: Array[u32, int(COUNTERS)]  # what the host DMA copies
    sent_to: Array[u32, int(NODES)]  # packets, by node
    got_from: Array[u32, int(NODES)]
    border: Border
    outgoing: Array[Outgoing, BUFFERS]
    incoming: Array[Incoming, BUFFERS]


nic: Global[Nic]
