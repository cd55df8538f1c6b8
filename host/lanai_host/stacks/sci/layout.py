"""The segment of each rank (SC-01): what its peers write. All ranks have the same layout, so an offset
there is one here.

Of each peer, in this order:

state       two words: whether the peer is there, and how many of this rank's packets it has taken
ring        control packets
slots       messages of the eager protocol
chunks      three buffers for messages of the rendezvous protocol

Behind them is a FIFO for remote interrupts, of all peers.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, unique
from functools import cached_property
from typing import Any, NamedTuple, Self

from lanai_firmware.vocabulary import ControlPart, Controls, Room, SeenControl
from lanai_hdl import ranges
from lanai_hdl.errors import UserError

from ...adapter import trace
from ...body import Body
from ...bus.base import PAGE_SIZE

# The choices that the paper leaves open (SC-G2), as options.

WAYS = {
    "way": ("stores", "commands"),
    "pack": ("direct", "generic"),
    "private": ("register", "emulate"),
    "node": ("memory", "adapter"),
}
LONGEST_LOADED = 64  # bytes: each word takes a round trip, so the target sends longer gets sooner


@dataclass(frozen=True)
class SciOptions:
    """Attributes:
    way: how the processor reaches remote memory: by "stores" and loads through the adapter's aperture
        (SC-20), or by "commands" to the adapter, which moves the bytes itself.
    ring: control packets that a peer may have sent and this rank has not taken.
    eager: bytes of the longest message that travels by the eager protocol.
    eager_slots: eager messages of one sender that may lie at a receiver.
    chunk: bytes that a rendezvous moves in one handshake (SC-18).
    pack: how a message in several runs moves: "direct" from where its blocks lie and to there
        (SC-10), or "generic", by a packed copy at each end (SC-09).
    min_block: bytes of an average run below which it is packed all the same (SC-17).
    private: how windows on memory of the program's own are reached: "register" pins it, "emulate"
        asks its processor by messages (SC-21).
    longest_get: bytes of the longest get that reads the target's memory; the target sends longer
        ones (SC-22). 0: `LONGEST_LOADED` by loads, and none is too long for commands.
    node: how ranks of one node send each other messages: through its "memory" (SC-08), or by the
        "adapter", as others do.
    retries: how often the adapter sends again what a peer does not answer, until that is lost
        (SC-06).
    greet: ranks of a job up to which each greets all others when it begins. In a larger job a rank greets
        another one before it sends it a first message, and polls for those alone that have greeted or were
        greeted.
    """

    way: str = "stores"
    ring: int = 32
    eager: int = 4096
    eager_slots: int = 4
    chunk: int = 12288
    pack: str = "direct"
    min_block: int = 0
    private: str = "register"
    longest_get: int = 0
    node: str = "memory"
    retries: int = 40
    greet: int = 16

    @property
    def stores(self) -> bool:
        return self.way == "stores"

    @property
    def most_read(self) -> int | None:
        """Bytes of the longest get that reads the target's memory; None: none is too long."""
        return self.longest_get or (LONGEST_LOADED if self.stores else None)

    def packs(self, body: Body) -> bool:
        """Return whether a message in this memory takes the generic path (SC-09): by a copy in one run, at the sender
        and at the receiver.
        """
        return body.runs > 1 and (self.pack == "generic" or body.size < self.min_block * body.runs)

    def __post_init__(self) -> None:
        ranges.check(
            self,
            {
                "ring": (4, 1024),
                "eager": (64, 65536),
                "eager_slots": (1, 64),
                "chunk": (64, 262144),
                "min_block": (0, 1 << 30),
                "longest_get": (0, 1 << 30),
                "retries": (0, 255),
                "greet": (0, 1 << 16),
            },
        )
        for name in ("eager", "chunk"):
            if getattr(self, name) % 64:
                raise UserError(f"SciOptions.{name}={getattr(self, name)!r} must be a multiple of 64")
        for name, ways in WAYS.items():
            if getattr(self, name) not in ways:
                raise UserError(f"SciOptions.{name}={getattr(self, name)!r} must be one of {', '.join(ways)}")


# Control packets: one put of `PACKET` bytes each, which arrives whole. Its last word, the sequence
# number, arrives last.

PACKET = 64
WORD = struct.Struct(">I")
_HEADER = struct.Struct(">HHiIIII")  # kind, context, tag, length, and three numbers
INLINE = PACKET - _HEADER.size - WORD.size  # bytes of a short message
SEQUENCE_AT = PACKET - WORD.size
SEQUENCES = 1 << 32


@unique
class Kind(IntEnum):
    """The kind of a packet. Its three numbers are `a`, `b` and `c`."""

    SHORT = 1  # a message, which stands in the packet; a: number of a synchronous send, or 0
    EAGER = 2  # a message, in eager slot b; a as above
    REQUEST = 3  # a message that waits at the sender: its send is number a
    READY = 4  # send a may begin: receive b takes `length` bytes of it
    CHUNK = 5  # `length` bytes for receive a lie in chunk buffer b; c: the sender could not read its memory
    EMPTY_SLOT = 6  # eager slot a may be used again
    EMPTY_CHUNK = 7  # chunk buffer a may be used again
    MATCHED = 8  # synchronous send a has met a receive


KINDS = {one.value: one for one in Kind}  # a look-up is quicker than a call of `Kind`


