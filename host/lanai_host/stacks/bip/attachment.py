"""The facts that a rank and its NIC agree on: options, the contents of short packets, what a rank needs of its NIC."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lanai_firmware.lang import constants_set, offset_of, sizeof
from lanai_firmware.programs.bip.layout import PART, RING, SHORT, Border, Header, Request, Type, sizes
from lanai_hdl import ranges
from lanai_hdl.machine import SRAM_HOST

from ...errors import UserError
from ..attachment import FirmwareAttachment, PlacedRequest, place_ended

# The options of `bip`.


BODY = int(SHORT) - int(sizeof(Header))  # bytes of a message that a short packet holds
MOST_CREDITS = 14  # two places of a ring are for packets that bring credit alone
RANGES = {
    "short": (0, BODY),
    "credits": (1, MOST_CREDITS),
    "packet": (0, int(PART)),
    "boot_polls": (1, 1_000_000),
    "optimize": (0, 2),
}
PACKETS = ((4096, 1024), (16_384, 2048))  # up to so many bytes of a message, bytes of a packet; longer ones: PART


@dataclass(frozen=True)
class BipOptions:
    """The thesis names few of BIP's sizes.

    Attributes:
        short: bytes of the longest message that leaves at once, written by the processor (BIP 0.95a: 256;
            0.98a: 200). Longer ones wait for their receive.
        credits: short packets to one rank that it has not read yet.
        packet: bytes of a packet of a long message; 0: as the message's length has it.
        boot_polls: looks, a microsecond apart, until the firmware must be ready.
        optimize: by the firmware's compiler. 1: not across functions, each is called. 0: not at all.
    """

    short: int = 256
    credits: int = MOST_CREDITS
    packet: int = 0
    boot_polls: int = 1000
    optimize: int = 2

    def __post_init__(self) -> None:
        ranges.check(self, RANGES)
        if self.packet % 4:
            raise UserError(f"BipOptions.packet={self.packet} must be a multiple of 4: packets are whole words")

    def packet_of(self, length: int) -> int:
        """Return the bytes of a packet of a message of this length."""
        if self.packet:
            return self.packet
        return next((packet for most, packet in PACKETS if length <= most), int(PART))


PRESETS = {"default": BipOptions}


# The contents of short packets: the library's header, which the host strips, and bytes.


HEADER = struct.Struct(">BBHIIHHI")
FIELDS = struct.Struct(">II")  # of a request, behind its bytes: what, number
WORD = struct.Struct(">I")

assert HEADER.size == int(sizeof(Header))


class Head(NamedTuple):
    """A header, as `layout.Header` has it."""

    type: int
    credit: int = 0
    channel: int = 0
    tag: int = 0
    length: int = 0
    context: int = 0
    sequence: int = 0
    handle: int = 0


ENVELOPES = (Type.EAGER, Type.SYNC, Type.ASK)


@dataclass(frozen=True)
class Attachment(FirmwareAttachment):
    """The number of ranks, where in SRAM this one reaches its NIC, and the options."""

    ranks: int
    border: int
    options: BipOptions

    @property
    def reach(self) -> Sequence[range]:
        with constants_set(sizes(self.ranks)):
            return (range(SRAM_HOST + self.border, SRAM_HOST + self.border + int(sizeof(Border))),)

    def request_in(self, offset: int, data: bytes) -> PlacedRequest | None:
        """The request that this write to PIO `offset` completes, if it does: it ends where a place of the ring
        does."""
        end = offset + len(data) - SRAM_HOST - self.border - int(offset_of(Border, "requests"))
        place = place_ended(end, int(sizeof(Request)), int(RING))
        if place is None or len(data) < int(sizeof(Header)) + FIELDS.size:
            return None
        what, number = FIELDS.unpack(data[-FIELDS.size :])
        kind, _, _, tag, length, context, _, _ = HEADER.unpack_from(data)
        sends = kind in ENVELOPES
        return PlacedRequest(
            0, place, kind, number & 0xFFFF, what >> 16, tag if sends else -1, context if sends else -1, length
        )
