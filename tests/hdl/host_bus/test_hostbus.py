"""Host bus: what PIO costs, what it cannot reach, and how it gets in between bursts."""

import pytest
from amaranth import Module
from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume, Mux, Signal
from amaranth.lib import wiring

from lanai_hdl.bfm import Bench, HostMemory, PioHost, PysimPins, SramModel, stream_get, stream_put
from lanai_hdl.bfm.kept import SIMULATIONS
from lanai_hdl.config import NicConfig
from lanai_hdl.control.control import RESET_SLOTS
from lanai_hdl.control.register_file import RegisterFile
from lanai_hdl.host_bus.answers import AnswerGuard
from lanai_hdl.host_bus.bus import HostBus
from lanai_hdl.host_bus.clock import HostClock
from lanai_hdl.host_bus.target import PioTarget
from lanai_hdl.machine import BY_NAME, REGISTERS_HOST, host_offset
from lanai_hdl.remote.config import Remote

CONFIG = NicConfig(sram_size=8192)
CLOCK = CONFIG.slot_khz // CONFIG.host_bus_khz  # slots


class Wired:
    def __init__(self, config, slots):
        self.bus, self.registers = HostBus(config), RegisterFile()
        top = Module()
        top.submodules.bus, top.submodules.registers = self.bus, self.registers
        wiring.connect(top, self.bus.registers, self.registers.host)
        self.bench = Bench(top, slots)


class Bus:
    """The host bus with registers and a model of the SRAM."""

    def __init__(self, config=CONFIG, slots=10_000):
        made = SIMULATIONS.take(("host bus", config), slots, lambda: Wired(config, slots))
        self.bus, self.registers, self.bench = made.bus, made.registers, made.bench
        self.slot = 0
        self.faults = 0

    def run(self, script, **sram):
        async def sram_serves(context):
            self.sram = SramModel(PysimPins(context, self.bus.lbus), 8192, **sram)
            await self.sram.serve()

        async def memory_serves(context):
            self.memory = HostMemory(PysimPins(context, self.bus.mem))
            await self.memory.serve()

        async def watch(context):
            async for *_, fault, unknown in context.tick().sample(self.bus.fault, self.registers.unknown):
                self.slot += 1
                self.faults += fault + unknown

        async def run(context):
            await script(context, PioHost(PysimPins(context, self.bus.pio)))

        for server in (sram_serves, memory_serves, watch):
            self.bench.add_background(server)
        self.bench.add(run)
        self.bench.run()


@pytest.mark.parametrize(
    ("slot_khz", "host_bus_khz"), [(66_000, 33_000), (50_000, 33_000), (66_000, 66_000), (66_000, 12_345)]
)
def test_the_bus_clock_keeps_its_rate(slot_khz, host_bus_khz):
    dut = HostClock(NicConfig(slot_khz=slot_khz, host_bus_khz=host_bus_khz))
    bench = Bench(dut, 3000)

    async def count(context):
        context.set(dut.run, 1)
        ticks = 0
        for _ in range(2000):
            ticks += context.get(dut.tick)
            await context.tick()
        assert ticks == 2000 * host_bus_khz // slot_khz

    bench.add(count)
    bench.run()


@pytest.mark.parametrize("refuse", [0.0, 0.6])
def test_what_is_written_is_read_back(refuse):
    async def script(context, host):
        values = [0x01020304 * n & 0xFFFFFFFF for n in range(1, 40)]
        await host.write_words(0x40, values)
        assert await host.read_words(0x40, len(values)) == values
        await host.write(0x40, 0, be=0b1000)
        assert await host.read(0x40) == 0x00020304

    bus = Bus()
    bus.run(script, refuse=refuse, seed=3)
    assert bus.faults == 0


def test_combined_writes_cost_a_clock_a_word_and_a_setup_a_line(expected):
    """NP-59: the best sizes are multiples of the host's 32-byte line."""
    slots = {}

    async def script(context, host):
        for words in (1, 7, 8, 9, 16):
            await context.tick().repeat(20)
            begin = bus.slot
            await host.write_words(0x100, range(words))
            while not context.get(bus.bus.idle):
                await context.tick()
            slots[words] = bus.slot - begin

    bus = Bus()
    bus.run(script)
    assert slots[8] - slots[7] == CLOCK
    assert slots[9] - slots[8] > 2 * CLOCK
    per_line = slots[16] - slots[8]
    assert per_line >= 8 * CLOCK + CONFIG.pio_write_setup * CLOCK
    expected("nic.pio.slots_write_32_bytes", slots[8])
    expected("nic.pio.slots_write_64_bytes", slots[16])


@pytest.mark.parametrize("offset", [8192, 0x0FFFFC, REGISTERS_HOST + 0x1000, 0x1FFFFC, host_offset("ID") + 0xFFC])
def test_outside_the_map_nothing_is_written_and_ones_are_read(offset):
    inside = REGISTERS_HOST <= offset < REGISTERS_HOST + 0x1000

    async def script(context, host):
        await host.write(offset, 0x12345678)
        assert await host.read(offset) == (0 if inside else 0xFFFFFFFF)
        assert bus.sram.log == []

    bus = Bus()
    bus.run(script)
    assert bus.faults == 2


