"""Rules of order, one event before another: an engine of a node stands still until the rule would be
broken."""

from lanai_firmware.lang import offset_of
from lanai_firmware.programs.ccu import state
from lanai_firmware.programs.ccu.layout import DATA, ENTRIES, RING, SEND_ENTRIES, SLOTS, Client, Count

from ..holding import go_on
from .daemons import Daemons


def test_memory_is_released_when_nothing_is_on_its_way_to_it():
    world = Daemons(ack_every=1)
    one, other = world.hosts
    world.quiet()
    assert one.send(b"x", {1: 1})
    go_on(world.wire, ("copy", 1))
    other.end()
    go_on(world.wire, ("copy", 1))
    assert released(other) == 0
    world.run()
    assert released(other) == 1


def released(host):
    return int.from_bytes(host.nic.pio_read(host.at + int(offset_of(Client, "released")), 4), "big")


def test_a_report_is_not_written_over_before_it_has_been_copied():
    """The rank finds the packets when it finds the count."""
    world = Daemons(ack_every=1)
    one, other = world.hosts
    world.quiet()
    other.reads = False
    seen = set()
    for n in range(4):
        assert one.send(bytes([n + 1]) * 8, {1: 1})
        go_on(world.wire, ("copy", 1), ("copy", 0))
    while actions := [action for action in world.wire.actions() if action[0] != "tick"]:
        for action in actions:
            world.wire.act(action)
            seen.add(other.status("arrived"))
            other.reads = True
            other.take()
            other.reads = False
            assert other.got == [bytes([n + 1]) * 8 for n in range(len(other.got))]
    assert len(seen) > 2


def test_copies_wait_for_room():
    """Copies of packets wait, and those of reports."""
    world = Daemons((3, 1), ack_every=1)
    *ranks, other = world.hosts
    world.quiet()
    for n in range(6):
        assert other.send(bytes([n]) * 8, {0: 0b111})
        go_on(world.wire, ("copy", 0))
    world.run()
    for rank in ranks:
        assert rank.got == [bytes([n]) * 8 for n in range(6)]


def test_an_entry_is_free_when_its_copy_is_done():
    world = Daemons(ack_every=1)
    one, other = world.hosts
    world.quiet()
    assert one.send(b"x", {1: 1})
    go_on(world.wire, ("copy", 1))
    assert world.free(1) == int(ENTRIES) - 2
    world.run()
    assert other.got == [b"x"]
    assert world.settled


def test_an_entry_is_free_when_it_is_acknowledged():
    """By all nodes that it is for."""
    world = Daemons((1, 1, 1), ack_every=1, timeout=1 << 20)
    kept = []
    world.wire.spoil = lambda source, target, packet: (kept.append(packet) or []) if source == 2 else [packet]
    world.quiet()
    assert world.hosts[0].send(b"x", {1: 1, 2: 1})
    go_on(world.wire)
    assert world.free(0) == int(ENTRIES) - 2
    world.wire.wires[2, 0].extend(kept)
    go_on(world.wire)
    assert world.settled


def test_a_packet_for_no_rank_is_free_at_once():
    """Once."""
    world = Daemons(ack_every=1)
    world.quiet()
    world.arrive(1, [int(DATA) << 24 | 1 << 16, 1 << 24, 0, 4], b"data")
    world.run()
    assert world.hosts[1].got == []
    assert world.settled


def test_an_entry_is_free_when_it_has_left():
    """It is sent again while the acknowledgement comes."""
    world = Daemons(ack_every=1)
    one, other = world.hosts
    kept = []
    world.wire.spoil = lambda source, target, packet: (kept.append(packet) or []) if source == 1 else [packet]
    world.quiet()
    assert one.send(b"x", {1: 1})
    while not world.count(Count.TIMEOUTS):
        for action in world.wire.actions():
            if action[:2] != ("send", 0) or not world.count(Count.TIMEOUTS):
                world.wire.act(action)
    go_on(world.wire, ("send", 0))
    world.wire.wires[1, 0].extend(kept)
    go_on(world.wire, ("send", 0))
    assert world.free(0) == int(ENTRIES) - 2
    world.run()
    assert other.got == [b"x"]
    assert world.settled


def test_one_packet_leaves_at_a_time():
    """The daemon knows of one entry that it must not change."""
    world = Daemons(ack_every=1)
    one, other = world.hosts
    world.quiet()
    for n in range(3):
        assert one.send(bytes([n]), {1: 1})
    go_on(world.wire, ("send", 0))
    assert len(one.nic.sends) == 1
    world.run()
    assert other.got == [bytes([n]) for n in range(3)]


def test_packets_wait_while_no_entry_is_free():
    """Each send queue keeps its entries; what is not acknowledged has the others."""
    world = Daemons((8, 1, 1), window=63, timeout=1 << 20, ack_every=1)
    ranks, others = world.hosts[:8], world.hosts[8:]
    room = int(SEND_ENTRIES) - 1 - len(ranks) * int(SLOTS)
    world.wire.spoil = lambda source, target, packet: [packet] if source == 0 else []
    world.quiet()
    each = room // len(ranks) + 3
    for rank in ranks:
        for n in range(each):
            assert rank.send(bytes([rank.client, n]), {1 + n % 2: 1})
    go_on(world.wire)
    assert sum(rank.status("sent") for rank in ranks) == room
    world.wire.spoil = lambda source, target, packet: [packet]
    world.run()
    for place, other in enumerate(others):
        assert sorted(other.got) == [bytes([rank.client, n]) for rank in ranks for n in range(place, each, 2)]
    assert world.settled


def test_an_entry_is_kept_for_acknowledgements():
    """CC-G3: a rank that does not read fills the pool. What its node sends is acknowledged all the same."""
    world = Daemons(ack_every=1)
    one, slow = world.hosts
    world.quiet()
    slow.reads = False
    count = int(RING) + int(ENTRIES) - int(SEND_ENTRIES) + 10
    sent = 0
    while not world.count(Count.OVERFLOWS):
        assert sent < count
        sent += one.send(bytes([sent]), {1: 1})
        go_on(world.wire)
    assert slow.send(b"out", {0: 1})
    go_on(world.wire)
    with slow.nic.machine:
        assert state.daemon.peers[0].acked == 1
    slow.reads = True
    slow.take()
    world.run()
    assert slow.got == [bytes([n]) for n in range(sent)]
    assert one.got == [b"out"]
    assert world.settled
