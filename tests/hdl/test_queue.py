"""Queues: order kept, nothing lost, at any pace."""

import random

import pytest
from amaranth import Assert, Module, Signal, unsigned
from amaranth.asserts import AnyConst, AnySeq
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from implementations import implementations

from lanai_hdl.bfm import Bench, stream_get, stream_put
from lanai_hdl.queue import BareQueue, BlockRamQueue, BypassQueue, LateEntryQueue, PopQueue, Queue


class AsQueue(wiring.Component):
    """Any kind of queue behind the two streams of a `Queue`: an entry of a `BypassQueue` is put, and
    one of a `PopQueue` popped, in the slot after the streams say so, as a register bank does."""

    def __init__(self, kind, shape, depth):
        self.dut = kind(shape, depth)
        super().__init__(Queue(shape, depth).signature)

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        coming, going = Signal(), Signal()  # entries on their way in and out
        if isinstance(dut, BypassQueue):
            m.d.sync += [dut.i.valid.eq(self.i.valid & self.i.ready), dut.i.payload.eq(self.i.payload)]
            m.d.comb += [coming.eq(dut.i.valid & dut.i.ready), self.i.ready.eq(dut.level + coming != dut.depth)]
        else:
            wiring.connect(m, wiring.flipped(self.i), dut.i)
        if isinstance(dut, PopQueue):
            m.d.sync += dut.o.pop.eq(self.o.valid & self.o.ready)
            m.d.comb += [going.eq(dut.o.pop), self.o.valid.eq(dut.o.valid), self.o.payload.eq(dut.o.payload)]
        else:
            wiring.connect(m, dut.o, wiring.flipped(self.o))
        m.d.comb += [self.level.eq(dut.level + coming - going), self.free.eq(dut.free - coming + going)]
        return m


KINDS = sorted(implementations(BareQueue), key=lambda kind: kind.__name__)
every = pytest.mark.parametrize("kind", KINDS)


@every
@pytest.mark.parametrize("depth", [1, 2, 3, 8])
@pytest.mark.parametrize(("idle", "pause"), [(0, 0), (0.5, 0), (0, 0.5), (0.4, 0.4)])
def test_what_goes_in_comes_out(kind, depth, idle, pause):
    dut = AsQueue(kind, unsigned(8), depth)
    values = [(7 * n) % 256 for n in range(60)]
    bench = Bench(dut, 2000)

    async def put(context):
        await stream_put(context, dut.i, values, idle=idle, seed=1)

    async def get(context):
        assert await stream_get(context, dut.o, len(values), pause=pause, seed=2) == values
        assert context.get(dut.level) == 0
        assert context.get(dut.free) == depth
        assert not context.get(dut.o.valid)

    bench.add(put)
    bench.add(get)
    bench.run()


@every
def test_a_full_queue_takes_nothing(kind):
    dut = AsQueue(kind, unsigned(8), 2)
    bench = Bench(dut, 100)

    async def fill(context):
        context.set(dut.i.valid, 1)
        await context.tick().repeat(2)
        assert context.get(dut.level) == 2
        assert not context.get(dut.i.ready)
        assert context.get(dut.free) == 0

    bench.add(fill)
    bench.run()


def test_an_entry_passes_an_empty_bypass_queue_in_its_slot():
    dut = BypassQueue(unsigned(8), 1)
    bench = Bench(dut, 100)

    async def pass_on(context):
        context.set(dut.i.payload, 1)
        context.set(dut.i.valid, 1)
        context.set(dut.o.ready, 1)
        assert context.get(dut.o.valid)
        assert context.get(dut.o.payload) == 1
        await context.tick()
        assert context.get(dut.level) == 0
        context.set(dut.o.ready, 0)
        await context.tick()
        context.set(dut.i.payload, 2)
        context.set(dut.o.ready, 1)
        assert not context.get(dut.i.ready), "full in this slot, though an entry leaves in it"
        assert context.get(dut.o.payload) == 1

    bench.add(pass_on)
    bench.run()


def test_a_pop_shows_the_next_entry_at_once():
    dut = PopQueue(unsigned(8), 2)
    bench = Bench(dut, 100)

    async def pop(context):
        context.set(dut.i.valid, 1)
        for entry in (1, 2):
            context.set(dut.i.payload, entry)
            await context.tick()
        assert not context.get(dut.i.ready)
        assert context.get(dut.o.payload) == 1
        context.set(dut.o.pop, 1)
        assert context.get(dut.o.payload) == 2
        assert context.get(dut.i.ready), "an entry goes in this slot"
        context.set(dut.i.valid, 0)
        await context.tick()
        assert not context.get(dut.o.valid), "the last one goes in this slot"

    bench.add(pop)
    bench.run()


