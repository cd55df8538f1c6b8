"""Acknowledgements that arrive (CC-09), and those that shall leave."""

from lanai_firmware.lang import Ptr, address_of, firmware, inline, u32

from .layout import ANSWERS_AT, CAME_AT, GROUPS, LOST_AT, NUMBERS
from .pool import settle
from .sending import enqueue
from .state import NO_ENTRY, Entry, Peer, daemon


@inline
def answer(peer: Ptr[Peer]) -> None:
    """An acknowledgement is to leave for this node."""
    if GROUPS != 1:
        daemon.silent[ANSWERS_AT] += u32(peer.answer == 0)
    peer.answer = 1


@firmware
def take_ack(node: u32, words: Ptr[u32]) -> None:
    """Take an acknowledgement. Packets before the first map have come, and so have those in the first
    map. Those in the second are sent again."""
    peer = address_of(daemon.peers[node])
    if (words[1] - peer.acked & 0xFFFF) > peer.next - peer.acked:
        return  # an older one that was overtaken, or from another run
    while (peer.acked ^ words[1]) & 0xFFFF != 0:
        acknowledged(peer, node, peer.acked)
        peer.acked += 1
    under_way = peer.next - peer.acked
    for n in range(under_way):
        if words[CAME_AT + (n >> 5)] >> (n & 31) & 1 != 0:
            acknowledged(peer, node, peer.acked + n)
        elif words[LOST_AT + (n >> 5)] >> (n & 31) & 1 != 0 and peer.window[(peer.acked + n) % NUMBERS] != NO_ENTRY:
            send_again(peer.window[(peer.acked + n) % NUMBERS], u32(1) << node)


@firmware
def acknowledged(peer: Ptr[Peer], node: u32, number: u32) -> None:
    index = u32(peer.window[number % NUMBERS])
    if index == NO_ENTRY:
        return
    peer.window[number % NUMBERS] = NO_ENTRY
    clear(index, address_of(daemon.entries[index]), node)


@firmware
def clear(index: u32, entry: Ptr[Entry], node: u32) -> None:
    """The node needs this packet no more."""
    entry.outstanding &= ~(u32(1) << node)
    if entry.outstanding == 0:
        daemon.transmitting -= 1
        settle(index)


@firmware
def send_again(index: u32, nodes: u32) -> None:
    """To the nodes that lack it, or to all that it is for (CC-09: the paper does not say)."""
    entry = address_of(daemon.entries[index])
    if entry.queued == 0:
        entry.tries += 1
        enqueue(index, entry.nodes[0] if daemon.config.resend_all != 0 else nodes)
