"""The segment: one talker at a time, packets whole at all that are named, and a NIC that says STOP
loses only its own copy."""

import random
from itertools import pairwise

import pytest
from tests.hdl.wire import WATCHDOG, Node, Simulated, nic, route, routed

from lanai_hdl.bfm import simulator
from lanai_hdl.bfm.kept import SIMULATIONS
from lanai_hdl.errors import UserError
from lanai_hdl.hub.config import FrameTimes
from lanai_hdl.link.flit import Kind
from lanai_hdl.link.format import multicast_word
from lanai_hdl.segment.config import Backoff, SegmentConfig
from lanai_hdl.segment.contention import GROWS, SEED, TAPS, Contention
from lanai_hdl.segment.segment import Segment

COUNTERS = ("bad_routes", "silences", "strays", "forwarded", "collisions", "drops")


def packet(words, *ports):
    return routed(route(*ports) if len(ports) == 1 else multicast_word(ports), words)


def small(ports=3, *, link_kbytes=264_000, **changes):
    return SegmentConfig(ports=ports, nic=nic(link_kbytes), **changes)


def run(config, nodes, seed=1):
    made = SIMULATIONS.take(config, WATCHDOG + 2, lambda: Simulated(Segment(config)))
    return made.turn(nodes, COUNTERS, seed=seed)


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


# NICs that collide on a segment's wire: Ethernet's back-off.

TIMES = Backoff(slot=7, collision=5)


class Reference:
    """The rules in Python, a slot at a time."""

    def __init__(self, stations):
        self.stations = range(stations)
        self.wait = [0] * stations
        self.collisions = [0] * stations
        self.random = [SEED * (2 * n + 1) & 0xFFFF for n in self.stations]
        self.holder, self.jam = None, 0

    def slot(self, asking, silent):
        """(who has the wire after this slot, whether several began in it)"""
        if self.holder is not None and not asking[self.holder]:
            self.holder = None
        free = self.holder is None and not self.jam and silent
        begin = [n for n in self.stations if asking[n] and not self.wait[n]]
        drawn = list(self.random)
        self.wait = [max(0, wait - 1) for wait in self.wait]
        self.jam = max(0, self.jam - 1)
        if any(asking):
            self.random = [one >> 1 | (sum(one >> tap & 1 for tap in TAPS) & 1) << 15 for one in self.random]
        if not free or not begin:
            return self.holder, False
        if len(begin) == 1:
            self.holder = begin[0]
            self.collisions[self.holder] = 0
            return self.holder, False
        self.jam = TIMES.collision
        for n in begin:
            self.collisions[n] = min(GROWS, self.collisions[n] + 1)
            self.wait[n] = TIMES.collision + drawn[n] % (1 << self.collisions[n]) * TIMES.slot
        return None, True


@pytest.mark.parametrize("stations", [1, 2, 5])
def test_as_the_rules_say(stations):
    """Random packets of all lengths on a wire that is silent for a while after each."""
    dut, reference, rng = Contention(stations, TIMES), Reference(stations), random.Random(stations)
    served, several = [0] * stations, 0

    async def bench(ctx):
        nonlocal several
        left, gap, holder = [0] * stations, 0, None
        for _ in range(6000):
            if holder is not None and left[holder]:
                left[holder] -= 1
                served[holder] += not left[holder]
                gap = 3
            for n in range(stations):
                if not left[n] and n != holder and rng.random() < 0.05:
                    left[n] = rng.randint(1, 20)
            asking = [bool(one) for one in left]
            ctx.set(dut.request, sum(one << n for n, one in enumerate(asking)))
            ctx.set(dut.silent, not gap)
            collided = ctx.get(dut.collided)
            holder, expected = reference.slot(asking, not gap)
            assert bool(collided) == expected
            await ctx.tick()
            assert ctx.get(dut.grant) == (0 if holder is None else 1 << holder)
            gap = max(0, gap - 1)
            several += expected

    sim = simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.run()
    assert all(served), "each has had the wire"
    assert sum(served) > 100
    assert bool(several) == (stations > 1)


def test_who_waited_for_a_packet_begins_behind_it_with_all_others_that_did():
    """Two NICs that have packets from the first slot on collide once at least; all packets arrive."""
    frame = FrameTimes(lead=4, gap=3)
    nodes = [Node(send=[flit for k in range(6) for flit in packet([n, k], 2)]) for n in range(2)] + [Node()]
    counters = run(small(3, frame=frame, backoff=TIMES), nodes)
    assert counters["collisions"] >= 1
    for n in range(2):
        assert [words for _, words, whole in nodes[2].packets if whole and words[0] == n] == [[n, k] for k in range(6)]
    assert not any(counters["drops"])


def test_one_talker_alone_does_not_wait():
    """Each of its packets is a slot later than on a wire on which NICs take turns: it is given the
    wire when that is silent, not before."""
    slots = []
    for backoff in (None, TIMES):
        nodes = [Node(send=packet([1, 2], 1) * 3), Node(), Node()]
        counters = run(small(3, frame=FrameTimes(lead=4, gap=3), backoff=backoff), nodes)
        slots.append([slot for kind, _, slot in nodes[1].got if kind == Kind.HEAD])
        assert counters["collisions"] == 0
    assert [late - soon for soon, late in zip(*slots, strict=True)] == [0, 1, 2]


@pytest.mark.parametrize("name", ["slot", "collision"])
def test_a_bad_time_is_quoted(name):
    with pytest.raises(UserError, match=f"{name}=0 must be a whole number of slots from 1 to"):
        Backoff(**{"slot": 1, "collision": 1} | {name: 0})


# Frames on a segment's wire: lead, least length and gap.

TIMES_FRAMES = FrameTimes(lead=20, least=60, gap=15)
RUN_IN = 8  # slots between a flit on a port and that it may leave


@pytest.mark.parametrize("words", [1, 100])
def test_a_wire_takes_a_frame_for_each_packet(words):
    """The HEAD leaves after the lead, the TAIL when the frame is long enough, and the next frame
    begins after the gap."""
    nodes = [Node(send=packet([n] * words, 2) * 2) for n in range(2)] + [Node()]
    run(small(3, frame=TIMES_FRAMES), nodes)
    heads = [slot for kind, _, slot in nodes[2].got if kind == Kind.HEAD]
    tails = [slot for kind, _, slot in nodes[2].got if kind == Kind.TAIL]
    found = list(zip(heads, tails, strict=True))
    assert len(found) == 4
    assert TIMES_FRAMES.lead <= found[0][0] <= TIMES_FRAMES.lead + RUN_IN
    inside = max(words + 1, TIMES_FRAMES.least - TIMES_FRAMES.lead)
    assert {tail - head for head, tail in found} == {inside}
    between = {after[0] - before[1] for before, after in pairwise(found)}
    assert between == {TIMES_FRAMES.gap + TIMES_FRAMES.lead + 1}
