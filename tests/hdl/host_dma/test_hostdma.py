"""Host DMA engine and host bus together: bytes, bounds, errors, pace."""

import random

import pytest
from amaranth import Module
from amaranth.lib import wiring

from lanai_hdl.bfm import Bench, HostMemory, PysimPins, SramModel, stream_put
from lanai_hdl.bfm.kept import SIMULATIONS
from lanai_hdl.config import NicConfig
from lanai_hdl.host_bus.bus import HostBus
from lanai_hdl.host_dma.engine import HostDma

CONFIG = NicConfig(sram_size=8192, max_burst=64, read_setup=2, write_setup=1)
DEFAULTS = {"host": 0, "local": 0, "length": 0, "to_host": 0, "feed": 0, "follow": 0, "stop": 0, "refused": 0}


class Wired:
    def __init__(self, config, slots):
        self.dma, self.bus = HostDma(config), HostBus(config)
        top = Module()
        top.submodules.dma, top.submodules.bus = self.dma, self.bus
        wiring.connect(top, self.dma.bus, self.bus.engine)
        self.bench = Bench(top, slots)


class Engine:
    """The engine on its bus, between a model of host memory and one of the SRAM."""

    def __init__(self, slots=30_000):
        made = SIMULATIONS.take(("host dma", CONFIG), slots, lambda: Wired(CONFIG, slots))
        self.dma, self.bus, self.bench = made.dma, made.bus, made.bench
        self.events = []

    def run(self, descriptors, check, *, refuse=0.0, pause=0.0, latency=1, prepare=None):
        """Runs the descriptors, then `check(memory, sram)`."""

        async def memory_serves(context):
            self.memory = HostMemory(PysimPins(context, self.bus.mem), latency=latency, pause=pause, seed=1)
            await self.memory.serve()

        async def sram_serves(context):
            self.sram = SramModel(PysimPins(context, self.dma.lbus), 8192, refuse=refuse, seed=2)
            await self.sram.serve()

        async def watch(context):
            dma = self.dma
            told = dma.done, dma.error, dma.fed, dma.feed, dma.spoil
            async for *_, done, error, fed, feed, spoil in context.tick().sample(*told):
                if done or fed or spoil:
                    self.events.append((done, error, feed if fed else 0, spoil))

        async def run(context):
            if prepare:
                prepare(self.memory, self.sram)
            await stream_put(context, self.dma.post, [{**DEFAULTS, **descriptor} for descriptor in descriptors])
            while sum(done for done, *_ in self.events) < len(descriptors):
                await context.tick()
            await context.tick().repeat(20)
            assert context.get(self.dma.idle)
            assert context.get(self.bus.idle)
            check(self.memory, self.sram)

        for server in (memory_serves, sram_serves, watch):
            self.bench.add_background(server)
        self.bench.add(run)
        self.bench.run()

    def stops_at(self, stopped, descriptors, *, prepare):
        """Runs the descriptors, and resumes the engine whenever it stands still; calls
        `stopped(memory, sram)` before each time."""

        async def resume(context):
            while True:
                await context.tick()
                if context.get(self.dma.stopped):
                    events = len(self.events)
                    await context.tick().repeat(200)
                    assert len(self.events) == events, "a stopped engine does nothing"
                    assert context.get(self.dma.idle)
                    stopped(self.memory, self.sram)
                    context.set(self.dma.resume, 1)
                    await context.tick()
                    context.set(self.dma.resume, 0)

        self.bench.add_background(resume)
        self.run(descriptors, lambda memory, sram: None, prepare=prepare)


def random_descriptors(count, seed):
    """Transfers over every alignment, both ways, in places that do not overlap."""
    chance = random.Random(seed)
    for n in range(count):
        length = chance.choice((0, 1, 2, 3, 4, 5, 17, 64, 100))
        yield {
            "host": 0x10000 + 256 * n + chance.randrange(60),
            "local": 256 * n + chance.randrange(60),
            "length": length,
            "to_host": n % 2,
        }


@pytest.mark.parametrize(
    ("refuse", "pause", "latency"),
    [(0.0, 0.0, 1), (0.5, 0.0, 1), (0.0, 0.5, 1), (0.5, 0.3, 5)],
)
def test_transfers_of_every_alignment_and_nothing_beside_them(refuse, pause, latency):
    descriptors = list(random_descriptors(16, seed=latency))
    hosts, srams = random.Random(8).randbytes(8192), random.Random(9).randbytes(8192)
    engine = Engine()

    def prepare(memory, sram):
        memory.load(0x10000, hosts)
        sram.data[:] = srams

    def check(memory, sram):
        host, local = bytearray(hosts), bytearray(srams)
        for d in descriptors:
            a, b, n = d["host"] - 0x10000, d["local"], d["length"]
            if d["to_host"]:
                host[a : a + n] = local[b : b + n]
            else:
                local[b : b + n] = host[a : a + n]
        assert memory.dump(0x10000, 8192) == host
        assert sram.data == local
        assert not any(error for _, error, _, _ in engine.events)

    engine.run(descriptors, check, refuse=refuse, pause=pause, latency=latency, prepare=prepare)


def test_reads_touch_only_words_that_hold_the_transfer():
    descriptors = [
        {"host": 0x1003, "local": 5, "length": 6},
        {"host": 0x2002, "local": 0x102, "length": 4, "to_host": 1},
    ]
    engine = Engine()

    def check(memory, sram):
        assert [address for _, write, address in memory.log if not write] == [0x1000, 0x1004, 0x1008]
        assert [address for write, address, _ in sram.log if not write] == [0x100, 0x104]

    engine.run(descriptors, check)


