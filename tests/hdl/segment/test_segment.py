"""The segment: one talker at a time, packets whole at all that are named, and a NIC that says STOP
loses only its own copy."""

import random

import pytest

from lanai_hdl.errors import UserError
from lanai_hdl.hub.config import FrameTimes
from lanai_hdl.link.flit import Kind
from lanai_hdl.link.format import multicast_word
from lanai_hdl.segment.config import SegmentConfig

from .wire import Node, packet, run, small


def test_a_packet_reaches_all_that_its_mask_names_in_the_same_slots():
    nodes = [Node(send=packet([1, 2, 3], 1, 2)), Node(), Node(), Node()]
    counters = run(small(4), nodes)
    assert nodes[1].packets == [(0, [1, 2, 3], True)]
    assert nodes[1].got == nodes[2].got
    assert not nodes[0].got
    assert not nodes[3].got
    assert counters == {"bad_routes": 0, "silences": 0, "strays": 0, "forwarded": 5, "collisions": 0, "drops": [0] * 4}


@pytest.mark.parametrize("target", [0, 2])
def test_a_packet_to_one_port_has_the_route_of_a_switch(target):
    nodes = [Node(send=packet([7], target)), Node(), Node()]
    run(small(), nodes)
    assert [len(node.packets) for node in nodes] == [int(n == target) for n in range(3)]


@pytest.mark.parametrize(("gap", "stop"), [(0, 0), (0.5, 0), (0, 0.2), (0.3, 0.1)])
def test_random_traffic_arrives_whole_and_in_order_or_not_at_all(gap, stop):
    """The sound packets of a receiver are a part, in order, of those that each talker sent it. Lost ones
    are counted."""
    rng = random.Random(3)
    nodes = [Node(gap=gap, stop=stop) for _ in range(4)]
    sent = {}
    for source, node in enumerate(nodes):
        for number in range(10):
            targets = rng.sample(range(4), rng.randint(1, 4))
            words = [source << 24 | number, *(rng.randrange(1 << 32) for _ in range(rng.randrange(9)))]
            node.send += packet(words, *targets)
            for target in targets:
                sent.setdefault((source, target), []).append(words)
    counters = run(small(4), nodes)
    for target, node in enumerate(nodes):
        assert not node.broke
        sound = [words for _, words, whole in node.packets if whole]
        expected = sum(len(sent.get((source, target), ())) for source in range(4))
        assert len(sound) + counters["drops"][target] == expected
        for source in range(4):
            left = iter(sent.get((source, target), ()))
            assert all(words in left for words in sound if words[0] >> 24 == source)  # `in` moves on: a part in order
        if not stop:
            assert len(sound) == expected
            assert all(whole for _, _, whole in node.packets)


def test_one_talks_at_a_time_with_a_gap_between_packets():
    nodes = [Node(send=packet([n] * 4, 3) * 2) for n in range(3)] + [Node()]
    run(small(4, frame=FrameTimes(gap=9)), nodes)
    heads = [slot for kind, _, slot in nodes[3].got if kind == Kind.HEAD]
    tails = [slot for kind, _, slot in nodes[3].got if kind == Kind.TAIL]
    assert len(heads) == 6
    assert all(head - tail >= 9 for head, tail in zip(heads[1:], tails, strict=False))
    talkers = [words[0] for _, words, _ in nodes[3].packets]
    assert sorted(talkers[:3]) == [0, 1, 2]  # round robin: no NIC is passed over


def test_the_wire_has_the_rate_of_a_link():
    nodes = [Node(send=packet([0] * 40, 1)), Node()]
    run(small(2, link_kbytes=26_400), nodes)
    slots = [slot for _, _, slot in nodes[1].got]
    assert slots[-1] - slots[0] == 10 * (len(slots) - 1)


@pytest.mark.parametrize("flit", [0, 3, 7])
def test_a_slow_receiver_loses_its_copy_and_is_counted(flit):
    """From the HEAD on, from the midst, the TAIL alone: the others get everything, and it goes on
    with a later packet."""
    one, two = [1] * 6, [2] * 6
    free = [Node(send=packet(one, 1, 2)), Node(), Node(), Node()]
    run(small(4), free)
    passes = free[1].got[flit][2] - 1
    nodes = [Node(send=packet(one, 1, 2)), Node(deaf=range(passes, 60)), Node(), Node()]
    nodes[0].send += [(Kind.IDLE, 0)] * 80 + packet(two, 1, 2)
    counters = run(small(4), nodes)
    assert [(words, whole) for _, words, whole in nodes[2].packets] == [(one, True), (two, True)]
    assert counters["drops"] == [0, 1, 0, 0]
    assert nodes[1].packets[-1] == (0, two, True)
    assert not any(whole for _, _, whole in nodes[1].packets[:-1])
    assert not nodes[1].broke


def test_a_talker_that_falls_silent_loses_the_wire():
    nodes = [Node(send=packet([1, 2, 3], 2)[:-2]), Node(send=packet([8], 2) + packet([9], 2)), Node()]
    counters = run(small(silent_slots=50), nodes)
    arrived = [(words, whole) for _, words, whole in nodes[2].packets]
    assert arrived == [([8], True), ([1, 2], False), ([9], True)]  # round robin
    assert counters["silences"] == 1


def test_a_head_without_a_tail_before_it_ends_that_packet():
    nodes = [Node(send=packet([1, 2], 1)[:-1] + packet([3], 1)), Node()]
    counters = run(small(2), nodes)
    assert [(words, whole) for _, words, whole in nodes[1].packets] == [([1, 2], False), ([3], True)]
    assert counters["silences"] == 1


@pytest.mark.parametrize("route", [0, 0x8300_0000, 0x9100_0000, 0xC000_0000, 0xC000_0800, 0xC100_0100])
def test_a_route_to_no_port_is_swallowed_and_counted(route):
    """No route; a port, a count, no mask, a mask of ports that are not there; a top byte that means
    nothing."""
    nodes = [Node(send=[(Kind.HEAD, route), *packet([1], 1)[1:], *packet([2], 1)]), Node(), Node()]
    counters = run(small(), nodes)
    assert [words for _, words, _ in nodes[1].packets] == [[2]]
    assert counters["bad_routes"] == 1


def test_flits_outside_a_packet_are_counted():
    nodes = [Node(send=[(Kind.DATA, 1), (Kind.TAIL, 2), *packet([3], 1)]), Node()]
    assert run(small(2), nodes)["strays"] == 2
    assert [words for _, words, _ in nodes[1].packets] == [[3]]


@pytest.mark.parametrize("name", ["ports", "silent_slots"])
def test_a_bad_parameter_is_quoted(name):
    with pytest.raises(UserError, match=f"{name}=-7 must be a whole number from"):
        SegmentConfig(**{name: -7})


def test_masks_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="no port 16"):
        multicast_word([0, 16])
    with pytest.raises(ValueError, match="to no port"):
        multicast_word([])
