"""Two ends of a link over pins, each with a clock of its own: packets are right, whatever the wires do."""

import itertools
import random

import pytest
from amaranth import ClockDomain, DomainRenamer, Elaboratable, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from lanai_hdl.bfm import stream_put
from lanai_hdl.config import NicConfig
from lanai_hdl.link.crc import crc32
from lanai_hdl.link.flit import Flit, Kind
from lanai_hdl.link.receiver import LinkReceiver
from lanai_hdl.link.transmitter import LinkTransmitter
from lanai_hdl.phy.phy import Phy

CONFIG = NicConfig(slot_khz=40_000, link_kbytes=160_000, link_latency=8, rx_fifo=64)
SLOT = 15e-9
TURN_UP = 600  # slots in which both sides are up after all is well
LAST = (0xFEDCBA98, [1, 2, 3])
SIDES = "ab"
COUNTERS = ("up", "downs", "bad_symbols", "cut_flits", "misrouted")


class Side(wiring.Component):
    """Both ends of a NIC's link with a phy, as a board has them. `overflows`, `stops`: of its receiver."""

    i: In(stream.Signature(Flit))
    o: Out(stream.Signature(Flit))
    overflows: Out(8)
    stops: Out(8)

    def __init__(self):
        self.phy, self.receiver = Phy(), LinkReceiver(CONFIG)
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.phy, m.submodules.receiver = phy, receiver = self.phy, self.receiver
        m.submodules.transmitter = transmitter = LinkTransmitter(CONFIG)
        wiring.connect(m, wiring.flipped(self.i), transmitter.i)
        wiring.connect(m, transmitter.link, phy.link_tx)
        wiring.connect(m, phy.link_rx, receiver.link)
        wiring.connect(m, receiver.o, wiring.flipped(self.o))
        m.d.comb += transmitter.up.eq(receiver.up)
        m.d.sync += self.overflows.eq(self.overflows + receiver.overflow)
        m.d.sync += self.stops.eq(self.stops + receiver.raised)
        return m


class Wires(Elaboratable):
    """Two sides. `noise` is what the wires invert into each of them, `cut` whether they have random bits instead."""

    def __init__(self):
        self.sides = {name: Side() for name in SIDES}
        self.domains = {name: ClockDomain(name) for name in SIDES}
        self.cable_clocks = {name: ClockDomain(f"{name}_rx") for name in SIDES}
        self.noise = {name: Signal(10, name=f"noise_{name}") for name in SIDES}
        self.cut = Signal()

    def elaborate(self, platform):
        m = Module()
        for name, other in zip(SIDES, reversed(SIDES), strict=True):
            m.domains += [self.domains[name], self.cable_clocks[name]]
            m.submodules[name] = DomainRenamer({"sync": name, "rx": f"{name}_rx"})(self.sides[name])
            sent = self.sides[other].phy.o.as_value()
            m.d.comb += (
                self.sides[name]
                .phy.i.as_value()
                .eq(
                    (sent & ~self.cut.replicate(10)) ^ self.noise[name],
                )
            )
        return m


class Here:
    """A bench's context in the clock of one side."""

    def __init__(self, context, domain):
        self.context, self.domain = context, domain
        self.get, self.set = context.get, context.set

    def tick(self):
        return self.context.tick(self.domain)


