"""A bench that is used again does what a new one does."""

from types import SimpleNamespace

import pytest
from amaranth import Module, Signal
from amaranth.lib.memory import Memory

from lanai_hdl.bfm import Bench, Chip
from lanai_hdl.bfm.chip import SMALL
from lanai_hdl.bfm.kept import KEPT, KeptSimulations


class Counter:
    """Counts what is given, and writes the sums to a memory that is read without a clock."""

    def __init__(self, slots=100):
        m = Module()
        self.step, self.total, self.at = Signal(8), Signal(8, init=3), Signal(2)
        m.submodules.memory = self.memory = memory = Memory(shape=8, depth=4, init=[9, 8, 7, 6])
        write, self.read = memory.write_port(), memory.read_port(domain="comb")
        m.d.comb += [write.addr.eq(self.at), write.en.eq(1), write.data.eq(self.total), self.read.addr.eq(self.at + 1)]
        m.d.sync += [self.total.eq(self.total + self.step), self.at.eq(self.at + 1)]
        self.bench = Bench(m, slots)

    def run(self, steps):
        """The total and what is read in each slot; a background process is left waiting."""
        found = []

        async def script(context):
            for step in steps:
                context.set(self.step, step)
                found.append((context.get(self.total), context.get(self.read.data)))
                await context.tick()

        async def waits(context):
            await context.posedge(self.step[7])
            found.append("woken")

        self.bench.add_background(waits)
        self.bench.add(script)
        self.bench.run()
        return found


def test_a_second_run_is_as_the_first():
    counter = Counter()
    expected = Counter().run(range(9))
    assert expected[0] == (3, 8)
    assert counter.run(range(100, 120))[-1] != expected[-1]
    for _ in range(2):
        counter.bench.restart(100)
        assert counter.run(range(9)) == expected
    counter.bench.restart(100)
    assert counter.run([1, 200, 1]) == Counter().run([1, 200, 1])  # one waits, and those of before do not


def test_the_limit_is_that_of_the_run():
    counter = Counter()
    counter.run(range(9))
    counter.bench.restart(5)
    with pytest.raises(TimeoutError, match="within 5 slots"):
        counter.run(range(9))


def test_a_memory_is_loaded_for_one_run():
    counter = Counter()
    counter.bench.load(counter.memory, [50, 60])
    assert [read for _, read in counter.run([0, 0, 0, 0])] == [60, 7, 6, 3]
    counter.bench.restart(100)
    assert [read for _, read in counter.run([0, 0, 0, 0])] == [8, 7, 6, 3]


class StandIn:
    """Has a bench that counts how often it was made new."""

    def __init__(self):
        self.bench = SimpleNamespace(ended=False, limits=[])
        self.bench.restart = self.bench.limits.append


def test_only_what_has_ended_is_taken_again():
    kept = KeptSimulations()
    first, second = (kept.take("a", 100, StandIn) for _ in range(2))
    assert first is not second
    second.bench.ended = True
    assert kept.take("b", 100, StandIn) is not second
    assert second.bench.limits == []
    assert kept.take("a", 70, StandIn) is second
    assert second.bench.limits == [70]


def test_a_run_that_fails_is_no_end():
    counter = Counter()
    with pytest.raises(TimeoutError):
        counter.run(range(200))
    assert not counter.bench.ended


def test_those_used_last_are_kept():
    kept = KeptSimulations()
    made = [kept.take(key, 100, StandIn) for key in range(KEPT + 1)]
    for thing in made:
        thing.bench.ended = True
    assert kept.take(0, 100, StandIn) is not made[0]
    assert kept.take(KEPT, 100, StandIn) is made[KEPT]


def test_a_chip_is_as_new():
    """SRAM, registers and what surrounds it."""

    async def script(context, world):
        seen.append((await world.host.read(0x100), await world.host.read_register("SCRATCH3"), len(world.sink.packets)))
        await world.host.write(0x100, 77)
        await world.host.write_register("SCRATCH3", 78)
        await context.tick()

    seen = []
    chips = []
    for _ in range(2):
        chips.append(Chip(SMALL.but(sram_size=4096)))
        chips[-1].run(script)
    assert chips[0].bench is chips[1].bench
    assert seen == [(0, 0, 0)] * 2
