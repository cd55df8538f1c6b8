"""Send DMA: packets from pieces, chasing, refusal, spoiling."""

import pytest
from amaranth import Module

from lanai_hdl.bfm import Bench, PysimPins, SramModel, stream_get, stream_put
from lanai_hdl.config import NicConfig
from lanai_hdl.link.flit import Kind
from lanai_hdl.send_dma.engine import SendCredit, SendDma

CONFIG = NicConfig(sram_size=8192)
DEFAULTS = {"route": 0, "pointer": 0, "length": 0, "first": 0, "last": 0, "chase": 0, "check": 0, "refused": 0}
WHOLE = {"first": 1, "last": 1}


def word(address):
    return 0x5A000000 | address


class Engine:
    def __init__(self):
        self.dma, self.credit = SendDma(CONFIG), SendCredit()
        top = Module()
        top.submodules.dma, top.submodules.credit = self.dma, self.credit
        top.d.comb += [
            self.credit.take.eq(self.dma.take),
            self.credit.size.eq(self.dma.size),
            self.dma.credit.eq(self.credit.value),
        ]
        self.bench = Bench(top, 10_000)
        self.dones = 0

    def does(self, descriptors, flits, *, refuse=0.0, pause=0.0, then=None):
        """Runs the descriptors and expects the flits; `then(context)` goes on beside."""

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
            assert self.dones == len(descriptors)

        self.bench.meanwhile(sram_serves)
        self.bench.meanwhile(watch)
        self.bench.does(put)
        if then:
            self.bench.does(then)
        self.bench.does(get)
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
    Engine().does(descriptors, flits, refuse=refuse, pause=pause)


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
    Engine().does(descriptors, flits)


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
    engine.does([{"pointer": 0x100, "length": length, "chase": 1, **WHOLE}], flits, then=feed)


def test_unsound_food_spoils_the_chasing_packet_only():
    engine = Engine()

    async def feed(context):
        context.set(engine.credit.amount, 8)
        context.set(engine.credit.write, 1)
        context.set(engine.dma.spoil, 1)
        await context.tick()
        context.set(engine.credit.write, 0)
        context.set(engine.dma.spoil, 0)

    descriptors = [
        {"pointer": 0x100, "length": 4, **WHOLE},
        {"pointer": 0x200, "length": 4, "chase": 1, **WHOLE},
        {"pointer": 0x300, "length": 4, "chase": 1, **WHOLE},
    ]
    flits = []
    for pointer, spoiled in ((0x100, 0), (0x200, 1), (0x300, 0)):
        flits += [(Kind.HEAD, 0), *data(pointer, 1), (Kind.TAIL, spoiled)]
    engine.does(descriptors, flits, then=feed)


def test_every_odd_slot_can_be_used():
    """The LBUS serves the send DMA every other slot at best: 40 words take 80 slots and a few to begin with."""
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

    engine.bench.does(serve)
    engine.bench.run()
