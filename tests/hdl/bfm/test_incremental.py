"""Our engine gives what Amaranth's own gives: all signals and memories, in each delta cycle."""

import random
from collections import defaultdict

import pytest
from amaranth import Assert, Cat, ClockDomain, Module, Print, ResetInserter, ResetSignal, Signal, signed
from amaranth.hdl._ast import Operator
from amaranth.lib.memory import Memory
from amaranth.sim import Simulator
from amaranth.sim.pysim import PySimEngine

from lanai_hdl.bfm.incremental import IncrementalEngine
from lanai_hdl.bfm.shapes import shapes_kept
from lanai_hdl.host_dma.aligner import Aligner
from lanai_hdl.queue import Queue

SLOTS = 100


def changes(engine, top, drive, wave, clocks=("sync",)):
    """Return the changes in `top` while `drive(context)` runs, by time: its wave, without the order
    within a moment."""
    simulator = Simulator(top, engine=engine)
    for n, clock in enumerate(clocks):
        simulator.add_clock(1e-6 * (3 + n) / 3, domain=clock)
    simulator.add_testbench(drive)
    with simulator.write_vcd(str(wave), fs_per_delta=1):
        simulator.run()
    found, now = defaultdict(set), "declared"
    for line in wave.read_text().splitlines():
        if line.startswith("#"):
            now = line
        elif not line.startswith("$date"):
            found[now].add(line)
    return found


NAMES = ("d", "small", "at", "held", "free", "shared", "chain", "wide", "count", "follows", "low", "other", "kept")


class Everything:
    """One of each thing that the engine treats in its own way. `pokes`: what a bench may set."""

    def __init__(self):
        self.d = Signal(8)  # one statement each: Amaranth names them so, and a wave has what has a name
        self.small = Signal(signed(5))
        self.at = Signal(3)
        self.held = Signal(8)
        self.free = Signal(8, reset_less=True)
        self.pokes = [self.d, self.small, self.at, self.held]
        self.top = m = Module()
        m.domains += ClockDomain("sync"), ClockDomain("fall", clk_edge="neg")
        m.domains += ClockDomain("lost", async_reset=True)
        self._bits_of_one_signal(m)
        self._registers(m)
        self._memory(m)
        total = Signal(12)
        with m.If(self.d[0]):
            m.d.sync += Print("odd", self.d)
        m.d.comb += [total.eq(self.d * 3 - self.small), Assert(total < 4096)]
        with m.FSM():
            with m.State("EVEN"):
                m.d.comb += ResetSignal("lost").eq(self.d[1])
                with m.If(self.d[0]):
                    m.next = "ODD"
            with m.State("ODD"):
                m.d.comb += ResetSignal().eq(self.d[6:] == 3)
                with m.If(~self.d[0] | (self.small < -3)):
                    m.next = "EVEN"

    def _bits_of_one_signal(self, m):
        """A signal with drivers in two modules, one with bits that none drives, a loop of bits."""
        self.shared = shared = Signal(signed(8))
        chain = Signal(4, init=5)
        wide = Signal(8, init=0x5A)
        m.submodules.inner = inner = Module()
        inner.d.comb += shared[4:].eq(self.small[:4])
        m.d.comb += [shared[:4].eq(self.d), Cat(chain[1:], chain[0]).eq(Cat(self.d[0], chain[1:]))]
        m.d.sync += wide[2:5].eq(shared >> 2)
        m.d.sync += wide.bit_select(self.at, 1).eq(self.d[3])

    def _registers(self, m):
        """Add registers that hold, count, follow, fall back and are reset by a signal."""
        count = Signal(8)
        follows = Signal(8)
        low = Signal(8, init=7)
        other = Signal(8, init=9)
        m.d.sync += [count.eq(count + 1), follows.eq(self.d), self.free.eq(self.held)]
        m.d.sync += self.held.eq(self.at)  # a bench that sets `held` is overruled at the next edge
        m.d.fall += low.eq(low + self.small)
        m.d.lost += other.eq(other ^ self.d)
        part = Module()
        kept = Signal(8, init=3)
        with part.If(self.at[0]):
            part.d.sync += kept.eq(kept + self.d)
        m.submodules.part = ResetInserter(self.at[2])(part)

    def _memory(self, m):
        m.submodules.memory = memory = Memory(shape=8, depth=6, init=[1, 2, 3])
        write, read, now = memory.write_port(), memory.read_port(), memory.read_port(domain="comb")
        m.d.comb += [write.addr.eq(self.at), write.data.eq(self.d), write.en.eq(self.small[0])]
        m.d.comb += [read.addr.eq(self.at + 1), now.addr.eq(self.at)]
        self.pokes.append(memory.data[2])


