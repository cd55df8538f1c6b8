"""Beats in whole bursts: each word reaches its place, however late host and engine are, and behind resets."""

import random

import pytest
from amaranth import Module, Mux, ResetSignal, Signal
from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume
from amaranth.lib import wiring

from lanai_hdl.bfm import Bench, stream_get, stream_put
from lanai_hdl.config import NicConfig
from lanai_hdl.control.control import RESET_SLOTS
from lanai_hdl.host_bus.answers import AnswerGuard
from lanai_hdl.host_bus.bursts import MemoryBursts
from lanai_hdl.host_bus.bus import HostBus

OLD, NEW = 0x1000, 0x8000


def word_of(address, salt):
    return (address * 0x9E3779B1 + salt) & 0xFFFFFFFF


class Host:
    """The bus master of a NIC before `MemoryBursts`, and a host that serves bursts after any time."""

    def __init__(self, longest, seed, alike=False, refuses=False):
        self.bus, self.bursts = HostBus(NicConfig(sram_size=4096)), MemoryBursts(longest, alike)
        top = Module()
        top.submodules.bus, top.submodules.bursts = self.bus, self.bursts
        wiring.connect(top, self.bus.mem, self.bursts.mem)
        top.d.sync += self.bursts.reset.eq(self.bus.reset)
        self.bench = Bench(top, 1_000_000)
        self.chance, self.refuses = random.Random(seed), refuses
        self.longest, self.alike = longest, alike
        self.memory, self.counts, self.enables = {}, [], []

    def play(self, script):
        self.bench.add_background(self.serve)
        self.bench.add(script)
        self.bench.run()

    async def pause(self, context):
        for _ in range(self.chance.choice([0, 0, 0, 1, 5, 40])):
            await context.tick()

    async def serve(self, context):
        bursts = self.bursts
        while True:
            await self.pause(context)
            (burst,) = await stream_get(context, bursts.burst, 1)
            address, count = int(burst.addr), int(burst.count)
            assert 1 <= count <= self.longest
            self.counts.append(count)
            if burst.write:
                words = await stream_get(context, bursts.write, count)
                assert not self.alike or len({int(word.be) for word in words}) == 1
                await self.pause(context)
                if not self.refuses:
                    self.memory.update(
                        {address + 4 * n: (int(word.data), int(word.be)) for n, word in enumerate(words)}
                    )
                await self.end(context)
            elif self.refuses:
                given = self.chance.randrange(count)
                await self.give(context, address, given)
                await self.end(context)
            else:
                await self.give(context, address, count)

    async def give(self, context, address, count):
        for n in range(count):
            await self.pause(context)
            data = self.memory.get(address + 4 * n, (0, 0))[0]
            await stream_put(context, self.bursts.read, [{"data": data, "error": 0}])

    async def end(self, context):
        context.set(self.bursts.refused, self.refuses)
        context.set(self.bursts.end, 1)
        await context.tick()
        context.set(self.bursts.end, 0)

    async def begin(self, context, write, address, words, salt):
        engine = self.bus.engine
        await stream_put(context, engine.burst, [{"write": write, "word": address // 4, "words": words}])
        if write:
            for n in range(words):
                await self.pause(context)
                be = self.chance.choice([0b1111, 0b1111, 0b0110])
                self.enables.append(be)
                await stream_put(context, engine.write, [{"data": word_of(address + 4 * n, salt), "be": be}])

    async def transfer(self, context, write, address, words, salt):
        addresses = range(address, address + 4 * words, 4)
        self.enables.clear()
        if not write:
            self.memory = {one: (word_of(one, salt), 0b1111) for one in addresses}
        await self.begin(context, write, address, words, salt)
        if not write:
            errors = 0
            for one in addresses:
                await self.pause(context)
                (word,) = await stream_get(context, self.bus.engine.read, 1)
                errors += int(word.error)
                assert word.error or word.data == word_of(one, salt)
            assert bool(errors) == self.refuses
        while not context.get(self.bus.idle):
            await context.tick()
        if write and not self.refuses:
            found = [self.memory[one] for one in addresses]
            assert found == [(word_of(one, salt), be) for one, be in zip(addresses, self.enables, strict=True)]

    async def cut(self, context, write, words, salt):
        """Begin a transfer and reset the NIC some time later."""
        engine = self.bus.engine
        self.memory.clear()
        if not write:
            self.memory = {OLD + 4 * n: (word_of(OLD + 4 * n, salt), 0b1111) for n in range(words)}
        await stream_put(context, engine.burst, [{"write": write, "word": OLD // 4, "words": words}])
        context.set(engine.read.ready, self.chance.random() < 0.7)
        context.set(engine.write.valid, write)
        context.set(engine.write.payload, {"data": salt, "be": 0b1111})
        await context.tick().repeat(self.chance.randrange(1, 150))
        for signal in (engine.burst.valid, engine.write.valid, engine.read.ready):
            context.set(signal, 0)
        context.set(self.bus.reset, 1)
        await context.tick().repeat(RESET_SLOTS)
        context.set(self.bus.reset, 0)
        assert all(word[0] == salt for address, word in self.memory.items() if write)


@pytest.mark.parametrize("longest", [1, 5, pytest.param(64, marks=pytest.mark.ci)])
@pytest.mark.parametrize(("alike", "refuses"), [(False, False), (True, False), (False, True)])
def test_transfers_are_whole_whatever_waits(longest, alike, refuses):
    host = Host(longest, longest, alike, refuses)

    async def script(context):
        for salt, words in enumerate((70, 70, 1, 1, 2, 20, 20, 2)):
            await host.transfer(context, bool(salt % 2), NEW, words, salt)

    host.play(script)
    assert max(host.counts) == longest


@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.ci) for n in range(2, 9))])
def test_a_reset_leaves_nothing_behind(seed):
    """A burst begun before it is ended, and the same addresses have other words behind it."""
    host = Host(64, seed, alike=True)

    async def script(context):
        for salt in range(10):
            await host.cut(context, host.chance.random() < 0.5, host.chance.choice([1, 3, 30, 100]), salt)
            address = host.chance.choice([OLD, NEW, OLD + 4 * host.chance.randrange(20)])
            await host.transfer(context, host.chance.random() < 0.5, address, host.chance.choice([1, 20]), salt + 100)

    host.play(script)


class AnswersSpec(wiring.Component):
    """Each answer is to its beat, and each written word at its address, with resets at any time."""

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.guard, m.submodules.dut = guard, dut = AnswerGuard(4), MemoryBursts(3, alike=True)
        wiring.connect(m, guard.o, dut.mem)
        mem, burst = guard.i, dut.burst.payload
        m.d.comb += [guard.reset.eq(AnySeq(1)), Assume(~ResetSignal())]
        m.d.sync += dut.reset.eq(guard.reset)
        for port in (mem.valid, mem.write, dut.burst.ready, dut.write.ready, dut.read.valid, dut.end, dut.refused):
            m.d.comb += port.eq(AnySeq(1))
        m.d.comb += [mem.addr[2:5].eq(AnySeq(3)), mem.be.eq(AnySeq(4)), mem.burst.eq(AnySeq(2)), Assume(mem.burst != 0)]
        m.d.comb += mem.wdata.eq(mem.addr + 1)
        self._holds(m, guard)
        # The host: words only to a read burst that it has taken, an end to a write burst behind its last word.
        asked, writes, given, taken = Signal(), Signal(), Signal(3), Signal(3)
        came, put = dut.read.valid & dut.read.ready, dut.write.valid & dut.write.ready
        m.d.comb += [
            dut.read.payload.data.eq(burst.addr + 1 + (given << 2)),
            Assume(~dut.read.valid | asked & (given != burst.count)),
            Assume(~dut.end | asked & (taken == burst.count) | asked & ~writes & (given != burst.count)),
        ]
        m.d.sync += [given.eq(given + came), taken.eq(taken + put)]
        with m.If(dut.burst.valid & dut.burst.ready):
            m.d.sync += [asked.eq(1), writes.eq(burst.write)]
        done = asked & Mux(writes, dut.end, dut.end | (came & (given == burst.count - 1)))
        with m.If(done):
            m.d.sync += [asked.eq(0), given.eq(0), taken.eq(0)]
        with m.If(dut.write.valid):
            m.d.comb += Assert(dut.write.payload.data == burst.addr + 1 + (taken << 2))
        beat = Signal(32)
        with m.If(mem.valid & mem.ready):
            m.d.sync += beat.eq(mem.addr)
        m.d.comb += [Assert(taken <= burst.count), Assert(~mem.rvalid | (guard.owed != 0))]
        reading = Signal()
        with m.If(mem.valid & mem.ready):
            m.d.sync += reading.eq(~mem.write)
        with m.If(mem.rvalid & reading & ~mem.rerror):
            m.d.comb += Assert(mem.rdata == beat + 1)
        return m

    @staticmethod
    def _holds(m, guard):
        """The NIC: a beat stays until it is taken or withdrawn, reads wait for no more than one answer, and beats of
        both directions are never under way."""
        mem, waits, before = guard.i, Signal(), Signal(40)
        shown = Signal(40)
        m.d.comb += shown.eq(mem.addr[2:5] | mem.be << 3 | mem.write << 7 | mem.burst << 8)
        m.d.sync += [before.eq(shown), waits.eq(mem.valid & ~mem.ready & ~guard.reset)]
        with m.If(waits):
            m.d.comb += [Assume(mem.valid), Assume(shown == before)]
        writing = Signal()
        with m.If(mem.valid & mem.ready):
            m.d.sync += writing.eq(mem.write)
        with m.If(guard.owed != 0):
            m.d.comb += Assume(~mem.valid | (mem.write == writing))
        m.d.comb += [Assume(~mem.valid | (guard.owed < 4)), Assume(~guard.reset | ~mem.valid)]
        left, following = Signal(2), Signal(3)  # of a burst under way: beats, and where the next one is
        m.d.comb += Assume(mem.addr[2:5] + mem.burst <= 8)
        with m.If(guard.reset):
            m.d.sync += left.eq(0)
        with m.Elif(mem.valid & mem.ready):
            m.d.sync += [left.eq(mem.burst - 1), following.eq(mem.addr[2:5] + 1)]
        with m.If(mem.valid & (left != 0)):
            m.d.comb += Assume((mem.burst == left) & (mem.addr[2:5] == following) & (mem.write == writing))


@pytest.mark.slow
@pytest.mark.proof
def test_each_answer_is_to_its_beat(prove):
    prove(AnswersSpec(), mode="bmc", depth=13)
