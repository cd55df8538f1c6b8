"""Contexts of ours give what Amaranth's own give: ticks, samples, reads and writes of every kind."""

import random
import re
from enum import IntFlag
from pathlib import Path

import pytest
from amaranth import Assert, Cat, ClockDomain, Module, ResetSignal, Signal, signed
from amaranth.asserts import AnySeq
from amaranth.hdl import DriverConflict
from amaranth.lib import data, enum, wiring
from amaranth.sim import BrokenTrigger, DomainReset, Simulator
from amaranth.sim.pysim import PySimEngine

from lanai_hdl.bfm import Bench, Chip, proofs
from lanai_hdl.bfm.incremental import IncrementalEngine
from lanai_hdl.bfm.proofs import prove
from lanai_hdl.errors import UserError

SLOTS = 200
CLOCKS = ("sync", "fall", "lost", "bare")


class Colour(enum.Enum, shape=3):
    RED = 0
    GREEN = 4


class Bits(IntFlag):
    """Its operators give a `Bits` again, which holds other bits than a number would."""

    LOW = 1
    HIGH = 64


class Pair(data.Struct):
    colour: Colour
    number: signed(5)


class Design:
    """A counter for each kind of clock, and inputs of each kind."""

    def __init__(self):
        self.top = m = Module()
        m.domains += ClockDomain("sync"), ClockDomain("fall", clk_edge="neg")
        m.domains += ClockDomain("lost", async_reset=True), ClockDomain("bare", reset_less=True)
        self.resets = Signal(2)
        self.pair, self.colour, self.wide, self.small = Signal(Pair), Signal(Colour), Signal(8), Signal(signed(5))
        self.counts = {clock: Signal(8) for clock in CLOCKS}
        self.copy, self.sum = Signal(Pair), Signal(signed(10))
        m.d.comb += [ResetSignal().eq(self.resets[0]), ResetSignal("lost").eq(self.resets[1])]
        m.d.comb += self.sum.eq(self.wide + self.small)
        m.d.sync += self.copy.eq(self.pair)
        for clock, count in self.counts.items():
            m.d[clock] += count.eq(count + 1)

    def expressions(self):
        counts = self.counts.values()
        parts = (self.copy.number, self.copy.colour, self.wide[2:5], self.small[1], self.wide ^ 3, Cat(*counts))
        return [*counts, *parts, self.copy, self.colour, self.small, self.sum, 7, Colour.GREEN]

    def poke(self, context, chance):
        number = chance.randrange(-400, 400)
        context.set(chance.choice([self.wide, self.small, self.wide[1:4], self.pair.number]), number)
        context.set(self.colour, chance.choice(list(Colour)))
        context.set(self.wide, chance.choice([True, number, Bits.HIGH | (number & 0x3F)]))
        context.set(self.small, chance.choice([Bits.LOW, -Bits.HIGH | number]))
        context.set(self.pair, {"colour": chance.choice(list(Colour)), "number": number})
        context.set(self.resets, chance.choice([0, 0, 0, 1, 2]))


