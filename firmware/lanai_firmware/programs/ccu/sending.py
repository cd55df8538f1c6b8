"""Packets of the send queues are taken, numbered and kept until all their nodes have acknowledged
(CC-03, CC-04, CC-08)."""

from lanai_firmware.lang import Ptr, address_of, firmware, u32

from .datagrams import goes_on
from .dispatch import deliver
from .layout import CONTENT, GROUP, GROUP_AT, GROUPS, HEAD_BYTES, NUMBERS, SLOTS, SendSlot
from .pool import is_empty, put, settle, take_free
from .state import Entry, daemon, group_of, place_of, shared
from .transmit import transmit


@firmware
def take_all() -> None:
    """Examine each send queue, and take what may be sent. The client whose turn it is comes first.
    The first packet leaves before the next is taken (CC-20)."""
    first = daemon.turn
    for n in range(daemon.config.clients):
        client = (first + n) % daemon.config.clients
        while take_next(client):
            daemon.turn = client + 1
            transmit()


@firmware
def take_next(client: u32) -> bool:
    """Take the oldest packet of a send queue. False if there is none, its window is shut, or no
    entry is free."""
    client_state = address_of(daemon.client_states[client])
    place = client_state.sent % SLOTS
    slot = address_of(shared.border.clients[client].slots[place])
    if slot.number != client_state.sent + 1 or is_empty(address_of(daemon.free_send)):
        return False
    written = group_of(address_of(slot.nodes))
    group = written if written < GROUPS else u32(0)
    nodes = slot.nodes[0] & daemon.config.nodes[group] if written < GROUPS else u32(0)
    if is_shut(nodes, group) if daemon.config.datagrams == 0 else not goes_on(client, nodes, group):
        return False
    index = client_state.entries[place]
    keep(index, slot, nodes, group)
    client_state.entries[place] = take_free(address_of(daemon.free_send))
    client_state.sent += 1
    client_state.changed = 1
    own = daemon.config.node
    if nodes >> own & 1 != 0 and (GROUPS == 1 or own // GROUP == group):
        deliver(index, daemon.entries[index].clients[place_of(own)])
    settle(index)
    return True


@firmware
def is_shut(nodes: u32, group: u32) -> bool:
    """Is the window to one of the nodes full (CC-12)?"""
    for node in range(GROUP):
        peer = address_of(daemon.peers[group * GROUP + node])
        if nodes >> node & 1 != 0 and peer.next - peer.acked >= daemon.config.window:
            return True
    return False


@firmware
def keep(index: u32, slot: Ptr[SendSlot], nodes: u32, group: u32) -> None:
    """Note whom a packet is for. It joins the packets to be sent if it is for another node."""
    entry = address_of(daemon.entries[index])
    if GROUPS != 1:
        entry.nodes[GROUP_AT] = group
    entry.nodes[0] = 0
    entry.tries = 0
    entry.size = HEAD_BYTES + content_length(index)
    for place in range(GROUP):
        node = group * GROUP + place
        entry.clients[place] = slot.clients[place]
        if nodes >> place & 1 != 0 and node != daemon.config.node and daemon.silent[group] >> place & 1 == 0:
            number_for(index, entry, node)
    entry.outstanding = entry.nodes[0]
    if entry.nodes[0] != 0:
        daemon.transmitting += 1
        enqueue(index, entry.nodes[0])


@firmware
def content_length(index: u32) -> u32:
    """Return the length that the packet says, which a rank wrote. One that is too long is cut: the
    receiving daemon would take it for damaged, and this one would give up the node."""
    length = u32(shared.packets[index].length)
    if length > CONTENT:
        length = CONTENT
        shared.packets[index].length = length
    return length


@firmware
def number_for(index: u32, entry: Ptr[Entry], node: u32) -> None:
    peer = address_of(daemon.peers[node])
    entry.nodes[0] |= u32(1) << node
    entry.numbers[place_of(node)] = peer.next
    peer.window[peer.next % NUMBERS] = index
    peer.next += 1


@firmware
def enqueue(index: u32, nodes: u32) -> None:
    """It is to be sent to these nodes, beside those that it was to be sent to already."""
    entry = address_of(daemon.entries[index])
    entry.pending |= nodes
    if entry.queued == 0:
        entry.queued = 1
        put(address_of(daemon.outgoing), index)
