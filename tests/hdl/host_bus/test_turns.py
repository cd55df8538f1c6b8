"""PIO and the bus master take turns: neither keeps the other off the host bus."""

import random

import pytest
from amaranth import Module
from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume, Signal
from amaranth.lib import wiring

from lanai_hdl.bfm import Bench, HostMemory, PioHost, PysimPins, SramModel, stream_get, stream_put
from lanai_hdl.config import NicConfig
from lanai_hdl.host_bus.burst_arbiter import BurstArbiter
from lanai_hdl.host_bus.bus import HostBus
from lanai_hdl.host_bus.ports import BURST_BITS
from lanai_hdl.host_bus.target import LINGER

CONFIG = NicConfig(sram_size=8192)
CLOCK = CONFIG.slot_khz // CONFIG.host_bus_khz  # slots
WORDS = 8
LINE = CONFIG.pio_line // 4  # words
ACCESS = CONFIG.pio_read_setup + 6  # clocks of the longest PIO access, and of the grant behind it
REST = LINGER + 1  # clocks that each word of a line behind it takes at most


class Contended:
    """A host that accesses the NIC with `gap` slots between, while an engine asks for bursts."""

    def __init__(self, config, access, gap, bursts):
        self.bus = HostBus(config)
        self.access, self.gap, self.bursts = access, gap, bursts
        self.waits, self.done = [], 0  # slots that each burst waited; PIO accesses
        self.follows = []  # at the begin of each: where the host's line would go on; 0 if it was whole
        self.bench = Bench(self.bus, 40_000)

    async def sram(self, context):
        self.sram = SramModel(PysimPins(context, self.bus.lbus), 8192)
        await self.sram.serve()

    async def memory(self, context):
        await HostMemory(PysimPins(context, self.bus.mem)).serve()

    async def host(self, context):
        host = PioHost(PysimPins(context, self.bus.pio))
        while True:
            await self.access(host, self.done)
            self.done += 1
            for _ in range(self.gap):
                await context.tick()

    async def engine(self, context):
        await context.tick().repeat(50)
        for _ in range(self.bursts):
            await stream_put(context, self.bus.engine.burst, [{"write": 0, "word": 0x400, "words": WORDS}])
            waited = 0
            while not context.get(self.bus.begun):
                await context.tick()
                waited += 1
            self.waits.append(waited)
            self.follows.append(context.get(self.bus.target.follows))
            await stream_get(context, self.bus.engine.read, WORDS)

    def run(self):
        for server in (self.sram, self.memory, self.host):
            self.bench.add_background(server)
        self.bench.add(self.engine)
        self.bench.run()


async def write(host, number):
    await host.write(4 * (number % 1024), number)


async def read(host, number):
    await host.read(4 * (number % 1024))


async def scattered(host, number):
    """Write so that no write goes on with the one before, and none ends its line."""
    await host.write(CONFIG.pio_line * (number % 64), number)


def longest(config, access):
    """Slots that a master waits at most: its turn, the access under way, and what is left of its line."""
    rest = (LINE - 1) * REST if access is write else 0
    return CLOCK * (config.pio_turn + ACCESS + rest)


@pytest.mark.parametrize("access", [write, read, scattered])
@pytest.mark.parametrize("gap", [0, 2, 5, 6])
def test_a_master_gets_the_bus_however_often_the_host_asks(access, gap):
    one = Contended(CONFIG, access, gap, bursts=3)
    one.run()
    assert max(one.waits) <= longest(CONFIG, access), one.waits
    assert one.done >= 3, "the host goes on"
    if access is write:
        for number in range(one.done - 2):
            assert int.from_bytes(one.sram.data[4 * number : 4 * number + 4], "big") == number


@pytest.mark.parametrize("gap", [0, 1, 2])
@pytest.mark.parametrize("turn", [8, 13, 29, 32])
def test_a_line_of_combined_writes_is_not_cut(turn, gap):
    """The host puts a line in one burst on the bus, so a master waits for its end."""
    one = Contended(CONFIG.but(pio_turn=turn), write, gap, bursts=8)
    one.run()
    assert one.follows == [0] * 8


def test_a_line_whose_next_word_does_not_come_is_cut():
    """The target cannot know that a word will come: it keeps the bus for `LINGER` clocks."""
    one = Contended(CONFIG, write, CLOCK * (LINGER + 1), bursts=8)
    one.run()
    assert any(one.follows)


@pytest.mark.parametrize("turn", [1, 8, 255])
def test_how_long_is_a_parameter(turn):
    one = Contended(CONFIG.but(pio_turn=turn), write, 0, bursts=3)
    one.run()
    assert CLOCK * (turn - 1) <= min(one.waits)
    assert max(one.waits) <= longest(one.bus.config, write)


class TurnSpec(wiring.Component):
    """Any accesses of the host and any bursts; SRAM and registers grant within MOST_REFUSED slots:
    a master that wants the bus has it within LONGEST slots."""

    TURN, SETUP, MOST_REFUSED, LINE = 2, 1, 1, 4
    # The turn; the first word of a line, and the words behind it; the last grant, and the slot after it.
    LONGEST = TURN + SETUP + 1 + (LINE - 1) * (LINGER + 1) + MOST_REFUSED + 2 + 1

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        clocks = dict.fromkeys(("slot_khz", "host_bus_khz", "link_kbytes"), 33_000)
        costs = dict.fromkeys(("read_setup", "write_setup", "pio_read_setup", "pio_write_setup"), self.SETUP)
        turns = {"latency_timer": 1, "pio_turn": self.TURN, "pio_line": 4 * self.LINE}
        config = NicConfig(sram_size=4096, **turns, **clocks, **costs)
        m.submodules.dut = dut = HostBus(config)
        pio, engine, mem = dut.pio, dut.engine, dut.mem
        for signal in (pio.valid, pio.write, pio.addr, pio.be, engine.burst.valid, engine.burst.payload.as_value(),
                       engine.write.valid, engine.read.ready, mem.ready, mem.rvalid):  # fmt: skip
            m.d.comb += signal.eq(AnySeq(len(signal)))
        for port in (dut.lbus, dut.registers):
            m.d.comb += port.grant.eq(AnySeq(1))
            refused = Signal(range(self.MOST_REFUSED + 2))
            m.d.sync += refused.eq(0)
            with m.If(port.request & ~port.grant):
                m.d.comb += Assume(refused < self.MOST_REFUSED)
                m.d.sync += refused.eq(refused + 1)
        waits = Signal(range(self.LONGEST + 2))
        m.d.sync += waits.eq(0)
        with m.If(dut.master.want & ~dut.master.granted):
            m.d.sync += waits.eq(waits + 1)
        m.d.comb += Assert(waits <= self.LONGEST)
        return m


def test_a_master_has_the_bus_within_a_bound(prove):
    """Bounded: the longest wait may begin in any of the first slots."""
    prove(TurnSpec(), mode="bmc", depth=TurnSpec.LONGEST + 10)


# Several engines on one host bus: each moves its own words, whatever the others do and however
# early it offers them.

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
