"""The facts of its NIC that a rank needs, and the way by which it puts there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lanai_firmware.lang import offset_of, sizeof
from lanai_firmware.programs.put.layout import KIND_AT, KIND_MASK, LENGTH, READY, RING, Border, Request
from lanai_firmware.programs.put_barrier.layout import READY as READY_WITH_TREE
from lanai_hdl.machine import SRAM_HOST

from ...adapter import operation as adapter
from ...bus.base import Bus
from ...host_model.meter import Meter
from ...plain import restored
from ..attachment import FirmwareAttachment, Mark, PlacedRequest, place_ended
from .by_firmware import FIELDS, FirmwarePuts
from .by_shell import ShellPuts
from .heap import T3dOptions


@dataclass(frozen=True)
class Attachment(FirmwareAttachment):
    """The facts of its NIC that a rank needs: how many ranks there are, where in SRAM it writes requests, and the
    options.
    """

    ranks: int
    border: int
    options: T3dOptions
    tree: bool = False  # the NICs have the barrier tree, and the firmware for it

    @property
    def chosen(self) -> T3dOptions:
        return self.options

    def puts(self, bus: Bus, meter: Meter, size: int, staging: Callable[[int], int]) -> FirmwarePuts:
        """The way by which this rank puts, with a heap of `size` bytes. `staging` as `FirmwarePuts` has it."""
        return FirmwarePuts(bus, bus.allocate(size), staging, self.border, meter, self.options.reply_pages)

    @property
    def reach(self) -> Sequence[range]:
        return (range(SRAM_HOST + self.border, SRAM_HOST + self.border + int(sizeof(Border))),)

    @property
    def mark(self) -> Mark:
        """The firmware's word, as SCRATCH1 has the number of the node."""
        return Mark("SCRATCH0", READY_WITH_TREE if self.tree else READY)

    def request_in(self, offset: int, data: bytes) -> PlacedRequest | None:
        """The request that this write to PIO `offset` completes, if it does: it ends where a place of
        the ring does."""
        end = offset + len(data) - SRAM_HOST - self.border - int(offset_of(Border, "requests"))
        place = place_ended(end, int(sizeof(Request)), int(RING))
        if place is None or len(data) < FIELDS.size:
            return None
        node, _, length, _, number = FIELDS.unpack(data[-FIELDS.size :])
        kind = length >> int(KIND_AT) & int(KIND_MASK)
        return PlacedRequest(0, place, kind, number & 0xFFFF, node, tag=-1, context=-1, length=length & int(LENGTH))


@dataclass(frozen=True)
class ShellAttachment(adapter.Attachment):
    """The facts of a NIC whose remote-memory adapter takes the place of the T3D's shell."""

    tree = False

    @property
    def ranks(self) -> int:
        return len(self.places)

    @property
    def chosen(self) -> T3dOptions:
        return T3dOptions(**self.options)

    def puts(self, bus: Bus, meter: Meter, size: int, staging: Callable[[int], int]) -> ShellPuts:
        """The way by which this rank puts, with a heap of `size` bytes. The adapter has its own staging."""
        return ShellPuts(bus, self, meter, size, self.chosen.reply_pages)


AnyAttachment = Attachment | ShellAttachment


def attachment_of(values: Mapping[str, Any]) -> AnyAttachment:
    """Return the attachment that a rank's process was told of."""
    return restored(ShellAttachment, values) if "places" in values else restored(Attachment, values)