class Packet(NamedTuple):
    """`data`: of a short message, at most INLINE bytes."""

    kind: Kind
    context: int = 0
    tag: int = 0
    length: int = 0
    a: int = 0
    b: int = 0
    c: int = 0
    data: bytes = b""

    def pack(self, sequence: int) -> bytes:
        header = _HEADER.pack(self.kind, self.context, self.tag, self.length, self.a, self.b, self.c)
        return header + self.data.ljust(INLINE, b"\0") + WORD.pack(sequence)

    @classmethod
    def unpack(cls, packet: bytes | memoryview) -> Self:
        kind, context, tag, length, a, b, c = _HEADER.unpack_from(packet)
        data = bytes(packet[_HEADER.size : _HEADER.size + length]) if kind == Kind.SHORT else b""
        return cls(KINDS[kind], context, tag, length, a, b, c, data)


CHUNKS = 3  # one is filled, one is emptied, and the news that the third is empty is under way
SLOT_ROOM, CHUNK_ROOM, RING_ROOM = "credit in use", "chunk buffers in use", "ring in use"  # as traces show them
LINE = 128  # slots and chunks begin at multiples of it, so that bursts of either host's bus are not cut


class State(IntEnum):
    """The state of a peer."""

    ABSENT = 0  # it may not have begun yet
    PRESENT = 1
    LEFT = 2  # it has finished


@dataclass(frozen=True)
class Layout:
    """`block`: bytes of a stream buffer. A control packet ends with one, so that the buffer leaves as soon as the
    packet is stored.
    """

    ranks: int
    options: SciOptions
    block: int = PACKET

    @cached_property
    def part(self) -> int:
        """Bytes of each peer's part."""
        options = self.options
        return self.control + options.eager_slots * in_lines(options.eager) + CHUNKS * in_lines(options.chunk)

    @cached_property
    def control(self) -> int:
        """Bytes of a peer's part before its slots."""
        return in_lines((1 + self.options.ring) * self.pitch)

    @cached_property
    def pitch(self) -> int:
        """Bytes from a control packet to the next one."""
        return max(PACKET, self.block) if self.options.stores else PACKET

    @cached_property
    def signals(self) -> int:
        """Return where the control words of the FIFO for remote interrupts are, at the begin of a page. The next page
        is its ring.
        """
        return -(-self.ranks * self.part // PAGE_SIZE) * PAGE_SIZE

    @cached_property
    def size(self) -> int:
        return self.signals + 2 * PAGE_SIZE

    def state(self, peer: int) -> int:
        return peer * self.part

    def taken(self, peer: int) -> int:
        return self.state(peer) + WORD.size

    def packet(self, peer: int, number: int) -> int:
        return peer * self.part + (2 + number % self.options.ring) * self.pitch - PACKET

    def sequence(self, peer: int, number: int) -> int:
        """The last word of a packet."""
        return self.packet(peer, number) + SEQUENCE_AT

    def slot(self, peer: int, number: int) -> int:
        return peer * self.part + self.control + number * in_lines(self.options.eager)

    def chunk(self, peer: int, number: int) -> int:
        return self.slot(peer, self.options.eager_slots) + number * in_lines(self.options.chunk)


def in_lines(size: int) -> int:
    """The size, with what is missing of its last line."""
    return -(-size // LINE) * LINE


# This device's messages as traces find them in the adapter's packets.

HEAD = struct.Struct(">HHiIII")  # of a control packet: kind, context, tag, length, and two numbers


def plan(layout: Layout) -> Mapping[str, int]:
    """Return the layout of a segment: bytes of each peer's part, where in it the control packets are and end, and how
    far apart they are.
    """
    return {"part": layout.part, "control": layout.control, "first": layout.packet(0, 0), "pitch": layout.pitch}


def see(words: Sequence[int], offset: int, length: int, sender: int, plan: Mapping[str, Any]) -> SeenControl:
    """A write to the part of `sender`."""
    at = offset - sender * int(plan["part"])
    if not 0 <= at < int(plan["part"]):
        return SeenControl(ControlPart.NONE)
    if at >= int(plan["control"]):
        return SeenControl(ControlPart.BYTES)
    begins = at >= int(plan["first"]) and (at - int(plan["first"])) % int(plan["pitch"]) == 0
    if not begins or 4 * len(words) < HEAD.size:  # words of the state, or the rest of a packet that left in parts
        return SeenControl(ControlPart.NONE)
    kind, context, tag, size, a, b = HEAD.unpack_from(struct.pack(f">{len(words)}I", *words))
    match kind:
        case Kind.SHORT:
            return SeenControl(ControlPart.INSIDE, context, tag, size)
        case Kind.EAGER:
            return SeenControl(ControlPart.WRITTEN, context, tag, size)
        case Kind.REQUEST:
            return SeenControl(ControlPart.ASKS, context, tag, size, number=a)
        case Kind.READY:
            return SeenControl(ControlPart.ANSWERS, length=size, number=a, place=b)
        case Kind.CHUNK:
            return SeenControl(ControlPart.PART, length=size, place=a)
    return SeenControl(ControlPart.NONE)


ROOMS = (
    Room(SLOT_ROOM, "slots", "slots of its peers for eager messages that it has taken and not got back"),
    Room(CHUNK_ROOM, "buffers", "buffers of its peers for parts of long messages that it has taken and not got back"),
    Room(RING_ROOM, "packets", "control packets that it has written to its peers and that they have not read"),
)
VOCABULARY = replace(trace.VOCABULARY, messages=Controls(see), local=lambda plan: plan.get("local", False), rooms=ROOMS)
