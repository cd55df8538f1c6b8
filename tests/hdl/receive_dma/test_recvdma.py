"""Receive DMA: buffers, verdicts, overrun, timeout."""

import random

import pytest

from lanai_hdl.bfm import Bench, PysimPins, SramModel, stream_put
from lanai_hdl.config import BlockedAction, NicConfig
from lanai_hdl.link.deframer import PartKind
from lanai_hdl.machine import Verdict
from lanai_hdl.receive_dma.engine import ReceiveDma

CONFIG = NicConfig(sram_size=8192)
GARBAGE = b"\x77" * 8192


def packet(words, *, checked_after=None, bad_crc=0, truncated=0):
    parts = [{"kind": PartKind.START}]
    for n, word in enumerate(words):
        if n == checked_after:
            parts.append({"kind": PartKind.CHECKED})
        parts.append({"kind": PartKind.WORD, "data": word})
    parts.append({"kind": PartKind.END, "bad_crc": bad_crc, "truncated": truncated})
    return [{"data": 0, "bad_crc": 0, "truncated": 0, **part} for part in parts]


def words(count, seed=1):
    chance = random.Random(seed)
    return [chance.getrandbits(32) for _ in range(count)]


def as_bytes(values):
    return b"".join(value.to_bytes(4, "big") for value in values)


class Engine:
    def __init__(self, config=CONFIG):
        self.dma = ReceiveDma(config)
        self.bench = Bench(self.dma, 10_000)
        self.timeouts = 0
        self.resets = 0

    async def _take(self, context, count, chance, pause):
        """Take completions as software does: read one, pop it; the strobe comes in the next slot."""
        oldest, got = self.dma.completed, []
        while len(got) < count:
            if context.get(oldest.valid) and chance.random() >= pause:
                payload = context.get(oldest.payload)
                got.append((payload.length, payload.buffer, payload.verdict))
                await context.tick()
                context.set(oldest.pop, 1)
                await context.tick()
                context.set(oldest.pop, 0)
            else:
                await context.tick()
        return got

    def run(self, parts, buffers, completions, check=None, *, refuse=0.0, idle=0.0, pause=0.0, hold=1):
        """Sends the parts into the buffers; expects the completions (length, buffer, verdict),
        taken `hold` slots late."""

        async def sram_serves(context):
            self.sram = SramModel(PysimPins(context, self.dma.lbus), 8192, refuse=refuse, seed=4)
            self.sram.data[:] = GARBAGE
            await self.sram.serve()

        async def watch(context):
            async for *_, timeout, reset in context.tick().sample(self.dma.timeout, self.dma.reset):
                self.timeouts += timeout
                self.resets += reset

        async def post(context):
            payloads = [{"pointer": pointer, "limit": limit} for pointer, limit in buffers]
            await stream_put(context, self.dma.post, payloads, idle=idle, seed=7)

        async def put(context):
            await stream_put(context, self.dma.i, parts, idle=idle, seed=6)

        async def get(context):
            await context.tick().repeat(hold)
            assert await self._take(context, len(completions), random.Random(5), pause) == completions
            await context.tick().repeat(5)
            assert not context.get(self.dma.completed.valid)
            if check:
                check(context)

        self.bench.add_background(sram_serves)
        self.bench.add_background(watch)
        self.bench.add(post)
        self.bench.add(put)
        self.bench.add(get)
        self.bench.run()


@pytest.mark.parametrize(("refuse", "idle", "pause"), [(0, 0, 0), (0.6, 0, 0), (0, 0.4, 0), (0.3, 0.3, 0.6)])
def test_packets_go_to_their_buffers(refuse, idle, pause):
    sizes = (0, 1, 5, 16, 3, 9)
    parts = [part for n, size in enumerate(sizes) for part in packet(words(size, n))]
    buffers = [(256 * n, 256 * n + 64) for n in range(len(sizes))]
    completions = [(4 * size, 256 * n, Verdict.VALID) for n, size in enumerate(sizes)]
    engine = Engine()

    def check(context):
        expected = bytearray(GARBAGE)
        for n, size in enumerate(sizes):
            expected[256 * n : 256 * n + 4 * size] = as_bytes(words(size, n))
        assert engine.sram.data == expected
        assert context.get(engine.dma.idle)
        assert context.get(engine.dma.free) == CONFIG.recv_queue

    engine.run(parts, buffers, completions, check, refuse=refuse, idle=idle, pause=pause)


@pytest.mark.parametrize("room", [0, 4, 60])
@pytest.mark.parametrize("refuse", [0, 0.5])
def test_an_overrun_never_writes_past_the_limit(room, refuse):
    engine = Engine()

    def check(context):
        kept = as_bytes(words(20)[: room // 4])
        assert engine.sram.data == GARBAGE[:256] + kept + GARBAGE[256 + room :]

    verdict = Verdict.VALID | Verdict.OVERRUN
    parts = packet(words(20)) + packet([])
    buffers = [(256, 256 + room), (0, 0)]
    engine.run(parts, buffers, [(room, 256, verdict), (0, 0, Verdict.VALID)], check, refuse=refuse)


def test_a_packet_that_just_fits_is_no_overrun():
    Engine().run(packet(words(16)), [(64, 128)], [(64, 64, Verdict.VALID)])


def test_verdicts():
    parts = [
        *packet(words(3), bad_crc=1),
        *packet(words(2), truncated=1),
        *packet(words(4), checked_after=2),
        *packet(words(5), checked_after=2, bad_crc=1, truncated=1),
    ]
    v = Verdict
    verdicts = [v.VALID | v.CRC, v.VALID | v.TRUNCATED, v.VALID | v.CHECKED, v.VALID | v.CHECKED | v.CRC | v.TRUNCATED]
    completions = [(4 * n, 0, verdict) for n, verdict in zip((3, 2, 4, 5), verdicts, strict=True)]
    Engine().run(parts, [(0, 64)] * 4, completions)


def test_a_full_completion_queue_holds_the_wire():
    sizes = range(CONFIG.completions + 3)
    parts = [part for size in sizes for part in packet(words(size))]
    Engine().run(parts, [(0, 64)] * len(sizes), [(4 * size, 0, Verdict.VALID) for size in sizes], hold=600)


@pytest.mark.parametrize("action", BlockedAction)
def test_a_packet_without_a_buffer_is_given_up(action):
    """NP-19: after `blocked_slots` without a buffer the packet goes, or the NIC does; the next one
    is served."""
    engine = Engine(CONFIG.but(blocked_slots=50, blocked_action=action))
    dma = engine.dma

    async def run(context):
        context.set(dma.i.payload, packet([])[0])
        context.set(dma.i.valid, 1)
        for _ in range(60):
            _, _, timeout, reset, ready = await context.tick().sample(dma.timeout, dma.reset, dma.i.ready)
            engine.timeouts += timeout
            engine.resets += reset
            if ready:
                break
        if action is BlockedAction.RESET:
            assert engine.resets
            return
        assert engine.timeouts == 1
        context.set(dma.i.valid, 0)
        await stream_put(context, dma.i, packet(words(3))[1:])
        await stream_put(context, dma.post, [{"pointer": 0, "limit": 64}])
        await stream_put(context, dma.i, packet([]))
        await context.tick().repeat(3)
        assert context.get(dma.completed.payload.length) == 0

    engine.bench.add(run)
    engine.bench.run()
