"""What a user may choose of `t3d`."""

from dataclasses import dataclass

from lanai_hdl import ranges

from ...errors import UserError

RANGES = {"short": (64, 16_384), "long_sends": (1, 64), "reply_pages": (1, 1024), "boot_polls": (1, 1_000_000)}


@dataclass(frozen=True)
class T3dOptions:
    """The paper names none of these sizes (T3-G1).

    Attributes:
        short: bytes of the longest message that travels in a slot; longer ones wait for an address.
        long_sends: long messages that a rank sends at a time; others wait.
        reply_pages: pages of the receiver's buffer that one reply describes.
        boot_polls: looks, a microsecond apart, until the firmware must be ready.
    """

    short: int = 1024
    long_sends: int = 16
    reply_pages: int = 64
    boot_polls: int = 1000

    def __post_init__(self) -> None:
        ranges.check(self, RANGES)
        if self.short % 4:
            raise UserError(f"T3dOptions.short={self.short} must be a multiple of 4: puts move words")