class Bench:
    """Both sides in the simulator. `ppm`: how much faster `b` is; `errors`: the chance of each bit to be wrong."""

    def __init__(self, ppm=0, errors=0.0, seed=1):
        self.top, self.errors, self.chance = Wires(), errors, random.Random(seed)
        self.simulator = Simulator(self.top)
        self.slots = {"a": SLOT, "b": SLOT / (1 + ppm / 1e6)}
        for name, other in zip(SIDES, reversed(SIDES), strict=True):
            self.simulator.add_clock(self.slots[name], phase=self.slots[name], domain=name)
            self.simulator.add_testbench(self._cable(name, other), background=True)
        self.got = {name: [] for name in SIDES}
        self.slots_of = {name: [] for name in SIDES}  # in which each flit came

    def _cable(self, name, other):
        """The clock into `name`, in the middle of the other side's slots, and the bits that the wires invert."""

        async def process(context):
            half, clock = self.slots[other] / 2, self.top.cable_clocks[name].clk
            await context.delay(half)
            while True:
                cut = context.get(self.top.cut)
                bits = 10 * [0.5] if cut else 10 * [self.errors]
                if self.errors or cut:
                    noise = sum((self.chance.random() < chance) << n for n, chance in enumerate(bits))
                    context.set(self.top.noise[name], noise)
                else:
                    context.set(self.top.noise[name], 0)
                context.set(clock, not cut)
                await context.delay(half)
                context.set(clock, 0)
                await context.delay(half)

        return process

    def add(self, side, process):
        async def run(context):
            await process(Here(context, side))

        self.simulator.add_testbench(run)

    def sends(self, side, packets, idle=0.0):
        """The side sends the packets, a route and words each. It waits for the link before each."""

        async def process(here):
            for route, words in packets:
                await self.wait_up(here, side)
                body = [{"kind": Kind.DATA, "data": word} for word in words]
                flits = [{"kind": Kind.HEAD, "data": route}, *body, {"kind": Kind.TAIL, "data": 0}]
                await stream_put(here, self.top.sides[side].i, flits, idle=idle, seed=len(words))

        self.add(side, process)

    def takes(self, side, pause=0.0):
        """The side takes what comes, and it is kept."""

        async def run(context):
            here, chance = Here(context, side), random.Random(7)
            stream = self.top.sides[side].o
            for slot in itertools.count():
                here.set(stream.ready, chance.random() >= pause)
                _, _, valid, ready, flit = await here.tick().sample(stream.valid, stream.ready, stream.payload)
                if valid and ready:
                    self.slots_of[side].append(slot)
                    self.got[side].append((int(flit.kind.value), int(flit.data)))

        self.simulator.add_testbench(run, background=True)

    async def wait_up(self, here, side, slots=20 * TURN_UP):
        for _ in range(slots):
            if here.get(self.top.sides[side].receiver.up) and here.get(self.top.sides[side].phy.up):
                return
            await here.tick()
        raise TimeoutError(f"{side} is not up after {slots} slots")

    def run(self, slots):
        """Give the counters at the end, by side and name."""
        counted = {}

        async def at_the_end(context):
            await context.delay((slots - 1) * SLOT)
            for side in SIDES:
                one = self.top.sides[side]
                counted.update({(side, name): context.get(getattr(one.phy, name)) for name in COUNTERS})
                counted[side, "overflows"], counted[side, "stops"] = context.get(one.overflows), context.get(one.stops)

        self.simulator.add_testbench(at_the_end)
        self.simulator.run_until(slots * SLOT)
        return counted

    def packets(self, side):
        """The sound packets that came: route and words."""
        found, packet = [], None
        for kind, data in self.got[side]:
            if kind == Kind.HEAD.value:
                packet = (data, [])
            elif packet is not None and kind == Kind.DATA.value:
                packet[1].append(data)
            elif packet is not None and kind == Kind.TAIL.value:
                if data == crc32(packet[1]):
                    found.append(packet)
                packet = None
        return found


def some_packets(count, seed, longest=20):
    chance = random.Random(seed)
    return [
        (chance.getrandbits(32), [chance.getrandbits(32) for _ in range(chance.randrange(longest))])
        for _ in range(count)
    ]


def more(*values):
    """Values of a parameter beyond the one of the default run."""
    return [pytest.param(value, marks=pytest.mark.ci) for value in values]


def end_to_end(bench, slots, count=12, pause=0.9):
    """Packets pass both ways at once; `a` takes what comes late. Gives the counters."""
    sent = {side: some_packets(count, seed) for seed, side in enumerate(SIDES)}
    for side in SIDES:
        bench.sends(side, sent[side], idle=0.3 if side == "b" else 0.0)
        bench.takes(side, pause=pause if side == "a" else 0.0)
    return sent, bench.run(slots)


def is_right(came, sent):
    """Are these packets of those that were sent, in their order?"""
    rest = iter(sent)
    return all(packet in rest for packet in came)


@pytest.mark.parametrize("ppm", [100, *more(0, -100, 20_000, -20_000)])
def test_packets_pass_both_ways_at_once(ppm):
    bench = Bench(ppm)
    sent, counted = end_to_end(bench, 4500)
    assert bench.packets("b") == sent["a"]
    assert bench.packets("a") == sent["b"]
    assert {name for (_, name), value in counted.items() if value} == {"up", "bad_symbols", "stops"}
    for side in SIDES:
        assert counted[side, "bad_symbols"] < TURN_UP, "none once there is a clock and a lock"


