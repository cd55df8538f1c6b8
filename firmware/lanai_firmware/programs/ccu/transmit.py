"""Packets and acknowledgements leave, one at a time (CC-14)."""

from lanai_firmware.lang import Const, Ptr, address_of, firmware, popcount, trailing_zeros, u32
from lanai_hdl.link.format import MASK_SHIFT, MULTICAST

from ...nic import send_dma, timer
from .layout import ACK, ACK_WORDS, ANSWERS_AT, CAME_AT, DATA, GROUP, GROUPS, LOST_AT, NODES, NUMBERS, OWING_AT, Count
from .pool import is_empty, oldest, settle, take
from .state import NO_ENTRY, Entry, daemon, group_of, shared, word_at

SENT: Const[u32] = u32(int(Count.SENT))
RESENT: Const[u32] = u32(int(Count.RESENT))
MULTICAST_ROUTE: Const[u32] = u32(MULTICAST << 24)
MASK: Const[u32] = u32(MASK_SHIFT)
ACK_BYTES: Const[u32] = u32(4 * int(ACK_WORDS))


@firmware
def transmit() -> bool:
    """Begin the next transmission, acknowledgements first. False if there is none, or one is under
    way. An entry stays in the queue while it is being sent."""
    if send_dma.done() != daemon.launched:
        return False
    candidates = u32(NODES)
    if GROUPS != 1:
        candidates = candidates if daemon.silent[ANSWERS_AT] != 0 else u32(0)
    for node in range(candidates):
        if daemon.peers[node].answer != 0:
            acknowledge(node)
            return True
    while not is_empty(address_of(daemon.outgoing)):
        index = oldest(address_of(daemon.outgoing))
        entry = address_of(daemon.entries[index])
        silent = daemon.silent[group_of(address_of(entry.nodes))]
        wanted = entry.nodes[0] & ~silent if daemon.config.resend_all != 0 else entry.outstanding
        entry.pending &= wanted
        if entry.outstanding != 0 and entry.pending != 0:
            launch(entry)
            return True
        entry.queued = 0
        entry.pending = 0
        take(address_of(daemon.outgoing))
        settle(index)
    return False


@firmware
def launch(entry: Ptr[Entry]) -> None:
    """Send a packet to all nodes that wait for it or, where the fabric does not broadcast, to the
    first of them."""
    nodes = entry.pending
    first = group_of(address_of(entry.nodes)) * GROUP
    route = MULTICAST_ROUTE | nodes << MASK
    if daemon.config.broadcast == 0 or popcount(nodes) == 1:
        node = trailing_zeros(nodes)
        nodes = u32(1) << node
        route = daemon.config.routes[first + node]
    entry.pending &= ~nodes
    count = popcount(nodes)
    head = before(entry.start, 4 + 4 * count)
    word_at(head)[0] = DATA << 24 | count << 16 | daemon.config.node
    target = head + 4
    for node in range(GROUP):
        if nodes >> node & 1 != 0:
            word_at(target)[0] = first + node << 24 | u32(entry.clients[node]) << 16 | u32(entry.numbers[node])
            target += 4
    if entry.tries == 0:
        shared.border.counts[SENT] += 1
    else:
        shared.border.counts[RESENT] += 1
    entry.sent_at = timer.now()
    if entry.follows == 0:
        work()
    send(route, head, 4 + 4 * count + entry.size)


@firmware(inline=False)
def before(address: u32, size: u32) -> u32:
    """Apart, because LLVM's Lanai backend cannot address below a pointer that it knows."""
    return address - size


@firmware
def acknowledge(node: u32) -> None:
    """Tell a node what has come from it, and what is lost."""
    peer = address_of(daemon.peers[node])
    if GROUPS != 1:
        daemon.silent[ANSWERS_AT] -= 1
        daemon.silent[OWING_AT] -= u32(peer.unacked != 0)
    peer.answer = 0
    peer.unacked = 0
    daemon.ack[0] = ACK << 24 | daemon.config.node
    daemon.ack[1] = peer.expected & 0xFFFF
    for word in range(CAME_AT, ACK_WORDS):
        daemon.ack[word] = 0
    for n in range(peer.seen - peer.expected):
        has_come = peer.held[(peer.expected + n) % NUMBERS] != NO_ENTRY
        word = (CAME_AT if has_come else LOST_AT) + (n >> 5)
        daemon.ack[word] |= u32(1) << (n & 31)
    work()
    send(daemon.config.routes[node], u32(address_of(daemon.ack)), ACK_BYTES)


@firmware
def send(route: u32, start: u32, size: u32) -> None:
    send_dma.queue_packet(route, start, size)
    daemon.launched += 1


@firmware
def work() -> None:
    """Pass the time that a packet costs the daemon."""
    if daemon.config.work != 0:
        begun = timer.now()
        while timer.now() - begun < daemon.config.work:
            pass
