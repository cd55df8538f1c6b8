"""Boards, as the build needs to know them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..config import NicConfig


@dataclass(frozen=True)
class Board:
    """One supported board.

    `platform()` makes its Amaranth platform, `pins(top)` an elaboratable that puts a `BoardTop` on
    its clock and pins. `config` is the NIC that fits it, at the clock that `pins` makes.
    """

    name: str
    description: str
    config: NicConfig
    baud: int
    platform: Callable[[], Any]
    pins: Callable[[Any], Any]

    @property
    def divisor(self) -> int:
        """Slots a bit of the serial line."""
        return round(1000 * self.config.slot_khz / self.baud)
