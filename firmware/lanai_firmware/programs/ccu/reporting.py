"""The clients' status words."""

from lanai_firmware.lang import address_of, firmware, sizeof, u32

from ...nic import host_dma
from ...nic.registers import TO_HOST
from .dispatch import look_at
from .layout import BEGUN, CLOSED, GROUPS, SLOTS, Status
from .state import daemon, shared


@firmware
def report_all() -> None:
    for client in range(daemon.config.clients):
        report(client)


@firmware
def report(client: u32) -> None:
    """Copy the status to the rank's memory if it changed, and the last copy has arrived.

    It is queued behind the packets that it counts, so the rank finds the packets when it finds the
    count.
    """
    client_state = address_of(daemon.client_states[client])
    place = address_of(shared.border.clients[client])
    stage = look_at(client_state, place)
    if stage == CLOSED and place.released == 0 and host_dma.reached(daemon.transfers):
        place.released = 1
    if client_state.changed == 0 or stage != BEGUN or host_dma.free() == 0:
        return
    if not host_dma.reached(client_state.shown_after):
        return
    for slot in range(SLOTS):
        client_state.shown.entries[slot] = client_state.entries[slot]
    client_state.shown.sent = client_state.sent
    client_state.shown.arrived = client_state.arrived
    for group in range(GROUPS):
        client_state.shown.silent[group] = daemon.silent[group]
    client_state.shown.changes += 1
    host_dma.queue(daemon.config.memory[client], u32(address_of(client_state.shown)), sizeof(Status), TO_HOST)
    daemon.transfers += 1
    client_state.shown_after = daemon.transfers
    client_state.changed = 0
