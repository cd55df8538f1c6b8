"""Timeouts of packets, and the acknowledgement timer (CC-11, CC-G1)."""

from lanai_firmware.lang import Const, Ptr, address_of, firmware, u32

from ...nic import timer
from .acks import acknowledged, answer, send_again
from .layout import CLIENTS, GROUP, GROUPS, NODES, OWING_AT, SEND_ENTRIES, Count
from .state import Entry, daemon, group_of, shared

TIMEOUTS: Const[u32] = u32(int(Count.TIMEOUTS))
ACKS_TIMER: Const[u32] = u32(int(Count.ACKS_TIMER))


@firmware
def away_for() -> u32:
    """Cycles until another process of the workstation gives its processor back; 0: the daemon has
    it. On workstations with an even number the daemon always has it."""
    if daemon.config.away == 0 or daemon.config.node & 1 == 0:
        return u32(0)
    period = daemon.config.present + daemon.config.away
    passed = timer.now() % period
    return period - passed if passed >= daemon.config.present else u32(0)


@firmware
def arm() -> None:
    """Let the timer run while something may time out. It goes off four times in the shortest of the
    times."""
    wanted = u32(0)
    if daemon.transmitting != 0:
        wanted = daemon.config.timeout
    if daemon.config.ack_timer != 0 and (wanted == 0 or daemon.config.ack_timer < wanted) and owes():
        wanted = daemon.config.ack_timer
    if wanted != 0 and (daemon.armed == 0 or wanted < daemon.armed):
        daemon.armed = wanted
        timer.start(wanted >> 2)


@firmware
def owes() -> bool:
    """Has any node sent packets that are not acknowledged?"""
    if GROUPS != 1:
        return u32(daemon.silent[OWING_AT]) != 0
    owed = u32(0)
    for node in range(NODES):
        owed += daemon.peers[node].unacked
    return owed != 0


@firmware
def look() -> None:
    """The timer went off."""
    daemon.armed = 0
    now = timer.now()
    for node in range(NODES):
        peer = address_of(daemon.peers[node])
        if daemon.config.ack_timer != 0 and peer.unacked != 0 and now - peer.since >= daemon.config.ack_timer:
            shared.border.counts[ACKS_TIMER] += 1
            answer(peer)
    if now - daemon.looked >= daemon.config.timeout >> 2:
        daemon.looked = now
        look_at_packets(now)


@firmware
def look_at_packets(now: u32) -> None:
    """Send those again that were not acknowledged in time. To look at all entries takes long, so
    it is not done for each tick of the acknowledgement timer."""
    for index in range(SEND_ENTRIES):
        entry = address_of(daemon.entries[index])
        waits = entry.outstanding != 0 and entry.queued == 0
        if waits and now - entry.sent_at >= daemon.config.timeout:
            time_out(index, entry)


@firmware
def time_out(index: u32, entry: Ptr[Entry]) -> None:
    shared.border.counts[TIMEOUTS] += 1
    if entry.tries >= daemon.config.retries:
        give_up(entry.outstanding, group_of(address_of(entry.nodes)))
    else:
        send_again(index, entry.outstanding)


@firmware
def give_up(nodes: u32, group: u32) -> None:
    """These nodes do not answer. All that is under way to them is dropped, and so is what will be
    sent."""
    daemon.silent[group] |= nodes
    for place in range(GROUP):
        node = group * GROUP + place
        peer = address_of(daemon.peers[node])
        if nodes >> place & 1 != 0:
            while peer.acked != peer.next:
                acknowledged(peer, node, peer.acked)
                peer.acked += 1
    for client in range(CLIENTS):
        daemon.client_states[client].changed = 1
