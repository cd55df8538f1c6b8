"""The options of `bip`."""

from dataclasses import dataclass

from lanai_firmware.lang import sizeof
from lanai_firmware.programs.bip.layout import PART, SHORT, Header
from lanai_hdl import ranges

from ...errors import UserError

BODY = int(SHORT) - int(sizeof(Header))  # bytes of a message that a short packet holds
MOST_CREDITS = 14  # two places of a ring are for packets that bring credit alone
RANGES = {
    "short": (0, BODY),
    "credits": (1, MOST_CREDITS),
    "packet": (0, int(PART)),
    "boot_polls": (1, 1_000_000),
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
    """

    short: int = 256
    credits: int = MOST_CREDITS
    packet: int = 0
    boot_polls: int = 1000

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
