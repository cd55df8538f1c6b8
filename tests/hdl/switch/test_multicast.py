"""Packets to several ports of a switch: whole and in order at all of them, whatever stalls; no two
wait for each other; a mask that means nothing is counted."""

import random

import pytest
from pairs import some_of
from tests.hdl.wire import Node, packet, routed

from lanai_hdl.link.flit import Kind
from lanai_hdl.link.format import MULTICAST, multicast_word

from .test_switch import run, small


def copied(words, *ports):
    """A packet to several ports."""
    return routed(multicast_word(ports), words)


def switch(ports=4, **changes):
    return small(ports, multicast=True, **changes)


def test_a_packet_reaches_all_that_its_mask_names_in_the_same_slots():
    nodes = [Node(send=copied([1, 2, 3], 1, 3)), Node(), Node(), Node()]
    counters = run(switch(), nodes)
    assert nodes[1].packets == [(0, [1, 2, 3], True)]
    assert nodes[1].got == nodes[3].got
    assert not nodes[0].got
    assert not nodes[2].got
    assert counters["forwarded"] == 2 * 5


def test_head_latency(expected):
    """Two slots more than a packet to one port takes: it asks for the turn first."""
    nodes = [Node(send=copied([1], 1, 2)), Node(), Node(), Node()]
    run(switch(), nodes)
    expected("switch.multicast_head_latency_slots", nodes[1].got[0][2])


def test_a_mask_of_one_and_a_mask_with_the_own_port_are_good():
    nodes = [Node(send=copied([5], 2) + copied([6], 0, 1)), Node(), Node(), Node()]
    run(switch(), nodes)
    assert nodes[2].packets == [(0, [5], True)]
    assert nodes[0].packets == nodes[1].packets == [(0, [6], True)]


@pytest.mark.parametrize("mask", [0, 1 << 4, 1 << 15 | 1])
def test_a_mask_of_none_or_of_a_port_that_is_not_there_is_dropped_and_counted(mask):
    bad = [(Kind.HEAD, MULTICAST << 24 | mask << 8), (Kind.DATA, 1), (Kind.TAIL, 0)]
    nodes = [Node(send=bad + copied([2], 1, 2)), Node(), Node(), Node()]
    counters = run(switch(), nodes)
    assert counters["bad_routes"] == 1
    assert [len(node.packets) for node in nodes] == [0, 1, 1, 0]


def test_a_switch_without_it_takes_the_word_for_a_count():
    """Four more switches, out of port 0."""
    nodes = [Node(), Node(send=copied([1], 2)), Node()]
    run(small(3), nodes)
    assert nodes[0].packets == [((0xB0 << 24) | (1 << 2) << 8, [1], True)]


def test_a_slow_port_holds_up_the_others_and_a_dead_cable_does_not():
    slow = [Node(send=copied(range(30), 1, 2)), Node(deaf=range(300)), Node(), Node()]
    run(switch(), slow, slots=1000)
    assert slow[2].got[-1][2] > 300
    dead = [Node(send=copied(range(30), 1, 2)), Node(up=False), Node(), Node()]
    run(switch(), dead, slots=600)
    assert dead[2].packets == [(0, list(range(30)), True)]
    assert dead[2].got[-1][2] < 300


def test_a_blocked_packet_to_several_is_given_up():
    nodes = [Node(send=copied(range(30), 1, 2)), Node(deaf=range(2000)), Node(), Node(send=packet([9], 2))]
    counters = run(switch(blocked_slots=200), nodes)
    assert counters["blocked"] == 1
    assert ([9], True) in [got[1:] for got in nodes[2].packets]


@pytest.mark.parametrize(("gap", "stop"), [(0, 0), (0.4, 0), (0, 0.2), (0.3, 0.1)])
@pytest.mark.parametrize("seed", some_of(1, range(3)))
def test_random_traffic_arrives_whole_and_in_order(gap, stop, seed):
    """All ports send to random sets and to single ports at once, so they want each other's outputs."""
    rng = random.Random(seed)
    nodes, sent = [Node(gap=gap, stop=stop) for _ in range(4)], {}
    for source, node in enumerate(nodes):
        for number in range(12):
            targets = rng.sample(range(4), rng.randint(1, 4))
            words = [source << 24 | number, *(rng.randrange(1 << 32) for _ in range(rng.randrange(9)))]
            alone = len(targets) == 1 and rng.random() < 0.8
            node.send += packet(words, *targets) if alone else copied(words, *targets)
            for target in targets:
                sent.setdefault((source, target), []).append(words)
    counters = run(switch(), nodes, seed=seed)
    for target, node in enumerate(nodes):
        got = node.packets
        assert all((route, sound) == (0, True) for route, _, sound in got)
        for source in range(4):
            assert [words for _, words, _ in got if words[0] >> 24 == source] == sent.get((source, target), [])
    assert counters["bad_routes"] == counters["strays"] == 0
