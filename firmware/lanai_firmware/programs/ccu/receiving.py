"""Packets that arrive: put in order, delivered, acknowledged; acknowledgements taken.

Selective repeat (CC-07 to CC-12). Damaged packets are dropped (CC-13)."""

from lanai_firmware.lang import Const, Ptr, address_of, firmware, sizeof, u32

from ...nic import receive_dma, timer
from ...nic.registers import VALID
from .acks import answer, take_ack
from .datagrams import is_last, is_whole
from .dispatch import deliver
from .layout import ACK, ACK_WORDS, CONTENT, DATA, GROUPS, HEAD_BYTES, NODES, NUMBERS, OWING_AT, TARGETS, Count, Packet
from .pool import is_empty, put, settle, take, take_free
from .state import NO_ENTRY, Peer, daemon, shared, word_at
from .transmit import work

RECEIVED: Const[u32] = u32(int(Count.RECEIVED))
DUPLICATES: Const[u32] = u32(int(Count.DUPLICATES))
DAMAGED: Const[u32] = u32(int(Count.DAMAGED))
OVERFLOWS: Const[u32] = u32(int(Count.OVERFLOWS))
ACKS_LOST: Const[u32] = u32(int(Count.ACKS_LOST))
ACKS_AGAIN: Const[u32] = u32(int(Count.ACKS_AGAIN))
ACKS_NTH: Const[u32] = u32(int(Count.ACKS_NTH))
PACKET_BYTES: Const[u32] = u32(sizeof(Packet))
ACK_BYTES: Const[u32] = u32(4 * int(ACK_WORDS))
LEAST: Const[u32] = u32(16)  # bytes of a data packet without content, to one node


@firmware
def post_buffers() -> None:
    """Give free entries to the receive DMA, as far as its queue and the kernel's buffer go."""
    while has_buffer() and receive_dma.free() != 0 and not is_empty(address_of(daemon.free_receive)):
        index = take_free(address_of(daemon.free_receive))
        start = u32(address_of(shared.packets[index]))
        receive_dma.post(start, start + PACKET_BYTES)
        put(address_of(daemon.posted), index)


@firmware
def has_buffer() -> bool:
    """Does the kernel's buffer take another packet (CC-12)? It is filled by packets that the daemon has
    not read. One that finds no room is lost on the wire."""
    return daemon.config.buffers == 0 or daemon.posted.last - daemon.posted.first < daemon.config.buffers


@firmware
def receive() -> bool:
    """Deal with the oldest packet that has arrived. False if there is none."""
    verdict = receive_dma.verdict()
    if verdict == 0:
        return False
    size = receive_dma.length()
    receive_dma.release()
    index = take(address_of(daemon.posted))
    start = u32(address_of(shared.packets[index]))
    kind = word_at(start)[0] >> 24
    node = word_at(start)[0] & 0xFFFF
    if verdict != VALID or size < LEAST or node >= NODES or node == daemon.config.node:
        shared.border.counts[DAMAGED] += 1
    elif kind == ACK and size == ACK_BYTES:
        take_ack(node, word_at(start))
    elif kind == DATA:
        take_data(index, start, size, node)
    else:
        shared.border.counts[DAMAGED] += 1
    settle(index)
    if daemon.config.datagrams == 0 or kind != DATA or is_last(index):
        work()
    return True


@firmware
def take_data(index: u32, start: u32, size: u32, node: u32) -> None:
    """Note where its parts lie, and find this node among its targets."""
    count = word_at(start)[0] >> 16 & 0xFF
    entry = address_of(daemon.entries[index])
    entry.start = start + 4 + 4 * count
    length = word_at(entry.start)[1] if count <= TARGETS else CONTENT + 1
    entry.size = HEAD_BYTES + length
    if length > CONTENT or size != (4 + 4 * count + entry.size + 3 & ~3):
        shared.border.counts[DAMAGED] += 1
        return
    for n in range(count):
        target = word_at(start + 4 + 4 * n)[0]
        if target >> 24 == daemon.config.node:
            entry.clients[0] = target >> 16
            admit(address_of(daemon.peers[node]), index, target)
            return  # an entry is held once


@firmware
def admit(peer: Ptr[Peer], index: u32, number: u32) -> None:
    """Deliver a packet that is the next of its pair, hold one that is early, and answer to any
    other (CC-10)."""
    ahead = number - peer.expected & 0xFFFF
    if ahead >= NUMBERS or peer.held[(peer.expected + ahead) % NUMBERS] != NO_ENTRY:
        shared.border.counts[DUPLICATES] += 1
        if daemon.config.datagrams == 0 or ahead >= NUMBERS:
            shared.border.counts[ACKS_AGAIN] += 1
            answer(peer)
        return
    if is_empty(address_of(daemon.free_receive)):
        shared.border.counts[OVERFLOWS] += 1  # the entry is needed for acknowledgements (CC-G3)
        return
    if peer.seen - peer.expected < ahead + 1:
        if peer.seen - peer.expected < ahead and daemon.config.datagrams == 0:
            shared.border.counts[ACKS_LOST] += 1
            answer(peer)
        peer.seen = peer.expected + ahead + 1
    peer.held[(peer.expected + ahead) % NUMBERS] = index
    daemon.entries[index].queued = 1
    shared.border.counts[RECEIVED] += 1
    advance(peer)


@firmware
def advance(peer: Ptr[Peer]) -> None:
    """Deliver what is in order now, if it is not just a part of a datagram."""
    if daemon.config.datagrams != 0 and not is_whole(peer):
        return
    place = peer.expected % NUMBERS
    while peer.held[place] != NO_ENTRY:
        index = u32(peer.held[place])
        peer.held[place] = NO_ENTRY
        peer.expected += 1
        place = peer.expected % NUMBERS
        if GROUPS != 1:
            daemon.silent[OWING_AT] += u32(peer.unacked == 0)
        if peer.unacked == 0:
            peer.since = timer.now()
        peer.unacked += 1
        daemon.entries[index].queued = 0
        deliver(index, daemon.entries[index].clients[0])
        settle(index)
    if peer.unacked >= daemon.config.ack_every:
        shared.border.counts[ACKS_NTH] += 1
        answer(peer)