def test_refused_descriptors_move_nothing_and_complete():
    descriptors = [{"length": 100, "refused": 1}, {"length": 100, "refused": 1, "feed": 1}, {"length": 0}]
    engine = Engine()

    def check(memory, sram):
        assert memory.log == []
        assert sram.log == []
        assert engine.events == [(1, 1, 0, 0), (1, 1, 100, 1), (1, 0, 0, 0)]

    engine.run(descriptors, check)


@pytest.mark.parametrize("to_host", [0, 1])
def test_a_failed_descriptor_stops_the_engine_until_it_is_resumed(to_host):
    """Descriptors queued behind it have not been read yet, so they can be changed; the failed one counts
    as done only afterwards."""
    engine = Engine()
    marks = []

    def prepare(memory, sram):
        memory.load(0x1F00, b"\x11" * 256)
        memory.refused.add(2)
        sram.data[:] = b"\x77" * 8192

    def stopped(memory, sram):
        marks.append(sum(done for done, *_ in engine.events))
        assert memory.dump(0x3000, 4) == bytes(4)
        sram.data[0x100:0x104] = b"late"

    failing = {"host": 0x1FF0, "local": 0, "length": 64, "to_host": to_host, "stop": 1}
    behind = {"host": 0x3000, "local": 0x100, "length": 4, "to_host": 1, "stop": 1}
    engine.stops_at(stopped, [{**behind, "host": 0x3800}, failing, behind], prepare=prepare)
    assert marks == [1]
    assert engine.memory.dump(0x3000, 4) == b"late"
    assert [error for done, error, _, _ in engine.events if done] == [0, 1, 0]


def test_a_refused_descriptor_stops_the_engine_and_feeds_once():
    engine = Engine()
    stops = []
    descriptors = [{"length": 100, "refused": 1, "feed": 1, "stop": 1}, {"length": 0}]
    engine.stops_at(lambda memory, sram: stops.append(len(engine.events)), descriptors, prepare=None)
    assert stops == [0]
    assert engine.events == [(1, 1, 100, 1), (1, 0, 0, 0)]


def test_what_the_host_refuses_is_not_written():
    """The second page is not there: its bytes stay as they were, the descriptor fails, and its
    bytes are fed all the same."""
    engine = Engine()

    def prepare(memory, sram):
        memory.load(0x1F00, b"\x11" * 256)
        memory.refused.add(2)
        sram.data[:] = b"\x77" * 8192

    def check(memory, sram):
        assert sram.data[:256] == b"\x11" * 256
        assert sram.data[256:] == b"\x77" * (8192 - 256)
        assert sum(fed for _, _, fed, _ in engine.events) == 400
        assert any(spoil for *_, spoil in engine.events)
        assert [(done, error) for done, error, _, _ in engine.events if done] == [(1, 1), (1, 0)]

    descriptors = [{"host": 0x1F00, "local": 0, "length": 400, "feed": 1}, {"host": 0x1F00, "local": 0, "length": 4}]
    engine.run(descriptors, check, prepare=prepare)


def test_a_transfer_that_begins_with_a_refused_word_fails():
    """One byte of the page that is not there, then one that is: what the host answered with the
    refusal goes nowhere."""
    engine = Engine()

    def prepare(memory, sram):
        memory.load(0x6000, b"\x11" * 64)
        memory.refused.add(5)
        sram.data[:] = b"\x77" * 8192

    def check(memory, sram):
        assert sram.data == b"\x77" * 8192
        assert [(done, error) for done, error, _, _ in engine.events] == [(1, 1)]

    engine.run([{"host": 0x5FFF, "local": 0, "length": 20}], check, prepare=prepare)


def test_writes_to_a_refused_page_fail():
    engine = Engine()

    def prepare(memory, sram):
        memory.refused.add(5)

    def check(memory, sram):
        assert memory.dump(0x5000, 64) == bytes(64)
        assert [(done, error) for done, error, _, _ in engine.events] == [(1, 1)]

    engine.run([{"host": 0x5000, "local": 0, "length": 64, "to_host": 1}], check, prepare=prepare)


def test_a_follower_keeps_behind_the_receive_dma():
    """While a buffer is being filled, no word of it is read that has not come; words elsewhere are
    not held up."""
    engine = Engine()
    dma = engine.dma
    reads = []

    async def receive(context):
        progress = dma.progress
        context.set(progress.busy, 1)
        context.set(progress.start, 0x100)
        context.set(progress.limit, 0x180)
        for pointer in range(0x100, 0x184, 4):
            context.set(progress.pointer, pointer)
            for _ in range(6):
                _, _, grant, addr = await context.tick().sample(dma.lbus.grant, dma.lbus.addr)
                if grant:
                    reads.append((addr, pointer))
        context.set(progress.busy, 0)

    def check(memory, sram):
        inside = [(addr, pointer) for addr, pointer in reads if 0x100 <= addr < 0x180]
        assert len(inside) == 32
        assert all(addr < pointer for addr, pointer in inside)
        assert memory.dump(0x3000, 256) == bytes(256)

    engine.bench.add_background(receive)
    engine.run([{"host": 0x3000, "local": 0xC0, "length": 256, "to_host": 1, "follow": 1}], check)
