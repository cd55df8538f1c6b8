"""The interface of host and NIC: requests, landings, packets, and the memory of the host that the NIC writes.

The driver writes `Config` before the processor starts. The rank reaches `Border` in SRAM only, and
rings DOORBELL after each change. It names its `base` once: BYTES of its memory, which hold the NIC's
status and a ring of SLOTS places for each node, which is a *channel*.

Short. The processor writes the bytes into a request. They leave as a packet. The NIC at the other
end writes them to the next place of the channel's ring, without a look at whether it is free: the
hosts keep count of that (credit).

Long. The receiving rank describes memory of its own in `landings`, one for each channel, and tells
the sender by a short message. The sending rank describes its memory in `long`. The NIC cuts it into
packets of `packet` bytes. Each NIC knows the pages of its own host only.

A packet ends with a word, its mark: the node that sent it, a number, its length. The NIC writes it,
so no rank can send in the name of another. In a ring it is the last word that arrives. The host sets it to
0 when it has read the place. Packets of one node to another are numbered, so that one that is lost,
doubled or damaged is noticed. It counts as a fault. There is no recovery.

A rank may write anything, at any time. So the NIC reads each word once, and compares each address
with the window of bus addresses that the driver gave to this rank.
"""

from enum import IntEnum

from lanai_firmware.lang import Array, Const, Struct, u8, u16, u32

READY = 0x4249_5001  # in SCRATCH0: "BIP", version 1
NODES: Const[u32] = u32(64)  # at most; a build for more has more (`sizes`)
MOST_NODES = 256  # a mark has 8 bits for a node
RING: Const[u32] = u32(16)  # requests outstanding
SHORT: Const[u32] = u32(504)  # bytes of a short packet at most, without the mark
PART: Const[u32] = u32(4096)  # bytes of a packet of a long message at most
HEAD: Const[u32] = u32(8)  # bytes in front of them
PAGE: Const[u32] = u32(4096)
PAGES: Const[u32] = u32(64)  # pages that a landing has; `long` has one more, as it may begin elsewhere in its page

SLOTS: Const[u32] = u32(16)  # places of a channel's ring
SLOT: Const[u32] = u32(512)  # bytes of one: a packet ends where it ends
CHANNEL_SHIFT: Const[u32] = u32(13)  # bytes of a ring, as a power of two
SLOT_SHIFT: Const[u32] = u32(9)
LANDED_AT: Const[u32] = u32(64)  # in the host's memory: a word for each node, landings completed
RINGS_AT: Const[u32] = u32(4096)

# A mark, from the lowest bit: length, number, node, IS_PART, 1.
LENGTH: Const[u32] = u32((1 << 13) - 1)
NUMBER_AT: Const[u32] = u32(13)
NUMBER: Const[u32] = u32((1 << 8) - 1)
NODE_AT: Const[u32] = u32(21)
NODE: Const[u32] = u32((1 << 8) - 1)
IS_PART: Const[u32] = u32(1 << 29)
MARKED: Const[u32] = u32(1 << 30)

CLOSED: Const[u32] = u32(1)  # in place of the base
WINDOW: Const[u32] = u32(0xF000_0000)  # the bits of a bus address that say whose memory it is


class Word(IntEnum):
    """Words at the base that the NIC writes."""

    FAULTS = 0  # packets damaged or not the next one, host memory that could not be reached, requests refused
    LEFT = 1  # requests whose bytes have left: their places may be written again
    LONGS = 2  # long sends whose bytes have been taken


WORDS: Const[u32] = u32(len(Word))


class Type(IntEnum):
    """The first byte of a packet. The library writes that of a short one. The NIC does not look at it."""

    EAGER = 1  # an envelope and its message
    SYNC = 2  # the same; TAKEN answers when a receive has it
    ASK = 3  # the envelope of a long message
    GRANT = 4  # `length` bytes of the message `handle` may come
    TAKEN = 5  # a receive has the message `handle`
    CREDIT = 6
    PART = 7  # bytes of a long message, behind HEAD


class Header(Struct):
    """The first words of a short packet: the library's. Those of a PART are `type`, `channel` and `tag`."""

    type: u8
    credit: u8  # places of the ring of the other direction that were read
    channel: u16  # the sender
    tag: u32  # GRANT: the channel in whose landing the bytes go
    length: u32
    context: u16
    sequence: u16  # of the message among those of its pair; GRANT: 1 if no more bytes will be granted
    handle: u32


class Config(Struct):
    """Parameters that only the driver writes."""

    node: u32
    nodes: u32  # of the job
    window: u32  # the upper bits of the bus addresses of this host's rank
    routes: Array[u32, "NODES"]


class Request(Struct):
    """A short packet, whose bytes end where `what` begins. `number` is written last. It is 1 for the first
    request, and one more for each."""

    body: Array[u32, 126]
    what: u32  # node << 16 | bytes, whole words
    number: u32


class Landing(Struct):
    """Memory for the next bytes of a long message of one channel. `number` is 1 for the first."""

    pages: Array[u32, 64]  # bus addresses
    spare: Array[u32, 61]  # for 512 bytes: the processor does not multiply
    first: u32  # of the bytes in the first page
    length: u32
    number: u32


class Long(Struct):
    """Bytes for a landing. The next long send may be written when this one has been taken."""

    pages: Array[u32, 65]
    node: u32
    first: u32
    length: u32
    packet: u32  # bytes of a packet; a multiple of 4
    number: u32


class Border(Struct):
    """Words that the rank may write. `base` 0: the rank has not begun, and packets wait. CLOSED: it has
    ended, and packets are dropped. The NIC sets `released` to 1 when it will not reach the memory of a
    rank that has ended any more."""

    requests: Array[Request, 16]
    landings: Array[Landing, "NODES"]
    long: Long
    base: u32
    released: u32


def sizes(nodes: int) -> dict[str, int]:
    """Return the constants with which the firmware is built for so many nodes. Few nodes need no others than the
    source has, so that their times do not depend on how many there may be."""
    return {"NODES": 1 << (nodes - 1).bit_length()} if nodes > int(NODES) else {}


def host_bytes(nodes: int) -> int:
    """Return how many bytes of its rank's memory a NIC writes to, from the base on."""
    return int(RINGS_AT) + (nodes << int(CHANNEL_SHIFT))