@pytest.mark.ci
def test_wrong_bits_damage_no_packet_unseen():
    bench = Bench(ppm=100, errors=1e-3)
    sent, counted = end_to_end(bench, 8000, count=30)
    for side, other in ("ab", "ba"):
        assert is_right(bench.packets(side), sent[other])
        assert 5 < len(bench.packets(side)) < 30
        assert counted[side, "bad_symbols"] > 20
        assert counted[side, "cut_flits"] > 0


def trouble(bench, slots, begin, end):
    """A process that makes trouble for some slots, in the midst of packets: `begin` and `end` change the bench."""

    async def process(here):
        await bench.wait_up(here, "a")
        for _ in range(200):
            await here.tick()
        begin(here)
        for _ in range(slots):
            await here.tick()
        end(here)

    bench.add("a", process)


@pytest.mark.ci(whole=True)  # shorter than the clock's watch, and longer
@pytest.mark.parametrize("slots", [1, 3, 70, 500])
def test_a_cable_is_pulled_and_put_back(slots):
    bench = Bench(ppm=-100)
    trouble(bench, slots, lambda here: here.set(bench.top.cut, 1), lambda here: here.set(bench.top.cut, 0))
    sent, counted = end_to_end(bench, 6000, pause=0.0)
    for side, other in ("ab", "ba"):
        assert is_right(bench.packets(side), sent[other])
        assert bench.packets(side)[-1] == sent[other][-1], "the last ones pass again"
        assert counted[side, "up"] == 1
        assert (counted[side, "downs"] > 0) == (slots > 64)


@pytest.mark.ci
@pytest.mark.parametrize("slots", [1, 40, 400])
def test_one_side_is_reset(slots):
    bench = Bench(ppm=100)
    reset = bench.top.domains["b"].rst
    trouble(bench, slots, lambda here: here.set(reset, 1), lambda here: here.set(reset, 0))
    sent, counted = end_to_end(bench, 6000, pause=0.0)
    assert is_right(bench.packets("b"), sent["a"])
    assert bench.packets("b")[-1] == sent["a"][-1], "the last ones pass again"
    assert counted["a", "downs"] == 1
    assert counted["a", "up"] == counted["b", "up"] == 1


def test_a_long_packet_has_32_of_33_slots():
    bench, words = Bench(ppm=100), 160
    bench.sends("a", [(0, list(range(words)))])
    bench.takes("b")
    bench.run(1400)
    assert bench.packets("b") == [(0, list(range(words)))]
    first, *_, last = bench.slots_of["b"][1:-1]
    assert (last - first) / (words - 1) == pytest.approx(4 * 33 / 32, rel=0.01)


@pytest.mark.parametrize("seed", [1, *more(*range(2, 8))])
def test_whatever_happens_the_link_comes_back(seed):
    """The cable is pulled, either side is reset, bits are wrong, at random and soon after one another."""
    chance = random.Random(seed)
    bench = Bench(ppm=chance.choice([-20_000, -100, 100, 20_000]), seed=seed)
    over = []

    async def troubles(context):
        await context.delay(TURN_UP * SLOT)
        for _ in range(6):
            what = chance.choice([bench.top.cut, *(bench.top.domains[side].rst for side in SIDES), None])
            if what is None:
                bench.errors = chance.choice([0.01, 0.1, 0.5])
            else:
                context.set(what, 1)
            await context.delay(chance.choice([1, 10, 100, 400]) * SLOT * (1 + chance.random()))
            if what is not None:
                context.set(what, 0)
            bench.errors = 0.0
            await context.delay(chance.choice([1, 50, 700]) * SLOT * (1 + chance.random()))
        await context.delay(TURN_UP * SLOT)
        over.append(True)

    def sent(side):
        yield from some_packets(6, seed)
        while not over:
            yield (seed, [seed])
        yield LAST

    bench.simulator.add_testbench(troubles)
    for side in SIDES:
        bench.sends(side, sent(side), idle=0.2)
        bench.takes(side, pause=0.3)
    counted = bench.run(9000)
    for side in SIDES:
        came = bench.packets(side)
        assert came[-1] == LAST
        assert all(packet in [*some_packets(6, seed), (seed, [seed]), LAST] for packet in came)
        assert counted[side, "up"] == 1
