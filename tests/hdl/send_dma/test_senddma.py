"""Send DMA: packets from pieces, chasing, refusal, spoiling."""

import pytest
from amaranth import Module

from lanai_hdl.bfm import Bench, PysimPins, SramModel, stream_get, stream_put
from lanai_hdl.bfm.kept import SIMULATIONS
from lanai_hdl.config import NicConfig
from lanai_hdl.link.flit import Kind
from lanai_hdl.send_dma.engine import SendCredit, SendDma

CONFIG = NicConfig(sram_size=8192)
DEFAULTS = {"route": 0, "pointer": 0, "length": 0, "first": 0, "last": 0, "chase": 0, "check": 0, "refused": 0}
WHOLE = {"first": 1, "last": 1}


def word(address):
    return 0x5A000000 | address


class Wired:
    def __init__(self):
        self.dma, self.credit = SendDma(CONFIG), SendCredit()
        top = Module()
        top.submodules.dma, top.submodules.credit = self.dma, self.credit
        top.d.comb += [
            self.credit.take.eq(self.dma.take),
            self.credit.size.eq(self.dma.size),
            self.dma.spoil.eq(self.credit.unsound),
            self.dma.credit.eq(self.credit.value),
        ]
        self.bench = Bench(top, 10_000)


class Engine:
    def __init__(self):
        made = SIMULATIONS.take(("send dma", CONFIG), 10_000, Wired)
        self.dma, self.credit, self.bench = made.dma, made.credit, made.bench
        self.dones = 0

    def run(self, descriptors, flits, *, refuse=0.0, pause=0.0, then=None, count=0):
        """Runs the descriptors and expects the flits; `then(context)` goes on beside, and posts
        `count` descriptors itself."""

        async def sram_serves(context):
            self.sram = SramModel(PysimPins(context, self.dma.lbus), 8192, refuse=refuse, seed=4)
            for address in range(0, 8192, 4):
                self.sram.data[address : address + 4] = word(address).to_bytes(4, "big")
            await self.sram.serve()

        async def watch(context):
            async for *_, done in context.tick().sample(self.dma.done):
                self.dones += done

        async def put(context):
            await stream_put(context, self.dma.post, [{**DEFAULTS, **descriptor} for descriptor in descriptors])

        async def get(context):
            got = await stream_get(context, self.dma.o, len(flits), pause=pause, seed=5)
            assert [(Kind(flit.kind.value), flit.data) for flit in got] == flits
            await context.tick().repeat(10)
            assert not context.get(self.dma.o.valid)
            assert context.get(self.dma.idle)
            assert self.dones == len(descriptors) + count

        self.bench.add_background(sram_serves)
        self.bench.add_background(watch)
        self.bench.add(put)
        if then:
            self.bench.add(then)
        self.bench.add(get)
        self.bench.run()


def data(pointer, words):
    return [(Kind.DATA, word(pointer + 4 * n)) for n in range(words)]


@pytest.mark.parametrize(("refuse", "pause"), [(0, 0), (0.6, 0), (0, 0.6), (0.4, 0.4)])
def test_packets_in_one_piece_and_in_many(refuse, pause):
    descriptors = [
        {"route": 0x81000000, "pointer": 0x100, "length": 80, **WHOLE},
        {"route": 0x82000000, "pointer": 0x200, "length": 4, "first": 1, "check": 1},
        {"pointer": 0x300, "length": 8},
        {"pointer": 0x400, "length": 0},
        {"pointer": 0x500, "length": 5, "last": 1},
        {"route": 3, "length": 0, **WHOLE},
    ]
    flits = [
        (Kind.HEAD, 0x81000000), *data(0x100, 20), (Kind.TAIL, 0),
        (Kind.HEAD, 0x82000000), *data(0x200, 1), (Kind.CHECK, 0), *data(0x300, 2), *data(0x500, 2), (Kind.TAIL, 0),
        (Kind.HEAD, 3), (Kind.TAIL, 0),
    ]  # fmt: skip
    Engine().run(descriptors, flits, refuse=refuse, pause=pause)


