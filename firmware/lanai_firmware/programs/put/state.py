"""The memory of the put firmware. All counts are of things since the start, and wrap around."""

from lanai_firmware.lang import Array, Global, Struct, u32

from .layout import ASKS, BODY, COUNTERS, HEADER, NODES, Border, Config

BUFFERS = 4
WORDS = (int(HEADER) + int(BODY)) // 4


class Taken(Struct):
    """A request as it was when the NIC looked: the rank may change its own at any time."""

    node: u32
    address: u32
    length: u32  # with BUS, FLAG and the kind
    source: u32


class Outgoing(Struct):
    """A packet on its way out."""

    route: u32
    size: u32
    fetch: u32  # the host DMA transfer that brings its bytes; 0: none does
    fetched: u32  # host DMA transfers after which it is complete
    ends: u32  # 1: the last packet of its request
    packet: Array[u32, WORDS]


class Incoming(Struct):
    """A buffer for a packet that arrives. `stored`: host DMA transfers after which it may be used
    again."""

    stored: u32
    packet: Array[u32, WORDS]


class Kept(Struct):
    """A question of another NIC, from its packet."""

    address: u32
    length: u32  # with the kind
    number: u32
    result: u32
    operand: u32


class Nic(Struct):
    config: Config
    transfers: u32  # host DMA transfers queued
    request: Taken  # the oldest request
    taken: u32  # requests whose packets have all been begun
    offset: u32  # bytes of the next request that are in packets
    asked: u32  # questions begun
    fencing: u32  # 1: no request begins until all questions are answered
    begun: u32  # packets whose bytes were asked for
    launched: u32  # packets given to the send DMA
    stored: u32  # packets given to the host DMA
    posted: u32  # receive buffers given to the receive DMA
    kept: u32  # questions of others received
    answered: u32  # ... and answered
    fetched_word: u32  # host DMA transfers after which `word` is the word to change; 0: it was not asked for
    word: Array[u32, 1]
    word_failed: u32  # 1: it could not be read
    unreachable: u32  # 1: the heap could not be written, so its process is dead
    changed: u32  # 1: the host has not seen `counters`
    shown_after: u32  # host DMA transfers after which `shown` may change
    counters: Array[u32, int(COUNTERS)]
    shown: Array[u32, int(COUNTERS)]  # what the host DMA copies
    sent_to: Array[u32, 2 * int(NODES)]  # packets, by node; behind them answers
    got_from: Array[u32, 2 * int(NODES)]
    border: Border
    outgoing: Array[Outgoing, BUFFERS]
    incoming: Array[Incoming, BUFFERS]
    asks: Array[Kept, int(ASKS)]


nic: Global[Nic]