def test_partial_writes_to_registers_are_ignored_and_counted():
    async def script(context, host):
        await host.write_register("SCRATCH0", 5)
        await host.write(host_offset("SCRATCH0"), 0xFFFF, be=0b0011)
        assert await host.read_register("SCRATCH0") == 5

    bus = Bus()
    bus.run(script)
    assert bus.faults == 1


def test_the_host_may_not_write_what_is_the_processors():
    async def script(context, host):
        for name in ("HDMA_HOST", "SEND_POINTER", "ID"):
            await host.write_register(name, 0xFFFFFFFF)
            assert context.get(bus.registers.value(BY_NAME["HDMA_HOST"])) == 0
            assert context.get(bus.registers.value(BY_NAME["SEND_POINTER"])) == 0

    bus = Bus()
    bus.run(script)


def test_pio_gets_in_between_bursts():
    """While a long burst runs, the bus is given up after the latency timer; the burst then goes on
    where it was."""
    burst = {"write": 0, "word": 0x400, "words": 256}

    async def script(context, host):
        await context.tick().repeat(60)
        begin = bus.slot
        await host.write(0, 1)
        assert await host.read(0) == 1
        assert bus.slot - begin < CLOCK * (CONFIG.latency_timer + 40)
        while not context.get(bus.bus.idle):
            await context.tick()

    got = []

    async def engine(context):
        await stream_put(context, bus.bus.engine.burst, [burst])
        got.extend(await stream_get(context, bus.bus.engine.read, 256))

    bus = Bus()
    bus.bench.add(engine)
    bus.run(script)
    assert [address for _, _, address in bus.memory.log] == [4 * (0x400 + n) for n in range(256)]
    assert len(got) == 256


def test_an_engine_without_data_leaves_the_bus():
    """A write burst whose words do not come: the bus is free for the host, and the burst ends when
    they do."""
    burst = {"write": 1, "word": 0x400, "words": 8}
    words = [{"data": n, "be": 0b1111} for n in range(8)]

    async def engine(context):
        await stream_put(context, bus.bus.engine.burst, [burst])
        await stream_put(context, bus.bus.engine.write, words[:3])
        await context.tick().repeat(300)
        await stream_put(context, bus.bus.engine.write, words[3:])

    async def script(context, host):
        await context.tick().repeat(100)
        begin = bus.slot
        await host.write(0, 1)
        assert await host.read(0) == 1
        assert bus.slot - begin < 40 * CLOCK
        while len(bus.memory.log) < 8:
            await context.tick()
        assert bus.memory.dump(0x1000, 32) == b"".join(n.to_bytes(4, "big") for n in range(8))

    bus = Bus()
    bus.bench.add(engine)
    bus.run(script)


# A bus master and a host memory that answers late, with resets between.

MOST = 5


class AnswerGuardSpec(wiring.Component):
    """Any master that has at most MOST beats under way, any host that answers each beat once, any
    resets: the master sees an answer if and only if its beat was made since the last reset."""

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = AnswerGuard(MOST)
        i, o, reset = dut.i, dut.o, dut.reset
        for signal in (i.valid, o.ready, o.rvalid, reset):
            m.d.comb += signal.eq(AnySeq(1))
        before, since = Signal(4), Signal(4)  # beats that are not answered, made before and since the last reset
        taken, of_old = o.valid & o.ready, o.rvalid & (before != 0)
        resetting = Signal()
        m.d.comb += [
            Assume(~o.rvalid | (before + since != 0)),
            Assume(~i.valid | (since < MOST)),
            Assume(~resetting | ~i.valid),  # a master that was reset in the slot before offers nothing
            Assert(i.rvalid == (o.rvalid & (before == 0) & dut.drained)),
            Assert(~(o.rvalid & (since != 0)) | i.rvalid),
            Assert((i.valid & i.ready) == taken),
            Assert(~taken | (before == 0), "a beat is made before the last answer of old"),
            # How the registers are linked, for the induction.
            Assert(dut.owed == before + since),
            Assert(dut.owed <= MOST),
            Assert(Mux(dut.drained, before == 0, since == 0)),
        ]
        m.d.sync += [
            resetting.eq(reset),
            before.eq(before - of_old),
            since.eq(since + taken - (o.rvalid & ~of_old)),
        ]
        with m.If(reset):
            m.d.sync += [before.eq(before + since + taken - o.rvalid), since.eq(0)]
        return m


def test_the_master_sees_its_own_answers_and_no_others(prove):
    prove(AnswerGuardSpec())


# The bus master is reset while a transfer is under way: what the host answers late reaches no later
# transfer.

OLD, NEW, WORDS = 0x1000, 0x2000, 12


def words(mark, phase):
    return [mark << 24 | phase << 8 | n for n in range(WORDS)]


