"""Rules of order, one event before another: an engine of a node stands still until the rule would be
broken."""

import sys

import pytest

from lanai_firmware.lang import constants_set, offset_of
from lanai_firmware.programs.ccu import layout, state
from lanai_firmware.programs.ccu.layout import DATA, ENTRIES, RING, SEND_ENTRIES, SLOTS, Client, Count

from ..rig import go_on
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


# Daemons of more nodes than a word has bits: a packet is for nodes of one group of 32.


NODES = 40


@pytest.fixture
def many_nodes(monkeypatch):
    """The firmware as it is built for so many nodes."""
    sizes = layout.sizes(NODES)
    package = layout.__name__.rpartition(".")[0]
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{package}.") and module is not layout:
            for constant in sizes.keys() & vars(module).keys():
                monkeypatch.setattr(module, constant, layout.u32(sizes[constant]))
    with constants_set(sizes):
        yield


@pytest.fixture
def world():
    return Daemons((1,) * NODES, ack_every=1, retries=3, broadcast=0)


@pytest.mark.usefixtures("many_nodes")
@pytest.mark.parametrize(("source", "target"), [(0, 39), (39, 0), (7, 39), (33, 34), (2, 34)])
def test_a_packet_reaches_a_node_of_any_group(world, source, target):
    """Nodes 2 and 34 have the same place in their groups, as 7 and 39 have."""
    one, other = world.hosts[source], world.hosts[target]
    world.run([(one, bytes([n]), {target: 1}) for n in range(70)])
    assert other.got == [bytes([n]) for n in range(70)]
    assert sum(bool(host.got) for host in world.hosts) == 1
    assert world.settled


@pytest.mark.usefixtures("many_nodes")
def test_a_packet_for_several_nodes_is_one_for_each(world):
    world.run([(world.hosts[0], b"x", {33: 1, 39: 1, 34: 1})])
    assert [node for node, host in enumerate(world.hosts) if host.got] == [33, 34, 39]
    assert world.settled


@pytest.mark.usefixtures("many_nodes")
def test_a_silent_node_is_named_in_its_group(world):
    world.wire.spoil = lambda source, target, packet: [] if target == 35 else [packet]
    one = world.hosts[0]
    world.run([(one, b"x", {35: 1}), (one, b"y", {3: 1})])
    assert layout.nodes_of([one.status("silent", group) for group in range(2)]) == 1 << 35
    assert world.hosts[3].got == [b"y"]
    assert world.settled


@pytest.mark.usefixtures("many_nodes")
def test_missing_packets_are_sent_again(world):
    lost = iter([True, False, True])
    world.wire.spoil = lambda source, target, packet: [] if target == 36 and next(lost, False) else [packet]
    world.run([(world.hosts[1], bytes([n]), {36: 1}) for n in range(9)])
    assert world.hosts[36].got == [bytes([n]) for n in range(9)]
    assert world.count(Count.RESENT) > 0
    assert world.settled


@pytest.mark.usefixtures("many_nodes")
@pytest.mark.parametrize("target", [NODES, 63, 64, 200])
def test_nothing_is_sent_to_a_group_or_node_that_there_is_not(world, target):
    world.run([(world.hosts[0], b"x", {target: 1}), (world.hosts[0], b"y", {39: 1})])
    assert world.hosts[39].got == [b"y"]
    assert world.count(Count.SENT) == 1
    assert world.settled


@pytest.mark.usefixtures("many_nodes")
def test_a_set_of_nodes_is_a_word_for_each_group():
    nodes = 1 << 39 | 1 << 32 | 5
    assert layout.group_words(nodes) == [5, 0b1000_0001]
    assert layout.nodes_of(layout.group_words(nodes)) == nodes
    assert layout.sizes(16) == {}
    assert layout.sizes(17) == {"NODES": 32, "GROUP": 32}
    assert layout.sizes(200)["GROUPS"] == 8
