"""Packets that are fragments of a datagram (`Config.datagrams`), for systems that send by UDP."""

from lanai_firmware.lang import Ptr, address_of, firmware, u32

from .layout import GROUP, LAST, NUMBERS, SLOTS
from .state import NO_ENTRY, Peer, daemon, shared, word_at


@firmware
def goes_on(client: u32, nodes: u32, group: u32) -> bool:
    """May the oldest packet of a send queue be taken? It must be in the midst of a datagram, or begin
    one that is whole, and no other may be under way to these nodes."""
    client_state = address_of(daemon.client_states[client])
    follows = client_state.fragments != 0
    if not follows:
        if is_waited_for(nodes, group):
            return False
        client_state.fragments = fragments_of(client)
        if client_state.fragments == 0:
            return False
    client_state.fragments -= 1
    index = u32(client_state.entries[client_state.sent % SLOTS])
    daemon.entries[index].follows = u32(1) if follows else u32(0)
    if client_state.fragments == 0:
        shared.packets[index].tag |= LAST  # a full queue need not have it
    return True


@firmware
def is_waited_for(nodes: u32, group: u32) -> bool:
    """One of these nodes has not acknowledged all."""
    waited = u32(0)
    for place in range(GROUP):
        node = group * GROUP + place
        if daemon.peers[node].acked != daemon.peers[node].next:
            waited |= u32(1) << place
    return waited & nodes != 0


@firmware
def fragments_of(client: u32) -> u32:
    """Fragments of the datagram at the head of a send queue; 0 if some are not there yet. A full
    queue is a datagram, or its rank would wait for ever."""
    client_state = address_of(daemon.client_states[client])
    for n in range(SLOTS):
        place = (client_state.sent + n) % SLOTS
        if shared.border.clients[client].slots[place].number != client_state.sent + n + 1:
            return u32(0)
        if shared.packets[client_state.entries[place]].tag & LAST != 0:
            return n + 1
    return SLOTS


@firmware
def is_last(index: u32) -> bool:
    """The packet that arrived in this entry is its datagram's last fragment."""
    tag: u32 = word_at(daemon.entries[index].start)[0]
    return tag & LAST != 0


@firmware
def is_whole(peer: Ptr[Peer]) -> bool:
    """All fragments of the datagram that comes from a node are here. As many as can be held without a
    last one are none: no sound daemon sends them."""
    for n in range(NUMBERS):
        index = u32(peer.held[(peer.expected + n) % NUMBERS])
        if index == NO_ENTRY:
            return False
        if is_last(index):
            return True
    return False
