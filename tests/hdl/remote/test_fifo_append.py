"""FIFOs in host memory: records that are appended are there in order, and one that finds no space is
refused until an explicit retry."""

import itertools
import random

import pytest

from lanai_hdl.bfm import Bench
from lanai_hdl.remote.fifo import (
    CONTROL_BYTES,
    COUNT_BITS,
    RECORD_HEADER,
    RingWord,
    TailWord,
    after,
    last_start,
    record_bytes,
)
from lanai_hdl.remote.fifo_append import FifoAppend
from lanai_hdl.remote.packets import SizeWord, word

from .bench import ALL, SMALL, Op, Side, Status, play
from .test_adapter import between
from .test_bad_packets import request

CONTROL = 2 * 4096 + 16  # the FIFO's control words in the target's exposure; its ring is the exposure's first page
COUNTS = 1 << COUNT_BITS


def fifo_words(start=0, free=4096):
    """The control words of a FIFO of a page whose next record begins at `start`, with space for `free` bytes."""
    head = (start - 4096 + free) % COUNTS
    return b"".join(one.to_bytes(4, "big") for one in (start, head, word(RingWord, page=0, mask=0)))


class Reader:
    """The process that owns the FIFO."""

    def __init__(self, side: Side, start=0, free=4096):
        """A FIFO whose next record begins at `start`, with space for `free` bytes until
        `release`."""
        self.side, self.head = side, start
        side.load(CONTROL, fifo_words(start, free))

    def release(self):
        """Release the data that was there at first."""
        self.side.load(CONTROL + 4, self.head.to_bytes(4, "big"))

    def tail(self):
        return TailWord.from_bits(int.from_bytes(self.side.dump(CONTROL, 4), "big"))

    def take(self):
        """The next record's data; None if there is none."""
        if self.head == self.tail().count:
            return None
        at = self.head % 4096
        size = SizeWord.from_bits(int.from_bytes(self.side.dump(at, 4), "big"))
        assert int.from_bytes(self.side.dump(at + 4, 4), "big") == CONTROL
        assert (size.node, size.process) == (0, 0)
        data = self.side.dump(at + 8, size.length)
        self.head = after(self.head, size.length, SMALL.payload)
        self.side.load(CONTROL + 4, self.head.to_bytes(4, "big"))
        return data


async def append(context, source, data, op=Op.APPEND, here=4001, **options):
    source.load(here, data)
    return await source.command(context, op, 1, 2, CONTROL, len(data), 5, here, **options)


def test_records_arrive_whole_in_order_around_the_ring_and_past_the_end_of_the_counts():
    chance = random.Random(4)

    async def story(context, source, target):
        reader = Reader(target, COUNTS - 300)
        for n, size in enumerate((9, 64, 63, 64, 64, 4)):
            data = chance.randbytes(size)
            assert await append(context, source, data, here=4020 - n) is Status.OK
            assert reader.take() == data
            assert reader.take() is None
        assert reader.head < 300

    between(story, append=1)


def test_a_full_fifo_refuses_all_until_a_retry():
    async def story(context, source, target):
        reader = Reader(target, 400, free=record_bytes(60) * 2)
        for n in range(2):
            assert await append(context, source, bytes([n]) * 60) is Status.OK
        assert not reader.tail().refusing
        assert await append(context, source, b"a") is Status.FULL
        assert reader.tail().refusing
        assert await append(context, source, b"a", op=Op.RETRY) is Status.FULL  # still no room
        reader.release()
        assert await append(context, source, b"b") is Status.FULL  # there is room, but `a` must come before
        assert await append(context, source, b"a", op=Op.RETRY) is Status.OK
        assert not reader.tail().refusing
        assert await append(context, source, b"b") is Status.OK
        assert [reader.take() for _ in range(5)] == [bytes(60), bytes([1]) * 60, b"a", b"b", None]

    _, target = between(story, append=1)
    assert target.counts["REMOTE_REFUSED"] == 3