def seen(engine):
    """Return the values that testbenches and a process read, with the readers' names, in order."""
    design, found, waiting = Design(), [], True
    simulator = Simulator(design.top, engine=engine)
    for n, clock in enumerate(CLOCKS):
        simulator.add_clock(1e-6 * (3 + n) / 3, domain=clock)

    async def poker(context):
        chance = random.Random(1)
        while waiting or len(found) < 4 * SLOTS:
            design.poke(context, chance)
            found.append(("poker", *map(context.get, chance.sample(design.expressions(), 3))))
            clock = context.tick(chance.choice(CLOCKS))
            found.append(("sampled", *await clock.sample(*chance.sample(design.expressions(), 2)).sample(design.sum)))

    async def counter(context):
        while True:
            try:
                async for values in context.tick("lost").sample(design.counts["lost"], design.pair):
                    found.append(("counter", *values))
            except BrokenTrigger:
                found.append(("broken", context.get(design.sum)))

    async def waiter(context):
        nonlocal waiting
        for _ in range(SLOTS // 4):
            try:
                found.append(("until", *await context.tick().sample(design.sum).until(design.wide[0])))
            except DomainReset:
                found.append(("reset", context.get(design.sum)))
            found.append(("bare", *await context.tick("bare").repeat(2)))
            found.append(("edge", *await context.edge(design.wide[0], 1).sample(design.small)))
        waiting = False

    async def process(context):
        while True:
            found.append(("process", *await context.tick("fall").sample(design.wide, design.copy)))

    simulator.add_testbench(poker)
    simulator.add_testbench(counter, background=True)
    simulator.add_testbench(waiter)
    simulator.add_process(process)
    simulator.run()
    return [tuple(value.as_value().value if isinstance(value, data.Const) else value for value in row) for row in found]


def test_the_same_is_read_at_the_same_moments():
    ours, theirs = seen(IncrementalEngine), seen(PySimEngine)
    assert sorted(map(repr, ours)) == sorted(map(repr, theirs))
    for name in {row[0] for row in theirs}:  # processes wake in any order, each reads in its own
        mine = [row for row in ours if row[0] == name]
        assert mine == [row for row in theirs if row[0] == name]
        assert len(set(mine)) > 10 or name == "bare"


def test_what_the_design_drives_cannot_be_set():
    design = Design()
    simulator = Simulator(design.top, engine=IncrementalEngine)

    async def drive(context):
        context.set(design.sum, 1)

    simulator.add_testbench(drive)
    with pytest.raises(DriverConflict, match="cannot be overriden"):
        simulator.run()


def test_a_wait_that_a_reset_ends_is_not_met_later():
    """After a reset the processes begin again; the waits of the run before wake none of them."""
    design, ticks = Design(), []
    simulator = Simulator(design.top, engine=IncrementalEngine)
    simulator.add_clock(1e-6)

    async def drive(context):
        for _ in range(3):
            await context.tick()
            ticks.append(context.get(design.counts["sync"]))

    async def background(context):
        while True:
            await context.tick()

    simulator.add_testbench(drive)
    simulator.add_testbench(background, background=True)
    simulator.run()
    simulator.reset()
    simulator.run()
    assert ticks == [1, 2, 3] * 2


# A bench that does not end says where it waits.


def test_it_names_the_function_the_line_and_what_it_waits_for():
    async def asks(context, world):
        await context.tick()
        await answered(world)

    async def answered(world):
        await world.firmware.until("SCRATCH0", 7)

    with pytest.raises(TimeoutError) as told:
        Chip(slots=300).run(asks)
    lines = str(told.value).splitlines()
    assert lines[0] == "the bench did not end within 300 slots; it waits in"
    here = r"tests/hdl/bfm/test_testbenches\.py:\d+"
    assert any(re.fullmatch(rf"  asks, {here}: await answered\(world\)", line) for line in lines), lines
    assert any(
        re.fullmatch(rf'  answered, {here}: await world\.firmware\.until\("SCRATCH0", 7\)', line) for line in lines
    )
    assert any(line.endswith("while await self.load(name) != value:") for line in lines)


def test_it_names_each_process_that_has_not_ended_and_no_other():
    seen = Signal()
    bench = Bench(Module(), slots=20)

    async def ends(context):
        await context.tick()

    async def hangs(context):
        await context.posedge(seen)

    async def hangs_too(context):
        async for _, _, value in context.tick().sample(seen):
            if value:
                return

    async def serves(context):
        while True:
            await context.tick()

    for process in (ends, hangs, hangs_too):
        bench.add(process)
    bench.add_background(serves)
    with pytest.raises(TimeoutError) as told:
        bench.run()
    text = str(told.value)
    assert "await context.posedge(seen)" in text
    assert "async for _, _, value in context.tick().sample(seen):" in text
    assert not re.search("ends,|serves,", text)


# The prover: what holds is proved, what does not is refused with a waveform, and what cannot be asked is told.


class Counts(wiring.Component):
    """A counter that stops at `last` is never above `most`."""

    def __init__(self, last, most):
        self.last, self.most = last, most
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        count = Signal(4)
        with m.If((count != self.last) & AnySeq(1)):
            m.d.sync += count.eq(count + 1)
        m.d.comb += Assert(count <= self.most, "stops")
        return m


@pytest.mark.proof
@pytest.mark.slow
def test_what_holds_is_proved_and_what_does_not_has_a_waveform(lanai_prove, tmp_path):
    lanai_prove(Counts(5, 5))
    with pytest.raises(AssertionError, match="Assert failed") as caught:
        lanai_prove(Counts(5, 4), mode="bmc", depth=8)
    waveform = Path(str(caught.value).rpartition(": ")[2])
    assert waveform.read_text().startswith("$")
    lanai_prove(Counts(5, 4), mode="bmc", depth=5)  # too short to fail


@pytest.mark.parametrize(("mode", "depth"), [("proof", 2), ("bmc", 0)])
def test_what_is_no_proof_is_refused(tmp_path, mode, depth):
    with pytest.raises(UserError, match=rf"mode='{mode}', depth={depth} is no proof; take one of \('prove', 'bmc'\)"):
        prove(Counts(5, 5), tmp_path, mode=mode, depth=depth)


def test_missing_tools_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(proofs, "_path", lambda: str(tmp_path))
    with pytest.raises(UserError, match=r"yowasp-sby is not installed; pip install 'openlanai\[formal\]'"):
        prove(Counts(5, 5), tmp_path)
