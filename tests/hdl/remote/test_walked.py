"""Two adapters whose exposures are walked, at one end or at both: they do what direct ones do."""

import random

import pytest
from pairs import some_of

from .bench import ALL, PAGE, Atomic, Op, Side, Status, play
from .test_adapter import Link
from .test_fifo_append import COUNTS, Reader, append

ENDS = [(1, 1), (0, 1), (1, 0)]  # whether the source's and the target's exposures are walked


def between(script, walked):
    """Runs `script(context, source, target)`; the target exposes 3 pages as exposure 2, the source
    its own as 5."""
    sides = Side(0, timeout=400), Side(1)

    async def whole(context):
        for side, walks, number, rights in zip(sides, walked, (5, 2), ({}, {**ALL, "append": 1}), strict=True):
            await side.boot(context)
            expose = side.expose_walked if walks else side.expose
            await expose(context, number, 0, 3 * PAGE, **rights)
        await script(context, *sides)
        for side in sides:
            await side.rest(context)

    play(sides, whole, wire=Link(sides).carry)
    for side, walks in zip(sides, walked, strict=True):
        assert (side.counts["REMOTE_TLB_MISSES"] > 0) == bool(walks)
    return sides


@pytest.mark.parametrize("walked", some_of(1, ENDS))
def test_writes_and_reads_move_every_byte(walked):
    chance = random.Random(1)

    async def script(context, source, target):
        for n, size in enumerate((1, 65, 300)):
            data = chance.randbytes(size)
            here, there, back = 4001 + n, 4090 - 3 * n, 6001 + n
            source.load(here, data)
            assert await source.command(context, Op.WRITE, 1, 2, there, size, 5, here) is Status.OK
            assert target.dump(there, size) == data
            assert await source.command(context, Op.READ, 1, 2, there, size, 5, back) is Status.OK
            assert source.dump(back, size) == data

    between(script, walked)


@pytest.mark.parametrize("walked", some_of(1, ENDS))
def test_atomics_and_records(walked):
    async def script(context, source, target):
        target.load(PAGE - 4, (7).to_bytes(4, "big"))
        assert await source.command(context, Op.ATOMIC, 1, 2, PAGE - 4, 4, atomic=Atomic.ADD, operand=5) is Status.OK
        assert (source.result(), target.dump(PAGE - 4, 4)) == (7, (12).to_bytes(4, "big"))
        reader = Reader(target, COUNTS - 100)
        for size in (9, 64, 63):
            assert await append(context, source, bytes(range(size)), here=4020) is Status.OK
            assert reader.take() == bytes(range(size))

    between(script, walked)


@pytest.mark.ci
def test_both_ends_walk_at_once():
    """Each reads from and writes to the other, and neither keeps a line: its tables are written all the
    time."""

    async def script(context, source, target):
        chance = random.Random(2)
        for _ in range(4):
            data = chance.randbytes(200)
            source.load(PAGE, data)
            target.load(2 * PAGE, data[::-1])
            tags = [
                await source.start(context, Op.WRITE, 1, 2, 600, 200, 5, PAGE),
                await source.start(context, Op.READ, 1, 2, 2 * PAGE, 200, 5, 100, buffer=1),
            ]
            await target.expose_walked(context, 7, 0, PAGE)
            await source.expose_walked(context, 7, 0, PAGE)
            for buffer, tag in enumerate(tags):
                assert await source.end(context, tag, buffer) is Status.OK
            assert target.dump(600, 200) == data
            assert source.dump(100, 200) == data[::-1]
            assert target.dump(800, 1) == b"\0"

    between(script, (1, 1))


def test_what_is_bad_is_told():
    async def script(context, source, target):
        directory = target.pages[0x10004]
        for word, status in ((0x10002, Status.PAGE), (1 << 31 | 0x30000, Status.PAGE), (1 << 31 | 0x10FFF, Status.BUS)):
            directory[4:8] = word.to_bytes(4, "big")
            await target.expose(context, 7, 0, PAGE)  # what is kept is forgotten
            assert await source.command(context, Op.WRITE, 1, 2, PAGE, 8, 5, 0) is status
            assert await source.command(context, Op.WRITE, 1, 2, 0, 8, 5, 0) is Status.OK
        del target.pages[0x10004]
        await target.expose(context, 7, 0, PAGE)
        assert await source.command(context, Op.READ, 1, 2, 0, 8, 5, 0) is Status.BUS

    between(script, (0, 1))
