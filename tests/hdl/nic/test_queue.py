"""Queues: order kept, nothing lost, at any pace."""

import pytest
from amaranth import Module, Signal, unsigned
from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert
from amaranth.lib import wiring

from lanai_hdl.bfm import Bench, stream_get, stream_put
from lanai_hdl.queue import LateEntryQueue, Queue

either = pytest.mark.parametrize("kind", [Queue, LateEntryQueue])


@either
@pytest.mark.parametrize("depth", [1, 2, 3, 8])
@pytest.mark.parametrize(("idle", "pause"), [(0, 0), (0.5, 0), (0, 0.5), (0.4, 0.4)])
def test_what_goes_in_comes_out(kind, depth, idle, pause):
    dut = kind(unsigned(8), depth)
    values = [(7 * n) % 256 for n in range(60)]
    bench = Bench(dut, 2000)

    async def put(context):
        await stream_put(context, dut.i, values, idle=idle, seed=1)

    async def get(context):
        assert await stream_get(context, dut.o, len(values), pause=pause, seed=2) == values
        assert context.get(dut.level) == 0
        assert context.get(dut.free) == depth
        assert not context.get(dut.o.valid)

    bench.does(put)
    bench.does(get)
    bench.run()


@either
def test_a_full_queue_takes_nothing(kind):
    dut = kind(unsigned(8), 2)
    bench = Bench(dut, 100)

    async def fill(context):
        context.set(dut.i.valid, 1)
        await context.tick().repeat(2)
        assert context.get(dut.level) == 2
        assert not context.get(dut.i.ready)
        assert context.get(dut.free) == 0

    bench.does(fill)
    bench.run()


@either
def test_a_queue_holds_something(kind):
    with pytest.raises(ValueError, match="depth 0"):
        kind(unsigned(8), 0)


class QueueSpec(wiring.Component):
    """Of all entries the one of any number leaves as that number, as it was put; and the two kinds of queue are one, slot for slot."""

    def __init__(self, depth):
        self.depth = depth
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.plain, m.submodules.late = plain, late = (
            Queue(unsigned(2), self.depth),
            LateEntryQueue(unsigned(2), self.depth),
        )
        valid, payload, ready = AnySeq(1), AnySeq(2), AnySeq(1)
        for queue in plain, late:
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
            m.d.comb += Assert(getattr(plain, name) == getattr(late, name), name)
        m.d.comb += [
            Assert(plain.level == puts - takes, "none lost"),
            Assert(plain.i.ready == late.i.ready),
            Assert(late.room == (late.free >= 2)),
            Assert(plain.o.valid == late.o.valid),
            Assert(~plain.o.valid | (plain.o.payload == late.o.payload), "the same entries"),
        ]
        return m


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_every_entry_leaves_in_its_turn(prove, depth):
    prove(QueueSpec(depth), mode="bmc", depth=12)
