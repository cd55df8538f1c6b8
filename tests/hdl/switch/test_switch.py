"""The switch: every packet comes out of the port its route names, whole and in order, whatever
stalls; what cannot is counted."""

import random
from itertools import pairwise

import pytest
from tests.hdl.wire import WATCHDOG, Node, Simulated, nic, packet, route

from lanai_hdl.bfm.kept import SIMULATIONS
from lanai_hdl.config import BlockedAction
from lanai_hdl.errors import UserError
from lanai_hdl.link.flit import Kind
from lanai_hdl.switch.switch import Switch
from lanai_hdl.switch_config import SwitchConfig

COUNTERS = ("bad_routes", "blocked", "strays", "forwarded", "resets")


def run(config, nodes, slots=None, seed=1):
    made = SIMULATIONS.take(config, WATCHDOG + 2, lambda: Simulated(Switch(config)))
    return made.turn(nodes, COUNTERS, slots, seed)


def small(ports=3, **changes):
    return SwitchConfig(ports=ports, nic=nic(), **changes)


def test_route_byte_is_stripped_and_the_rest_untouched():
    nodes = [Node(send=packet([1, 2, 3], 2, 1)), Node(), Node()]
    counters = run(small(), nodes)
    assert nodes[2].packets == [(route(1), [1, 2, 3], True)]
    assert counters["forwarded"] == 5
    assert not nodes[0].got
    assert not nodes[1].got


@pytest.mark.parametrize("count", range(8))
@pytest.mark.parametrize("rest", [0x000000, 0x818283, 0xFFFFFF])
def test_a_count_is_taken_down_and_its_byte_stripped_when_none_is_left(count, rest):
    """Either the count or the byte goes, never both, and the other three bytes are untouched."""
    head = (0x80 | count << 4 | 2) << 24 | rest
    flits = packet([7, 8], 2)
    nodes = [Node(send=[(Kind.HEAD, head), *flits[1:]]), Node(), Node()]
    counters = run(small(), nodes)
    left = (0x80 | (count - 1) << 4 | 2) << 24 | rest if count else rest << 8
    assert nodes[2].packets == [(left, [7, 8], True)]
    assert counters["bad_routes"] == 0


def test_head_latency(expected):
    nodes = [Node(send=packet([1], 1)), Node()]
    run(small(ports=2), nodes)
    expected("switch.head_latency_slots", nodes[1].got[0][2])


@pytest.mark.parametrize(("gap", "stop"), [(0, 0), (0.5, 0), (0, 0.5), (0.3, 0.3)])
@pytest.mark.parametrize("ports", [2, 5])
def test_random_traffic_arrives_whole_and_in_order(ports, gap, stop):
    rng = random.Random(ports)
    nodes = [Node(gap=gap, stop=stop) for _ in range(ports)]
    sent = {}
    for source, node in enumerate(nodes):
        for number in range(12):
            target = rng.randrange(ports)
            words = [source << 24 | number << 16 | rng.randrange(1 << 16) for _ in range(rng.randrange(12))]
            node.send += packet([source << 24 | number << 16, *words], target)
            sent.setdefault((source, target), []).append([source << 24 | number << 16, *words])
    run(small(ports), nodes)
    arrived = {}
    for target, node in enumerate(nodes):
        for left, words, sound in node.packets:
            assert left == 0
            assert sound
            arrived.setdefault((words[0] >> 24, target), []).append(words)
    assert arrived == sent


def test_the_largest_switch_joins_every_port_to_every_other():
    nodes = [Node(send=packet([n], 15 - n)) for n in range(16)]
    counters = run(small(ports=16), nodes)
    assert [node.packets for node in nodes] == [[(0, [15 - n], True)] for n in range(16)]
    assert counters["forwarded"] == 16 * 3


def test_contenders_are_served_in_turn():
    """Two inputs keep one output busy: neither sends two packets while the other waits."""
    nodes = [Node(send=[flit for _ in range(8) for flit in packet([n] * 6, 2)]) for n in range(2)] + [Node()]
    run(small(), nodes)
    order = [words[0] for _, words, _ in nodes[2].packets]
    assert sorted(order) == [0] * 8 + [1] * 8
    assert all(a != b for a, b in pairwise(order))


