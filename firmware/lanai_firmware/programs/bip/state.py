"""The memory of the BIP firmware. All counts are of things since the start, and wrap around."""

from lanai_firmware.lang import Array, Global, Struct, u32

from .layout import NODES, PART, RING, WORDS, Border, Config

OUT = 4  # buffers for packets of long messages on their way out
IN = 8  # ... and for packets that arrive
MARKS = 64  # marks of short packets on their way out: as many as the send DMA's queue is long


class Outgoing(Struct):
    """A part of a long message on its way out."""

    before: u32  # host DMA transfers queued before it
    fetched: u32  # ... after which its bytes are there
    failed: u32  # 1: they could not be read
    gone: u32  # descriptors of the send DMA after which the buffer may be used again
    length: u32
    packet: Array[u32, 2 + int(PART) // 4 + 1]  # head, bytes, mark


class Incoming(Struct):
    """A buffer for a packet that arrives. `stored`: host DMA transfers after which it may be used
    again."""

    stored: u32
    packet: Array[u32, 2 + int(PART) // 4 + 1]


class Arrival(Struct):
    """A landing under way: the place of the next byte, counted from its first page, and how many are to
    come."""

    at: u32
    left: u32


class Nic(Struct):
    config: Config
    base: u32  # as `Border.base` was when the rank rang
    taken: u32  # requests
    told: u32  # ... of which the host knows, or will, that they have left
    ends: Array[u32, int(RING)]  # by request: descriptors of the send DMA after which it has left
    described: u32  # descriptors given to the send DMA
    transfers: u32  # host DMA transfers queued
    sent: Array[u32, "NODES"]  # packets
    got: Array[u32, "NODES"]
    places: Array[u32, "NODES"]  # the place of each ring that comes next
    arrivals: Array[Arrival, "NODES"]
    landed: Array[u32, "NODES"]  # landings completed
    node: u32  # of the long send under way
    at: u32
    left: u32
    packet: u32
    begun: u32  # packets of long sends whose bytes were asked for
    launched: u32  # ... that were given to the send DMA
    posted: u32  # receive buffers given to the receive DMA
    emptied: u32  # ... whose packets have been looked at
    changed: u32  # 1: the host has not seen `words`
    shown_after: u32  # host DMA transfers after which `shown` may change
    words: Array[u32, int(WORDS)]
    shown: Array[u32, int(WORDS)]  # what the host DMA copies
    marks: Array[u32, MARKS]
    shorts: u32  # short packets sent
    border: Border
    outgoing: Array[Outgoing, OUT]
    incoming: Array[Incoming, IN]


nic: Global[Nic]