def test_a_refused_piece_sends_no_word_and_spoils_its_packet_only():
    descriptors = [
        {"pointer": 0x100, "length": 8, "first": 1},
        {"pointer": 0x1FFC, "length": 80, "refused": 1},
        {"pointer": 0x200, "length": 4, "last": 1},
        {"pointer": 0x300, "length": 4, **WHOLE},
    ]
    flits = [
        (Kind.HEAD, 0), *data(0x100, 2), *data(0x200, 1), (Kind.TAIL, 1),
        (Kind.HEAD, 0), *data(0x300, 1), (Kind.TAIL, 0),
    ]  # fmt: skip
    Engine().run(descriptors, flits)


def test_a_chasing_piece_reads_no_byte_that_has_not_been_fed():
    engine = Engine()
    length = 42
    fed = 0

    async def feed(context):
        nonlocal fed
        for amount in (3, 1, 4, 4, 0, 7, 2, 4, 4, 4, 4, 4, 1):
            await context.tick().repeat(12)
            read = len([write for write, *_ in engine.sram.log if not write])
            assert 4 * read <= fed + (3 if fed == length else 0)
            assert 4 * read > fed - 4 or read == (length + 3) // 4, "what has been fed is sent at once"
            context.set(engine.credit.feed, amount)
            context.set(engine.credit.fed, 1)
            await context.tick()
            context.set(engine.credit.fed, 0)
            fed += amount
        assert fed == length

    flits = [(Kind.HEAD, 0), *data(0x100, 11), (Kind.TAIL, 0)]
    engine.run([{"pointer": 0x100, "length": length, "chase": 1, **WHOLE}], flits, then=feed)


FED = {  # bytes fed, and whether they are not sound; then the packets that are spoiled
    "at once": ([(4, 0), (8, 1), (4, 0), (6, 0)], [1]),
    "in parts": ([(4, 0), (4, 0), (4, 1), (4, 0), (6, 0)], [1]),
    "the last byte": ([(4, 0), (8, 0), (4, 0), (5, 0), (1, 1)], [3]),
    "the first byte": ([(1, 1), (3, 0), (8, 0), (10, 0)], [0]),
    "twice": ([(4, 1), (8, 1), (4, 0), (6, 0)], [0, 1]),
}


