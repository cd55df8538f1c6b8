"""NICs that collide on a segment's wire: Ethernet's back-off."""

import random

import pytest

from lanai_hdl.bfm import simulator
from lanai_hdl.errors import UserError
from lanai_hdl.hub.config import FrameTimes
from lanai_hdl.link.flit import Kind
from lanai_hdl.segment.config import Backoff
from lanai_hdl.segment.contention import GROWS, SEED, TAPS, Contention

from .wire import Node, packet, run, small

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
