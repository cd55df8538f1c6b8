"""Entries of the two pools, and queues of their indices."""

from lanai_firmware.lang import Const, Ptr, address_of, firmware, offset_of, u32

from .layout import ENTRIES, SEND_ENTRIES, SLOTS, Packet
from .state import Queue, daemon, shared

TAG_AT: Const[u32] = u32(offset_of(Packet, "tag"))
LENGTH: Const[u32] = u32(512)  # of a queue's items


@firmware
def put(queue: Ptr[Queue], entry: u32) -> None:
    queue.items[queue.last % LENGTH] = entry
    queue.last += 1


@firmware
def oldest(queue: Ptr[Queue]) -> u32:
    """The entry that `take` would take."""
    entry: u32 = queue.items[queue.first % LENGTH]
    return entry


@firmware
def take(queue: Ptr[Queue]) -> u32:
    """Remove the oldest entry. The queue must not be empty."""
    entry = oldest(queue)
    queue.first += 1
    return entry


@firmware
def take_free(queue: Ptr[Queue]) -> u32:
    """An entry of a pool. It must have one."""
    entry = take(queue)
    daemon.entries[entry].free = 0
    return entry


@firmware
def is_empty(queue: Ptr[Queue]) -> bool:
    return queue.first == queue.last


@firmware
def settle(index: u32) -> None:
    """Give an entry back to its pool if no packet needs it any more."""
    entry = address_of(daemon.entries[index])
    used = entry.outstanding != 0 or entry.readers != 0 or entry.queued != 0
    if used or entry.free != 0:
        return
    entry.free = 1
    if index < SEND_ENTRIES:
        put(address_of(daemon.free_send), index)
    else:
        put(address_of(daemon.free_receive), index)


@firmware
def fill_pools() -> None:
    """At the start: all entries are free, then each slot of a send queue gets one."""
    for index in range(1, ENTRIES):
        daemon.entries[index].start = u32(address_of(shared.packets[index])) + TAG_AT
        settle(index)
    for client in range(daemon.config.clients):
        client_state = address_of(daemon.client_states[client])
        for slot in range(SLOTS):
            client_state.entries[slot] = take_free(address_of(daemon.free_send))
        client_state.changed = 1
