"""Stream buffers give out exactly the words that were stored, those to one place in order."""

import random
from dataclasses import dataclass, field

import pytest

from lanai_hdl.bfm import Bench
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.streams import StreamBuffers

CONFIG = Remote(payload=64, streams=4, stream_bytes=32, stream_slots=8)
WORDS = CONFIG.stream_bytes // 4


@dataclass
class Target:
    """Memory behind stream buffers, whose closed buffers are read out twice, as for a packet that
    is sent again, and then freed."""

    dut: StreamBuffers
    chance: random.Random
    memory: dict[int, int] = field(default_factory=dict)
    sizes: list[int] = field(default_factory=list)

    async def serve(self, context):
        dut = self.dut
        while True:
            context.set(dut.o.ready, self.chance.random() < 0.5)
            _, _, valid, ready, got = await context.tick().sample(dut.o.valid, dut.o.ready, dut.o.payload)
            if not (valid and ready):
                continue
            context.set(dut.o.ready, 0)
            for _ in range(self.chance.randrange(30)):
                await context.tick()
            first = await self.read(context, got)
            assert await self.read(context, got) == first
            self.memory |= first
            self.sizes.append(got.words)
            context.set(dut.freed, got.first // WORDS)
            context.set(dut.free, 1)
            await context.tick()
            context.set(dut.free, 0)

    async def read(self, context, got):
        words = {}
        for place in range(got.first, got.first + got.words):
            context.set(self.dut.index, place)
            await context.tick()
            words[place] = context.get(self.dut.read)
        return words


async def store(context, dut, place, word):
    """Gives the slots until it was taken."""
    context.set(dut.place, place)
    context.set(dut.word, word)
    context.set(dut.store, 1)
    slots = 1
    while not (await context.tick().sample(dut.taken))[2]:
        slots += 1
    context.set(dut.store, 0)
    return slots


async def rest(context, dut):
    while not context.get(dut.idle):
        await context.tick()


def play(script, seed=1, slots=20_000):
    """Runs `async def script(context, dut, target)`; gives the target."""
    dut = StreamBuffers(CONFIG)
    target = Target(dut, random.Random(seed))

    async def run(context):
        await script(context, dut, target)
        await rest(context, dut)

    bench = Bench(dut, slots)
    bench.add_background(target.serve)
    bench.add(run)
    bench.run()
    return target


@pytest.mark.parametrize("seed", [1, 2])
def test_what_was_stored_comes_out(seed):
    chance, stored = random.Random(seed), {}

    async def script(context, dut, _):
        place = 0
        for _ in range(300):
            if chance.random() < 0.2:
                place = chance.choice([chance.randrange(4 * WORDS * CONFIG.streams), place - 1, place + WORDS])
                place = max(place, 0)
            stored[place] = chance.getrandbits(32)
            await store(context, dut, place, stored[place])
            place += 1
            if chance.random() < 0.1:
                context.set(dut.close, 1)
                await context.tick()
                context.set(dut.close, 0)
            if chance.random() < 0.1:
                for _ in range(chance.randrange(12)):
                    await context.tick()

    target = play(script, seed)
    assert target.memory == stored
    assert {1, 2, WORDS} <= set(target.sizes)


def test_consecutive_stores_leave_in_whole_blocks():
    async def script(context, dut, _):
        for place in range(4 * WORDS):
            assert await store(context, dut, place, place) == 1  # each block has its own buffer

    assert play(script).sizes == [WORDS] * 4


def test_a_store_elsewhere_in_the_block_closes_the_buffer_and_waits_for_it():
    async def script(context, dut, _):
        await store(context, dut, 0, 1)
        assert await store(context, dut, 2, 2) > 2

    target = play(script)
    assert target.sizes == [1, 1]
    assert target.memory == {0: 1, 2: 2}


def test_a_store_to_another_buffer_closes_the_one_before():
    async def script(context, dut, _):
        for block in range(CONFIG.streams):
            assert not context.get(dut.pending) or block
            assert await store(context, dut, block * WORDS, block) == 1
        for _ in range(2):  # long before the time without a store is over
            await context.tick()
        assert context.get(dut.pending)

    assert play(script).sizes == [1] * CONFIG.streams


def test_a_buffer_is_closed_in_time_after_the_last_store():
    async def script(context, dut, _):
        await store(context, dut, 5, 1)
        for waited in range(CONFIG.stream_slots):
            assert context.get(dut.open), waited
            await context.tick()
        assert not context.get(dut.open)
        assert context.get(dut.pending)

    play(script)