def test_stop_at_the_output_stops_the_input_and_loses_nothing():
    words = list(range(200))
    nodes = [Node(send=packet(words, 1)), Node(deaf=range(300))]
    run(small(ports=2), nodes)
    assert nodes[1].packets == [(0, words, True)]
    assert nodes[0].stops_seen > 100


@pytest.mark.parametrize("bad", [0x00000000, 0x03000000, 0x83000000, 0xFF000000])
def test_bad_route_is_dropped_and_counted(bad):
    good = packet([7], 1)
    nodes = [Node(send=[(Kind.HEAD, bad), (Kind.DATA, 1), (Kind.TAIL, 0), *good]), Node(), Node()]
    counters = run(small(), nodes)
    assert counters["bad_routes"] == 1
    assert [node.packets for node in nodes] == [[], [(0, [7], True)], []]


def test_flits_outside_a_packet_are_dropped_and_counted():
    nodes = [Node(send=[(Kind.DATA, 1), (Kind.TAIL, 2), *packet([7], 1)]), Node()]
    assert run(small(ports=2), nodes)["strays"] == 2
    assert nodes[1].packets == [(0, [7], True)]


def test_head_without_tail_before_it_frees_the_path():
    nodes = [Node(send=[*packet([1, 2], 1)[:-1], *packet([3], 2)]), Node(), Node()]
    run(small(), nodes)
    assert nodes[1].packets == [(0, [1, 2], None)]
    assert nodes[2].packets == [(0, [3], True)]


def test_packet_blocked_before_its_head_left_is_dropped_and_counted():
    """Input 0 holds the output with a packet whose tail never comes; input 1 gives up, and is free
    for others. So in the end does input 0, and the output is free again."""
    nodes = [
        Node(send=packet([1], 2)[:-1]),
        Node(send=[*packet([4] * 9, 1), *packet([5] * 4, 2), *packet([6] * 80, 0), *packet([7], 2)]),
        Node(),
    ]
    counters = run(small(blocked_slots=50), nodes, slots=300)
    assert counters["blocked"] == 2
    assert nodes[0].packets == [(0, [6] * 80, True)]
    assert nodes[2].packets == [(0, [1], None), (0, [7], True)]


def test_packet_blocked_in_its_middle_ends_unsound():
    nodes = [Node(send=[*packet(list(range(40)), 1), *packet([9], 0)]), Node(deaf=range(20, 80))]
    counters = run(small(ports=2, blocked_slots=40), nodes)
    assert counters["blocked"] == 1
    assert nodes[0].packets == [(0, [9], True)]
    ((_, words, sound),) = nodes[1].packets
    assert 0 < len(words) < 40
    assert sound is False


def test_a_stop_for_ever_holds_up_no_other_port():
    """Not even the tail of what was cut: all that goes elsewhere passes, and once the STOP is over
    so does what goes there."""
    to_others = [flit for n in range(5) for flit in packet([n] * 40, 0)]
    nodes = [
        Node(send=[*packet(list(range(90)), 1), *packet([2] * 9, 1), *to_others, *packet([7], 1)]),
        Node(deaf=range(20, 250)),
    ]
    counters = run(small(ports=2, blocked_slots=40), nodes)
    assert counters["blocked"] == 2
    assert nodes[0].packets == [(0, [n] * 40, True) for n in range(5)]
    cut, whole = nodes[1].packets
    assert cut[2] is None, "it ends when the next begins"
    assert whole == (0, [7], True)


def test_reset_on_block_clears_the_switch_and_it_works_again():
    nodes = [Node(send=packet(list(range(20)), 1)), Node(deaf=range(150))]
    config = small(ports=2, blocked_slots=40, blocked_action=BlockedAction.RESET)
    assert run(config, nodes)["resets"] == 1


def test_dead_cable_holds_no_port_up():
    nodes = [Node(send=[*packet([1] * 50, 1), *packet([2], 2)]), Node(up=False), Node()]
    counters = run(small(), nodes, slots=300)
    assert nodes[2].packets == [(0, [2], True)]
    assert counters["strays"] == 52


@pytest.mark.parametrize("ports", [1, 17, 2.5])
def test_impossible_port_count_is_quoted(ports):
    with pytest.raises(UserError, match=f"ports={ports}"):
        SwitchConfig(ports=ports)
