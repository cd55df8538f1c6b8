"""The seats' status words."""

from lanai_firmware.lang import Const, address_of, firmware, sizeof, u32

from ...nic import host_dma
from ...nic.registers import TO_HOST
from .layout import CLOSED, SLOTS, Status
from .state import daemon, shared

BYTES: Const[u32] = u32(sizeof(Status))


@firmware
def report_all() -> None:
    for seat in range(daemon.config.seats):
        report(seat)


@firmware
def report(seat: u32) -> None:
    """Copy the status to the rank's memory if it changed, and the last copy has arrived.

    It is queued behind the packets that it counts, so the rank finds the packets when it finds the
    count.
    """
    desk = address_of(daemon.desks[seat])
    place = address_of(shared.border.seats[seat])
    if place.memory == CLOSED and place.released == 0 and host_dma.reached(daemon.transfers):
        place.released = 1
    if desk.changed == 0 or place.memory == 0 or place.memory == CLOSED or host_dma.free() == 0:
        return
    if not host_dma.reached(desk.shown_after):
        return
    for slot in range(SLOTS):
        desk.shown.entries[slot] = desk.entries[slot]
    desk.shown.sent = desk.sent
    desk.shown.arrived = desk.arrived
    desk.shown.silent = daemon.silent
    desk.shown.changes += 1
    host_dma.queue(place.memory, u32(address_of(desk.shown)), BYTES, TO_HOST)
    daemon.transfers += 1
    desk.shown_after = daemon.transfers
    desk.changed = 0