async def cut_off(bus, context, memory, phase, writes):
    """A transfer is cut off `phase` slots after it was begun; the next one must be right."""
    engine, old, new = bus.engine, words(0xA0, phase), words(0xC0, phase)
    untouched = memory.dump(NEW + 4 * WORDS, 64)
    for n in range(WORDS):
        memory.load(OLD + 4 * n, old[n].to_bytes(4, "big") if not writes else bytes(4))
        memory.load(NEW + 4 * n, new[n].to_bytes(4, "big") if not writes else bytes(4))
    await stream_put(context, engine.burst, [{"write": writes, "word": OLD // 4, "words": WORDS}])
    context.set(engine.read.ready, 1)
    context.set(engine.write.valid, writes)
    context.set(engine.write.payload, {"data": old[0], "be": 0b1111})
    await context.tick().repeat(phase)
    context.set(engine.write.valid, 0)
    context.set(engine.read.ready, 0)
    context.set(bus.reset, 1)
    await context.tick().repeat(RESET_SLOTS)
    context.set(bus.reset, 0)
    written = memory.dump(OLD, 4 * WORDS)
    await stream_put(context, engine.burst, [{"write": writes, "word": NEW // 4, "words": WORDS}])
    if writes:
        await stream_put(context, engine.write, [{"data": word, "be": 0b1111} for word in new])
    else:
        got = [word.data for word in await stream_get(context, engine.read, WORDS)]
        assert got == new, f"phase {phase}"
    while not context.get(bus.idle):
        await context.tick()
    assert memory.dump(NEW, 4 * WORDS) == b"".join(word.to_bytes(4, "big") for word in new), f"phase {phase}"
    assert memory.dump(OLD, 4 * WORDS) == written, f"phase {phase}: written after the reset"
    assert memory.dump(NEW + 4 * WORDS, 64) == untouched


@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize(("latency", "pause"), [(1, 0.0), (200, 0.0), (70, 0.6)])
def test_no_word_of_a_transfer_cut_off_gets_into_the_next(latency, pause, writes):
    """Whenever it is cut off, also by a host that answers long after the reset."""
    bus = HostBus(NicConfig())
    bench = Bench(bus, 200_000)

    async def serve(context):
        bench.memory = HostMemory(PysimPins(context, bus.mem), latency=latency, pause=pause)
        await bench.memory.serve()

    async def script(context):
        for phase in range(1, 2 * (NicConfig().read_setup + WORDS) + 10):
            await cut_off(bus, context, bench.memory, phase, writes)

    bench.add_background(serve)
    bench.add(script)
    bench.run()


# The target of the host's accesses beside a block that serves a part of the host's window.

BLOCK = Remote(processes=2, peers=2, pages=4, payload=16)
CONFIG_TARGET = NicConfig(sram_size=8192, blocks=(BLOCK,))
WAITING = Remote(processes=2, peers=2, pages=4, payload=16, streams=2, stream_bytes=16)  # its reads may wait


def test_who_waits_behind_a_block_gives_the_bus_away_whatever_is_granted_elsewhere():
    """The grant of the registers is the latest signal of the NIC: the bus is not to wait for it."""
    dut = PioTarget(CONFIG_TARGET)
    bench = Bench(dut, 200)

    async def write_twice(context):
        context.set(dut.granted, 1)
        context.set(dut.tick, 1)
        context.set(dut.pio.valid, 1)
        context.set(dut.pio.write, 1)
        context.set(dut.pio.be, 0b1111)
        context.set(dut.pio.addr, BLOCK.host_window.offset)
        while not context.get(dut.window.request):
            await context.tick()
        await context.tick().repeat(2 * CONFIG_TARGET.pio_write_setup)
        assert context.get(dut.window.request), "the block has not granted the first"
        assert not context.get(dut.want)
        for others in (dut.registers, dut.lbus):
            context.set(others.grant, 1)
            assert not context.get(dut.want)
            context.set(others.grant, 0)
        context.set(dut.window.grant, 1)
        assert context.get(dut.want)

    bench.add(write_twice)
    bench.run()


@pytest.mark.parametrize("waits", [0, 1, 2, 30])
def test_a_read_that_waits_for_its_block_gives_the_bus_away_and_is_charged_again(waits):
    dut = PioTarget(NicConfig(sram_size=8192, blocks=(WAITING,)))
    bench = Bench(dut, 300)

    async def read(context):
        context.set(dut.granted, 1)
        context.set(dut.tick, 1)
        context.set(dut.pio.valid, 1)
        context.set(dut.pio.addr, WAITING.host_window.offset)
        while not context.get(dut.window.request):
            await context.tick()
        context.set(dut.pio.valid, 0)
        for _ in range(waits):
            assert not context.get(dut.want)
            assert context.get(dut.window.request)
            await context.tick()
        context.set(dut.window.grant, 1)
        context.set(dut.window.rdata, 0xFFFFFFFF)
        await context.tick()
        context.set(dut.window.grant, 0)
        context.set(dut.window.rdata, 0x12345678)
        assert not context.get(dut.window.request)
        took = 0
        while not context.get(dut.pio.rvalid):
            assert context.get(dut.want)
            await context.tick()
            context.set(dut.window.rdata, 0)
            took += 1
        assert context.get(dut.pio.rdata) == 0x12345678
        assert took == (1 if waits == 0 else CONFIG_TARGET.pio_read_setup + 2)

    bench.add(read)
    bench.run()
