"""Several engines on one host bus: each moves its own words, whatever the others do and however
early it offers them."""

import random

import pytest
from amaranth import Module
from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume, Signal
from amaranth.lib import wiring

from lanai_hdl.bfm import Bench, HostMemory, PysimPins, stream_get, stream_put
from lanai_hdl.config import NicConfig
from lanai_hdl.host_bus.burst_arbiter import BurstArbiter
from lanai_hdl.host_bus.bus import HostBus
from lanai_hdl.host_bus.ports import BURST_BITS

AREA = 0x1000  # bytes of host memory for each engine


@pytest.mark.parametrize("engines", [1, 2, 3])
def test_each_engine_reads_what_it_wrote(engines):
    """Write bursts, then read bursts of the same words, all engines at once; words are offered
    before their bursts."""
    arbiter, bus = BurstArbiter(engines), HostBus(NicConfig())
    top = Module()
    top.submodules.arbiter, top.submodules.bus = arbiter, bus
    wiring.connect(top, arbiter.bus, bus.engine)
    bench = Bench(top, 20_000)
    lengths = [[random.Random(i).choice([1, 2, 7, 16]) for _ in range(6)] for i in range(engines)]
    values = [[random.Random(100 + i).getrandbits(32) for _ in range(sum(lengths[i]))] for i in range(engines)]
    read, answered = {}, [0] * engines

    async def memory(context):
        await HostMemory(PysimPins(context, bus.mem)).serve()

    def bursts(i, write):
        word = i * AREA // 4
        for words in lengths[i]:
            yield {"write": write, "word": word, "words": words}
            word += words

    for i, port in enumerate(arbiter.ports()):

        async def ask(context, i=i, port=port):
            await stream_put(context, port.burst, [*bursts(i, 1), *bursts(i, 0)], idle=0.2, seed=i)

        async def give(context, i=i, port=port):
            await stream_put(context, port.write, [{"data": value, "be": 0b1111} for value in values[i]])

        async def take(context, i=i, port=port):
            words = await stream_get(context, port.read, len(values[i]), pause=0.1 * i, seed=i)
            read[i] = [word.data for word in words]

        async def count(context, i=i, port=port):
            async for *_, written in context.tick().sample(port.written):
                answered[i] += written

        for process in (ask, give, take):
            bench.add(process)
        bench.add_background(count)
    bench.add_background(memory)
    bench.run()
    assert read == dict(enumerate(values))
    assert answered == [len(words) for words in values]


def test_engines_that_always_ask_are_served_in_turn():
    dut = BurstArbiter(3)
    bench, served = Bench(dut, 500), []

    async def ask(context):
        for port in dut.ports():
            context.set(port.burst.payload, {"write": 0, "word": 0, "words": 2})
            context.set(port.burst.valid, 1)
            context.set(port.read.ready, 1)
        context.set(dut.bus.burst.ready, 1)
        context.set(dut.bus.read.valid, 1)
        while len(served) < 9:
            _, _, *ready = await context.tick().sample(*(port.burst.ready for port in dut.ports()))
            served.extend(i for i, taken in enumerate(ready) if taken)

    bench.add(ask)
    bench.run()
    assert served == [1, 2, 0] * 3


class ArbiterSpec(wiring.Component):
    """Any inputs: one owner at most; a burst on offer stays; as many write words pass as the burst
    has."""

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = BurstArbiter(2)
        ports, bus = dut.ports(), dut.bus
        for port in ports:
            m.d.comb += [
                port.burst.valid.eq(AnySeq(1)),
                port.burst.payload.eq(AnySeq(len(port.burst.payload.as_value()))),
                port.write.valid.eq(AnySeq(1)),
                port.read.ready.eq(AnySeq(1)),
            ]
            waits = Signal()
            before = Signal.like(port.burst.payload)
            m.d.sync += [waits.eq(port.burst.valid & ~port.burst.ready), before.eq(port.burst.payload)]
            m.d.comb += Assume(~waits | (port.burst.valid & (port.burst.payload.as_value() == before.as_value())))
        m.d.comb += [
            bus.burst.ready.eq(AnySeq(1)),
            bus.write.ready.eq(AnySeq(1)),
            bus.read.valid.eq(AnySeq(1)),
            bus.written.eq(AnySeq(1)),
        ]
        begun, given = Signal(BURST_BITS), Signal(BURST_BITS)
        taken = bus.burst.valid & bus.burst.ready
        with m.If(taken):
            m.d.sync += [begun.eq(bus.burst.payload.write.replicate(BURST_BITS) & bus.burst.payload.words), given.eq(0)]
        with m.Elif(bus.write.valid & bus.write.ready):
            m.d.sync += given.eq(given + 1)
            m.d.comb += Assert(given < begun, "a word of no burst")
        offered, payload = Signal(), Signal.like(bus.burst.payload)
        m.d.sync += [offered.eq(bus.burst.valid & ~bus.burst.ready), payload.eq(bus.burst.payload)]
        first, second = ports
        m.d.comb += [
            Assert(~offered | (bus.burst.valid & (bus.burst.payload.as_value() == payload.as_value()))),
            Assert(~((first.burst.valid & first.burst.ready) & (second.burst.valid & second.burst.ready))),
            Assert(~(first.written & second.written)),
            Assert(~(first.read.valid & second.read.valid)),
            Assert(~(first.write.ready & second.write.ready)),
        ]
        return m


def test_one_owner_and_no_word_beside_its_burst(prove):
    """Bounded: 8 slots from reset."""
    prove(ArbiterSpec(), mode="bmc", depth=8)


def test_no_engine_is_refused():
    with pytest.raises(ValueError, match="engines=0 must be at least 1"):
        BurstArbiter(0)
