"""Packets to the clients that read them (CC-05)."""

from lanai_firmware.lang import Const, Ptr, address_of, firmware, u32

from ...nic import host_dma
from ...nic.registers import TO_HOST
from .layout import BEGUN, CLOSED, PLACE, RING, RING_AT, Client, Count
from .pool import is_empty, put, settle, take
from .state import ClientState, daemon, shared

PRESSURE: Const[u32] = u32(int(Count.PRESSURE))
READS: Const[u32] = u32(64)


@firmware
def deliver(index: u32, clients: u32) -> None:
    """Write the index to the receive queue of each of these clients."""
    for client in range(daemon.config.clients):
        if clients >> client & 1 != 0:
            daemon.entries[index].readers += 1
            put(address_of(daemon.client_states[client].queue), index)


@firmware
def look_at(client_state: Ptr[ClientState], place: Ptr[Client]) -> u32:
    """Read the stage of a rank: BEGUN, CLOSED, or it has not begun. One that has ended stays CLOSED."""
    stage = u32(client_state.stage)
    if stage != CLOSED:
        stage = place.stage
        client_state.stage = stage
    return stage


@firmware
def read_all() -> None:
    """Copy what waits in the receive queues to the clients' rings."""
    for client in range(daemon.config.clients):
        while read_next(client):
            pass


@firmware
def read_next(client: u32) -> bool:
    """Begin one copy. False if nothing waits, the ring is full, the rank has not begun, or the host
    DMA's queue is full."""
    client_state = address_of(daemon.client_states[client])
    if is_empty(address_of(client_state.queue)):
        return False
    place = address_of(shared.border.clients[client])
    stage = look_at(client_state, place)
    if stage == CLOSED:
        finish(take(address_of(client_state.queue)))
        return True
    waiting = client_state.arrived - place.read
    if stage != BEGUN or waiting >= RING or host_dma.free() == 0 or daemon.reads_last - daemon.reads_first == READS:
        return False
    index = take(address_of(client_state.queue))
    entry = address_of(daemon.entries[index])
    host = daemon.config.memory[client] + RING_AT + client_state.arrived % RING * PLACE
    host_dma.queue(host, entry.start, entry.size, TO_HOST)
    daemon.transfers += 1
    client_state.arrived += 1
    client_state.changed = 1
    if waiting + 1 == RING:
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