def test_what_is_not_allowed_is_refused_and_leaves_the_fifo_as_it_was():
    async def story(context, source, target):
        Reader(target)
        control = target.dump(CONTROL, CONTROL_BYTES)
        source.load(4001, b"data")

        async def refused(offset=CONTROL, exposure=2, **options):
            return await source.command(context, Op.APPEND, 1, exposure, offset, 4, 5, 4001, **options)

        assert await refused(key=1) is Status.KEY
        assert await refused(CONTROL + 2) is Status.ALIGNMENT
        assert await refused(2 * 4096 - 4) is Status.RANGE  # the control words would cross a page
        await target.expose(context, 3, 0, 3 * 4096, **ALL)
        assert await refused(exposure=3) is Status.RIGHT
        assert target.dump(CONTROL, CONTROL_BYTES) == control
        target.load(CONTROL + 8, word(RingWord, page=9, mask=0).to_bytes(4, "big"))  # a ring outside the exposure
        assert await refused() is Status.RANGE
        await target.write(context, 0x180800 + 4 * 3, 0x1FFFF)  # the page of the control words: the host refuses it
        assert await refused() is Status.BUS
        await target.write(context, 0x180800 + 4 * 3, 0x10003)
        target.load(CONTROL + 8, word(RingWord, page=0, mask=0).to_bytes(4, "big"))
        assert await refused() is Status.OK

    between(story, append=1)


@pytest.mark.parametrize("size", [1, 8, 12, 16])
def test_a_short_record_is_judged_by_its_own_fifo(size):
    """One that has come while a record for another FIFO was served, so that its words follow each
    other at once. The head of its FIFO, as it was read last, leaves no space for it."""
    side, other = Side(0), CONTROL + 16
    sequence = itertools.count()

    def record(offset, data):
        words = [int.from_bytes(data[at : at + 4].ljust(4, b"\0"), "big") for at in range(0, len(data), 4)]
        side.arrive(request(Op.APPEND, next(sequence), offset=offset, length=len(data), data=words))

    async def script(context):
        await side.boot(context)
        await side.expose(context, 2, 0, 3 * 4096, append=1, **ALL)
        full = (record_bytes(60), (record_bytes(60) * 2 - 4096) % COUNTS, word(RingWord, page=1, mask=0))
        side.load(other, b"".join(one.to_bytes(4, "big") for one in full))
        Reader(side)
        record(other, bytes(60))
        record(CONTROL, bytes(60))
        await side.rest(context)
        side.load(other + 4, (record_bytes(60)).to_bytes(4, "big"))  # there is room now
        record(CONTROL, bytes(60))
        record(other, bytes(range(1, size + 1)))
        await side.rest(context)
        assert [words[1] & 0xF for words in side.sent] == [Status.OK.value] * 4
        at = 4096 + 2 * record_bytes(60)
        assert side.dump(at + RECORD_HEADER, size) == bytes(range(1, size + 1))
        tail = TailWord.from_bits(int.from_bytes(side.dump(other, 4), "big"))
        assert (tail.count, tail.refusing) == (after(at - 4096, size, SMALL.payload), 0)

    play([side], script)


@pytest.mark.slow
def test_an_append_takes_effect_once_whatever_is_lost_or_doubled():
    chance = random.Random(2)

    def fate(words):
        return [words] * chance.choice([0, 1, 1, 1, 2])

    async def story(context, source, target):
        reader = Reader(target)
        for n in range(4):
            assert await append(context, source, bytes([n]) * (n + 1)) is Status.OK
        assert [reader.take() for _ in range(5)] == [*(bytes([n]) * (n + 1) for n in range(4)), None]

    between(story, fate, append=1, timeout=300, retries=50)


def test_the_unit_computes_what_the_functions_say():
    chance, dut = random.Random(8), FifoAppend(SMALL)

    async def ask(context):
        for _ in range(200):
            mask = chance.choice([0, 1, 3, 127])
            tail, length = chance.randrange(0, COUNTS, 4), chance.randrange(1, SMALL.payload + 1)
            if tail % 4096 > last_start(SMALL.payload):
                continue
            size = (mask + 1) * 4096
            used = chance.choice(
                [0, size, size - record_bytes(length), size - record_bytes(length) + 4, chance.randrange(size)]
            )
            head = (tail - used // 4 * 4) % COUNTS
            refusing, retry = chance.getrandbits(1), chance.getrandbits(1)
            page = 0x1280
            context.set(dut.length, length)
            context.set(dut.retry, retry)
            context.set(dut.tail, {"count": tail, "refusing": refusing})
            context.set(dut.head.count, head)
            before = context.get(dut.offset)
            context.set(dut.ring, {"page": page, "mask": mask})
            assert context.get(dut.offset) == before, "from a register"
            await context.tick().repeat(3)
            full = used // 4 * 4 + record_bytes(length) > size or (refusing and not retry)
            assert context.get(dut.full) == full
            assert context.get(dut.size) == RECORD_HEADER + length
            assert context.get(dut.offset) == (page + (tail // 4096 & mask)) * 4096 + tail % 4096
            new = context.get(dut.new_tail)
            assert new.refusing == full
            assert new.count == (tail if full else after(tail, length, SMALL.payload))

    bench = Bench(dut, 5000)
    bench.add(ask)
    bench.run()
