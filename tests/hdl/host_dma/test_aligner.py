"""Aligner and burst cutter: the host DMA's arithmetic, over every case that differs."""

import itertools
import random

import pytest

from lanai_hdl.bfm import Bench, stream_get, stream_put
from lanai_hdl.config import NicConfig
from lanai_hdl.host_dma.aligner import Aligner
from lanai_hdl.host_dma.cutter import BurstCutter


async def load(context, dut, **values):
    for name, value in values.items():
        context.set(getattr(dut, name), value)
    context.set(dut.load, 1)
    await context.tick()
    context.set(dut.load, 0)


def words_at(address, data):
    """The words that hold `data` at `address`, what is beside it filled with garbage."""
    padded = b"\xaa" * (address % 4) + data
    padded += b"\xbb" * (-len(padded) % 4)
    return [int.from_bytes(padded[n : n + 4], "big") for n in range(0, len(padded), 4)]


def masked_bytes(words):
    return b"".join(
        bytes(byte for lane, byte in enumerate(word.data.to_bytes(4, "big")) if word.mask >> (3 - lane) & 1)
        for word in words
    )


@pytest.mark.parametrize(("idle", "pause"), [(0, 0), (0.3, 0.3)])
def test_every_alignment(idle, pause):
    dut = Aligner()
    bench = Bench(dut, 40_000)
    cases = [*itertools.product(range(4), range(4), (1, 2, 3, 4, 5, 8, 11))]

    async def run(context):
        for source, target, length in cases:
            await load(context, dut, source=source, target=target, length=length)
            while context.get(dut.busy):
                await context.tick()

    async def put(context):
        for source, _, length in cases:
            data = random.Random(length).randbytes(length)
            await stream_put(
                context, dut.i, [{"data": word, "error": 0} for word in words_at(source, data)], idle=idle, seed=5
            )

    async def get(context):
        for source, target, length in cases:
            data = random.Random(length).randbytes(length)
            got = await stream_get(context, dut.o, len(words_at(target, data)), pause=pause, seed=6)
            assert masked_bytes(got) == data, (source, target, length)
            assert got[0].mask >> (4 - target) == 0, "bytes before the transfer are none of its business"

    bench.add(run)
    bench.add(put)
    bench.add(get)
    bench.run()


def test_a_failed_word_is_told_with_the_first_word_that_has_a_byte_of_it():
    """Whichever word fails: every byte of it comes with the error, or after a word that had it."""
    dut = Aligner()
    bench = Bench(dut, 20_000)
    length = 10

    async def run(context):
        for source, target in itertools.product(range(4), range(4)):
            count = (source + length + 3) // 4
            for failed in range(count):
                await load(context, dut, source=source, target=target, length=length)
                words = [{"data": 0, "error": int(n == failed)} for n in range(count)]
                context.set(dut.o.ready, 1)
                errors, at = [], 0
                while context.get(dut.busy):
                    context.set(dut.i.valid, at < count)
                    context.set(dut.i.payload, words[min(at, count - 1)])
                    _, _, taken, given, out = await context.tick().sample(dut.i.ready, dut.o.valid, dut.o.payload)
                    at += taken
                    if given:
                        errors.append(out.error)
                context.set(dut.i.valid, 0)
                first_byte = max(4 * failed - source, 0)  # of the transfer, in the failed word
                assert 1 in errors[: (target + first_byte) // 4 + 1], (source, target, failed)

    bench.add(run)
    bench.run()


def test_one_word_a_slot():
    """32 words across a shifted boundary in 34 slots: the aligner never holds the bus up."""
    dut = Aligner()
    bench = Bench(dut, 100)

    async def run(context):
        await load(context, dut, source=1, target=2, length=128)
        context.set(dut.i.valid, 1)
        context.set(dut.o.ready, 1)
        await context.tick().repeat(33)
        assert not context.get(dut.busy)

    bench.add(run)
    bench.run()


def test_bursts_cover_the_run_and_cross_no_boundary():
    config = NicConfig(max_burst=64)
    dut = BurstCutter(config)
    bench = Bench(dut, 5000)
    cases = [(0, 1), (3, 1), (3, 2), (60, 4), (60, 8), (62, 300), (4093, 100), (0, 256), (0xFFFFFFF0, 16)]

    async def run(context):
        for addr, length in cases:
            await load(context, dut, addr=addr, length=length, write=addr & 1)
            first, last = addr // 4, (addr + length - 1) // 4
            word = first
            while word <= last:
                (burst,) = await stream_get(context, dut.o, 1, pause=0.3, seed=addr)
                assert burst.word == word
                assert burst.write == addr & 1
                assert burst.words >= 1
                assert word // 16 == (word + burst.words - 1) // 16
                word += burst.words
            assert word == last + 1
            for _ in range(3):
                await context.tick()
                assert not context.get(dut.o.valid)

    bench.add(run)
    bench.run()