@pytest.mark.parametrize("name", FED)
@pytest.mark.parametrize("late", [0, 1, 7, 200])
def test_unsound_food_spoils_the_packet_that_takes_it_and_no_other(name, late):
    """However far the host DMA is ahead of the send DMA, which may be held by the link."""
    fed, spoiled = FED[name]
    engine = Engine()

    async def feed(context):
        for amount, spoil in fed:
            for member, value in (("feed", amount), ("spoil", spoil), ("fed", 1)):
                context.set(getattr(engine.credit, member), value)
            await context.tick()
            context.set(engine.credit.fed, 0)
            context.set(engine.credit.spoil, 0)
            if 0 < late < 200:
                await context.tick().repeat(late)

    sizes = (4, 8, 4, 6)
    descriptors = [{"pointer": 0x700, "length": 4, **WHOLE}]
    flits = [(Kind.HEAD, 0), *data(0x700, 1), (Kind.TAIL, 0)]
    for n, size in enumerate(sizes):
        descriptors.append({"pointer": 0x100 * (n + 1), "length": size, "chase": 1, **WHOLE})
        flits += [(Kind.HEAD, 0), *data(0x100 * (n + 1), (size + 3) // 4), (Kind.TAIL, int(n in spoiled))]
    engine.run(descriptors, flits, pause=0.9 if late == 200 else 0, then=feed)


def test_what_is_between_unsound_food_counts_as_unsound():
    engine = Engine()

    async def feed(context):
        for amount, spoil in ((4, 1), (4, 0), (4, 1)):
            for member, value in (("feed", amount), ("spoil", spoil), ("fed", 1)):
                context.set(getattr(engine.credit, member), value)
            await context.tick()
        context.set(engine.credit.fed, 0)

    descriptors, flits = [{"pointer": 0x700, "length": 16, **WHOLE}], [(Kind.HEAD, 0), *data(0x700, 4), (Kind.TAIL, 0)]
    for n in range(3):
        descriptors.append({"pointer": 0x100 * n, "length": 4, "chase": 1, **WHOLE})
        flits += [(Kind.HEAD, 0), *data(0x100 * n, 1), (Kind.TAIL, 1)]
    engine.run(descriptors, flits, then=feed)


@pytest.mark.parametrize(("written", "fed", "spoiled"), [(-8, 4, 0), (-4, 0, 1), (-12, 8, 0), (-12, 12, 0)])
def test_unsound_food_that_a_write_of_send_credit_takes_away_spoils_nothing(written, fed, spoiled):
    """8 unsound bytes come and the processor takes `written` off: what is left, or what comes
    later, is the packet's."""
    engine = Engine()

    async def feed(context):
        for member, value in (("feed", 8), ("spoil", 1), ("fed", 1)):
            context.set(getattr(engine.credit, member), value)
        await context.tick()
        context.set(engine.credit.fed, 0)
        context.set(engine.credit.amount, written & 0xFFFFFFFF)
        context.set(engine.credit.write, 1)
        await context.tick()
        context.set(engine.credit.write, 0)
        await context.tick()
        for member, value in (("feed", fed), ("spoil", 0), ("fed", 1)):
            context.set(getattr(engine.credit, member), value)
        await context.tick()
        context.set(engine.credit.fed, 0)
        await context.tick()
        await stream_put(context, engine.dma.post, [{**DEFAULTS, "pointer": 0x100, "length": 4, "chase": 1, **WHOLE}])

    engine.run([], [(Kind.HEAD, 0), *data(0x100, 1), (Kind.TAIL, spoiled)], then=feed, count=1)


def test_unsound_food_that_pays_a_debt_spoils_what_takes_the_rest():
    engine = Engine()

    async def feed(context):
        context.set(engine.credit.amount, -6 & 0xFFFFFFFF)
        context.set(engine.credit.write, 1)
        await context.tick()
        context.set(engine.credit.write, 0)
        for amount, spoil in ((10, 1), (4, 0)):
            for member, value in (("feed", amount), ("spoil", spoil), ("fed", 1)):
                context.set(getattr(engine.credit, member), value)
            await context.tick()
        context.set(engine.credit.fed, 0)

    pieces = [{"pointer": pointer, "length": 4, "chase": 1, **WHOLE} for pointer in (0x100, 0x200)]
    flits = [(Kind.HEAD, 0), *data(0x100, 1), (Kind.TAIL, 1), (Kind.HEAD, 0), *data(0x200, 1), (Kind.TAIL, 0)]
    engine.run(pieces, flits, then=feed)


def test_every_odd_slot_can_be_used():
    """The LBUS serves the send DMA every other slot at best: 40 words take 80 slots and a few to
    begin with."""
    engine = Engine()
    dma = engine.dma

    async def serve(context):
        slots = reads = 0
        context.set(dma.o.ready, 1)
        context.set(dma.post.payload, {**DEFAULTS, "length": 160, **WHOLE})
        context.set(dma.post.valid, 1)
        await context.tick()
        context.set(dma.post.valid, 0)
        while reads < 40:
            context.set(dma.lbus.grant, context.get(dma.lbus.request) & slots & 1)
            reads += context.get(dma.lbus.grant)
            slots += 1
            await context.tick()
        assert slots <= 80 + 6

    engine.bench.add(serve)
    engine.bench.run()