def test_a_pop_without_an_entry_takes_nothing():
    dut = PopQueue(unsigned(8), 2)
    bench = Bench(dut, 100)

    async def pop(context):
        context.set(dut.o.pop, 1)
        context.set(dut.i.valid, 1)
        await context.tick()
        context.set(dut.i.valid, 0)
        context.set(dut.o.pop, 0)
        assert context.get(dut.level) == 1
        assert context.get(dut.o.valid)

    bench.add(pop)
    bench.run()


@every
def test_a_queue_holds_something(kind):
    with pytest.raises(ValueError, match=r"depth=0 of a \w*Queue must be at least 1"):
        kind(unsigned(8), 0)


class QueueSpec(wiring.Component):
    """The entry of any number leaves as that number, as it was put; and any kind is `Queue`, slot for
    slot."""

    def __init__(self, kind, depth):
        self.kind = kind
        self.depth = depth
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.plain = plain = Queue(unsigned(2), self.depth)
        m.submodules.other = other = AsQueue(self.kind, unsigned(2), self.depth)
        valid, payload, ready = AnySeq(1), AnySeq(2), AnySeq(1)
        for queue in plain, other:
            m.d.comb += [queue.i.valid.eq(valid), queue.i.payload.eq(payload), queue.o.ready.eq(ready)]
        number, entry = Signal(4), Signal(2)
        puts, takes = Signal(4), Signal(4)
        m.d.comb += number.eq(AnyConst(4))
        with m.If(plain.i.valid & plain.i.ready):
            m.d.sync += puts.eq(puts + 1)
            with m.If(puts == number):
                m.d.sync += entry.eq(plain.i.payload)
        with m.If(plain.o.valid & plain.o.ready):
            m.d.sync += takes.eq(takes + 1)
            with m.If(takes == number):
                m.d.comb += Assert(plain.o.payload == entry, "order")
        for name in ("level", "free"):
            m.d.comb += Assert(getattr(plain, name) == getattr(other, name), name)
        m.d.comb += [
            Assert(plain.level == puts - takes, "none lost"),
            Assert(plain.i.ready == other.i.ready),
            Assert(plain.o.valid == other.o.valid),
            Assert(~plain.o.valid | (plain.o.payload == other.o.payload), "the same entries"),
        ]
        if self.kind is LateEntryQueue:
            m.d.comb += Assert(other.dut.room == (other.free >= 2), "room for two")
        return m


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not Queue])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_every_entry_leaves_in_its_turn(prove, kind, depth):
    """For 12 slots from reset: every queue of these depths fills and empties three times in
    them."""
    prove(QueueSpec(kind, depth), mode="bmc", depth=12)


# The queue in block RAM: slot by slot as Amaranth's, with its output in registers.


class Both(BlockRamQueue):
    """The queue, and beside it, put to the same and taken from the same, Amaranth's of that
    depth."""

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = super().elaborate(platform)
        m.submodules.model = self.model = SyncFIFOBuffered(width=self.shape.width, depth=self.depth)
        m.d.comb += [
            self.model.w_data.eq(self.i.payload),
            self.model.w_en.eq(self.i.valid),
            self.model.r_en.eq(self.o.ready),
        ]
        return m


@pytest.mark.parametrize("depth", [2, 3, 5, 8])
@pytest.mark.parametrize(("puts", "takes"), [(1, 1), (1, 0.3), (0.3, 1), (0.5, 0.5), (0.8, 0.8)])
def test_each_slot_is_as_that_of_amaranths_buffered_fifo(depth, puts, takes):
    dut, chance = Both(unsigned(8), depth), random.Random(depth)
    seen = set()

    async def compare(context):
        for n in range(400):
            context.set(dut.i.valid, chance.random() < puts)
            context.set(dut.i.payload, n % 256)
            context.set(dut.o.ready, chance.random() < takes)
            _clk, _reset, level, ready, valid, payload, *model = await context.tick().sample(
                dut.level,
                dut.i.ready,
                dut.o.valid,
                dut.o.payload,
                dut.model.level,
                dut.model.w_rdy,
                dut.model.r_rdy,
                dut.model.r_data,
            )
            assert [level, ready, valid] == model[:3]
            assert not valid or payload == model[3]
            seen.add(level)

    bench = Bench(dut, 1000)
    bench.add(compare)
    bench.run()
    assert seen >= ({depth - 1, depth} if puts > takes else {0, 1})


def test_a_queue_of_one_entry_is_refused():
    with pytest.raises(ValueError, match="depth=1 of a BlockRamQueue must be at least 2"):
        BlockRamQueue(unsigned(8), 1)
