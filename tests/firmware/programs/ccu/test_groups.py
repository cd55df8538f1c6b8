"""Daemons of more nodes than a word has bits: a packet is for nodes of one group of 32."""

import sys

import pytest

from lanai_firmware.lang import constants_set
from lanai_firmware.programs.ccu import layout
from lanai_firmware.programs.ccu.layout import Count

from .daemons import Daemons

NODES = 40


@pytest.fixture(autouse=True)
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


@pytest.mark.parametrize(("source", "target"), [(0, 39), (39, 0), (7, 39), (33, 34), (2, 34)])
def test_a_packet_reaches_a_node_of_any_group(world, source, target):
    """Nodes 2 and 34 have the same place in their groups, as 7 and 39 have."""
    one, other = world.hosts[source], world.hosts[target]
    world.run([(one, bytes([n]), {target: 1}) for n in range(70)])
    assert other.got == [bytes([n]) for n in range(70)]
    assert sum(bool(host.got) for host in world.hosts) == 1
    assert world.settled


def test_a_packet_for_several_nodes_is_one_for_each(world):
    world.run([(world.hosts[0], b"x", {33: 1, 39: 1, 34: 1})])
    assert [node for node, host in enumerate(world.hosts) if host.got] == [33, 34, 39]
    assert world.settled


def test_a_silent_node_is_named_in_its_group(world):
    world.wire.spoil = lambda source, target, packet: [] if target == 35 else [packet]
    one = world.hosts[0]
    world.run([(one, b"x", {35: 1}), (one, b"y", {3: 1})])
    assert layout.nodes_of([one.status("silent", group) for group in range(2)]) == 1 << 35
    assert world.hosts[3].got == [b"y"]
    assert world.settled


def test_missing_packets_are_sent_again(world):
    lost = iter([True, False, True])
    world.wire.spoil = lambda source, target, packet: [] if target == 36 and next(lost, False) else [packet]
    world.run([(world.hosts[1], bytes([n]), {36: 1}) for n in range(9)])
    assert world.hosts[36].got == [bytes([n]) for n in range(9)]
    assert world.count(Count.RESENT) > 0
    assert world.settled


@pytest.mark.parametrize("target", [NODES, 63, 64, 200])
def test_nothing_is_sent_to_a_group_or_node_that_there_is_not(world, target):
    world.run([(world.hosts[0], b"x", {target: 1}), (world.hosts[0], b"y", {39: 1})])
    assert world.hosts[39].got == [b"y"]
    assert world.count(Count.SENT) == 1
    assert world.settled


def test_a_set_of_nodes_is_a_word_for_each_group():
    nodes = 1 << 39 | 1 << 32 | 5
    assert layout.group_words(nodes) == [5, 0b1000_0001]
    assert layout.nodes_of(layout.group_words(nodes)) == nodes
    assert layout.sizes(16) == {}
    assert layout.sizes(17) == {"NODES": 32, "GROUP": 32}
    assert layout.sizes(200)["GROUPS"] == 8
