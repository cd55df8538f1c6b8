"""Packets to the seats that read them (CC-05)."""

from lanai_firmware.lang import Const, address_of, firmware, u32

from ...nic import host_dma
from ...nic.registers import TO_HOST
from .layout import CLOSED, PLACE, RING, RING_AT, Count
from .pool import is_empty, put, settle, take
from .state import daemon, shared

PRESSURE: Const[u32] = u32(int(Count.PRESSURE))
READS: Const[u32] = u32(64)


@firmware
def deliver(index: u32, seats: u32) -> None:
    """Write the index to the receive queue of each of these seats."""
    for seat in range(daemon.config.seats):
        if seats >> seat & 1 != 0:
            daemon.entries[index].readers += 1
            put(address_of(daemon.desks[seat].queue), index)


@firmware
def read_all() -> None:
    """Copy what waits in the receive queues to the seats' rings."""
    for seat in range(daemon.config.seats):
        while read_next(seat):
            pass


@firmware
def read_next(seat: u32) -> bool:
    """Begin one copy. False if nothing waits, the ring is full, the rank has not begun, or the host
    DMA's queue is full."""
    desk = address_of(daemon.desks[seat])
    place = address_of(shared.border.seats[seat])
    if is_empty(address_of(desk.queue)) or place.memory == 0:
        return False
    if place.memory == CLOSED:
        finish(take(address_of(desk.queue)))
        return True
    if desk.arrived - place.read >= RING or host_dma.free() == 0 or daemon.reads_last - daemon.reads_first == READS:
        return False
    index = take(address_of(desk.queue))
    entry = address_of(daemon.entries[index])
    host = place.memory + RING_AT + desk.arrived % RING * PLACE
    host_dma.queue(host, entry.start, entry.size, TO_HOST)
    daemon.transfers += 1
    desk.arrived += 1
    desk.changed = 1
    if desk.arrived - place.read == RING:
        shared.border.counts[PRESSURE] += 1
    read = address_of(daemon.reads[daemon.reads_last % READS])
    read.entry = index
    read.after = daemon.transfers
    daemon.reads_last += 1
    return True


@firmware
def finish(index: u32) -> None:
    """One reader less."""
    daemon.entries[index].readers -= 1
    settle(index)


@firmware
def finish_reads() -> None:
    """Copies that are done."""
    while daemon.reads_first != daemon.reads_last:
        read = address_of(daemon.reads[daemon.reads_first % READS])
        if not host_dma.reached(read.after):
            return
        daemon.reads_first += 1
        finish(read.entry)
