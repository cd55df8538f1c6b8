"""The facts of its NIC that a rank needs."""

from collections.abc import Sequence
from dataclasses import dataclass

from lanai_firmware.lang import constants_set, offset_of, sizeof
from lanai_firmware.programs.bip.layout import RING, Border, Header, Request, Type, sizes
from lanai_hdl.machine import SRAM_HOST

from ..base import PlacedRequest
from ..health import Mark
from .options import BipOptions
from .packets import FIELDS, HEADER


@dataclass(frozen=True)
class Attachment:
    """The number of ranks, where in SRAM this one reaches its NIC, and the options."""

    rank: int
    ranks: int
    border: int
    options: BipOptions
    epoch: int = 0  # what EPOCH reads as long as the NIC is the one that was booted
    routes: tuple[int, ...] = ()  # to the NIC of each rank

    @property
    def reach(self) -> Sequence[range]:
        with constants_set(sizes(self.ranks)):
            return (range(SRAM_HOST + self.border, SRAM_HOST + self.border + int(sizeof(Border))),)

    @property
    def doorbell_bits(self) -> int:
        return 1

    @property
    def mark(self) -> Mark:
        return Mark("SCRATCH1", self.epoch)

    longest_turn = 0

    def request_in(self, offset: int, data: bytes) -> PlacedRequest | None:
        """The request that this write to PIO `offset` completes, if it does: it ends where a place of the ring
        does."""
        end = offset + len(data) - SRAM_HOST - self.border - int(offset_of(Border, "requests"))
        place, rest = divmod(end, int(sizeof(Request)))
        if rest or not 0 < place <= int(RING) or len(data) < int(sizeof(Header)) + FIELDS.size:
            return None
        what, number = FIELDS.unpack(data[-FIELDS.size :])
        kind, _, _, tag, length, context, _, _ = HEADER.unpack_from(data)
        sends = kind in (Type.EAGER, Type.SYNC, Type.ASK)
        return PlacedRequest(
            0, place - 1, kind, number & 0xFFFF, what >> 16, tag if sends else -1, context if sends else -1, length
        )