def everything(engine, wave):
    parts, chance = Everything(), random.Random(4)
    read = []

    async def drive(context):
        for _ in range(SLOTS):
            for poke in chance.sample(parts.pokes, 2):
                shape = poke.shape()
                value = chance.getrandbits(shape.width)
                context.set(poke, value - (1 << shape.width) if shape.signed and value >> (shape.width - 1) else value)
            read.append(context.get(parts.shared))
            await chance.choice((context.tick(), context.tick(), context.tick("fall"), context.delay(4e-7)))

    return changes(engine, parts.top, drive, wave, ("sync", "fall", "lost")), read


def test_every_kind_of_statement(tmp_path, capsys):
    ours = everything(IncrementalEngine, tmp_path / "ours.vcd")
    printed = capsys.readouterr().out
    theirs = everything(PySimEngine, tmp_path / "theirs.vcd")
    assert ours == theirs
    assert len(ours[0]) > SLOTS
    assert all(any(f" {name} " in line for line in ours[0]["declared"]) for name in NAMES)
    assert min(ours[1]) < 0 < max(ours[1])
    assert printed == capsys.readouterr().out
    assert printed.count("odd") > SLOTS // 10


def random_inputs(block):
    """Drives every input of a block at random."""
    inputs = [signal for _, member, signal in block.signature.flatten(block) if member.flow.name == "In"]

    async def drive(context):
        chance = random.Random(1)
        for _ in range(SLOTS):
            signal = chance.choice(inputs)
            value = signal.as_value() if hasattr(signal, "as_value") else signal
            context.set(value, chance.getrandbits(len(value)))
            await context.tick()

    return drive


@pytest.mark.parametrize("make", [lambda: Queue(16, 4), Aligner], ids=["queue", "aligner"])
def test_blocks_with_random_inputs(tmp_path, make):
    ours, theirs = (
        changes(engine, block, random_inputs(block), tmp_path / f"{engine.__name__}.vcd")
        for engine, block in ((IncrementalEngine, make()), (PySimEngine, make()))
    )
    assert ours == theirs
    assert len(ours) > SLOTS


def test_a_simulation_begins_anew_after_a_reset():
    top, count, more = Module(), Signal(8, init=3), Signal(8)
    top.d.sync += count.eq(count + 1)
    top.d.comb += more.eq(count + 1)
    seen = []

    async def drive(context):
        seen.append(context.get(more))
        context.set(count, 40)
        await context.tick().repeat(3)
        seen.append(context.get(more))

    simulator = Simulator(top, engine=IncrementalEngine)
    simulator.add_clock(1e-6)
    simulator.add_testbench(drive)
    simulator.run()
    simulator.reset()
    simulator.run()
    assert seen == [4, 44, 4, 44]


def test_what_does_not_change_is_not_evaluated():
    top, d, q, other = Module(), Signal(8), Signal(8), Signal(8)
    top.d.comb += other.eq(d + 1)
    top.d.sync += q.eq(other)
    simulator = Simulator(top, engine=IncrementalEngine)
    simulator.add_clock(1e-6)
    runs = []
    for piece in simulator._engine._pieces:
        piece.run = lambda run=piece.run: (runs.append(run), run())

    async def drive(context):
        await context.tick().repeat(20)
        context.set(d, 5)
        await context.tick().repeat(20)
        assert context.get(q) == 6

    simulator.add_testbench(drive)
    simulator.run()
    # The sum at first and for the new d; the register for each sum, and once more after it has changed.
    assert len(runs) == 2 + 4


# Within `shapes_kept` operators have the shapes that they have, and compute them once.


DEPTH = 12


def operators():
    a, b, c = Signal(5), Signal(signed(7)), Signal(3)
    return [a + b, a - b, -b, ~a, a * b, a // b, a % b, a == b, a & b, a << c, b >> c, (a + b) * c - a, b.as_unsigned()]


def test_shapes_are_the_same():
    plain = [operator.shape() for operator in operators()]
    with shapes_kept():
        made = operators()
        assert [operator.shape() for operator in made] == plain
        assert [operator.shape() for operator in made] == plain
    assert [operator.shape() for operator in made] == plain


def test_each_operator_computes_its_shape_once(monkeypatch):
    computed = Operator.shape
    calls = []

    def counted(operator):
        calls.append(operator)
        return computed(operator)

    monkeypatch.setattr(Operator, "shape", counted)
    sum_of_all = Signal(4) + Signal(4)
    for _ in range(DEPTH):
        sum_of_all = sum_of_all + sum_of_all
    calls.clear()
    with shapes_kept():
        assert sum_of_all.shape().width == 4 + 1 + DEPTH
        assert sum_of_all.shape().width == 4 + 1 + DEPTH
    assert len(calls) == 1 + DEPTH


def fail():
    with shapes_kept():
        raise ZeroDivisionError


def test_amaranth_is_as_it_was_afterwards():
    computed = Operator.shape
    with shapes_kept():
        assert Operator.shape is not computed
    assert Operator.shape is computed
    with pytest.raises(ZeroDivisionError):
        fail()
    assert Operator.shape is computed
