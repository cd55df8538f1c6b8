"""Signals: a record that is appended by an exposure with the right `signal` raises an event, once,
when it is in memory."""

import random

import pytest
from pairs import some_of

from lanai_hdl.remote.packets import SizeWord

from .bench import Op, Status
from .test_adapter import between
from .test_fifo_append import CONTROL, Reader, append

SIGNALS = 3  # the target's exposure of the same memory that signals


async def signal(context, source, data, *, exposure=SIGNALS, op=Op.APPEND, **options):
    source.load(4001, data)
    return await source.command(context, op, 1, exposure, CONTROL, len(data), 5, 4001, **options)


async def allow(context, target):
    await target.expose(context, SIGNALS, 0, 3 * 4096, append=1, signal=1)


def raised(side):
    return [name for name, _ in side.events]


def test_the_event_comes_when_the_record_and_the_tail_are_in_memory():
    async def story(context, source, target):
        await allow(context, target)
        reader = Reader(target)
        assert await append(context, source, b"none") is Status.OK  # by an exposure that does not signal
        assert reader.take() == b"none"
        assert not target.events
        before = reader.head
        assert await signal(context, source, b"news") is Status.OK
        ((name, pages),) = target.events
        assert name == "REMOTE_SIGNAL"
        tail = pages[0x10000 + 3][16:20]  # page of the control words
        assert tail == reader.tail().count.to_bytes(4, "big") != before.to_bytes(4, "big")
        record = pages[0x10000 + 1][before:]
        size = SizeWord.from_bits(int.from_bytes(record[:4], "big"))
        assert (size.length, size.node, size.process) == (4, 0, 0)
        assert record[8:12] == b"news"
        assert await append(context, source, b"last") is Status.OK
        assert raised(target) == ["REMOTE_SIGNAL"]

    source, _ = between(story, append=1)
    assert not source.events


def test_who_may_not_signal_is_refused_and_interrupts_no_one():
    async def story(context, source, target):
        await allow(context, target)
        reader = Reader(target)
        assert await signal(context, source, b"data", key=1) is Status.KEY
        await target.expose(context, 4, 0, 3 * 4096, signal=1, write=1)
        assert await signal(context, source, b"data", exposure=4) is Status.RIGHT
        assert await signal(context, source, b"data", exposure=7) is Status.EXPOSURE
        source.load(4001, b"data")
        assert await source.command(context, Op.WRITE, 1, SIGNALS, 0, 4, 5, 4001) is Status.RIGHT
        await target.expose(context, 4, 0, 3 * 4096, signal=1, write=1, atomic=1)
        assert await source.command(context, Op.WRITE, 1, 4, 4096, 4, 5, 4001) is Status.OK  # no record
        assert await source.command(context, Op.ATOMIC, 1, 4, 4096, 0) is Status.OK
        assert not target.events
        assert reader.take() is None
        assert await signal(context, source, b"data") is Status.OK

    _, target = between(story, append=1)
    assert raised(target) == ["REMOTE_SIGNAL"]
    assert target.counts["REMOTE_REFUSED"] == 4


def test_a_signal_that_finds_no_room_interrupts_no_one_until_it_comes_again():
    async def story(context, source, target):
        await allow(context, target)
        reader = Reader(target, 400, free=16)
        assert await signal(context, source, bytes(8)) is Status.OK
        assert await signal(context, source, bytes(8)) is Status.FULL
        assert len(target.events) == 1
        reader.release()
        assert await signal(context, source, bytes(8), op=Op.RETRY) is Status.OK
        assert len(target.events) == 2

    between(story, append=1)


@pytest.mark.parametrize("seed", some_of(1, range(2)))
def test_each_signal_interrupts_once_whatever_is_lost_or_doubled(seed):
    chance = random.Random(seed)

    def fate(words):
        return [words] * chance.choice([0, 1, 1, 1, 2])

    async def story(context, source, target):
        await allow(context, target)
        reader = Reader(target)
        for n in range(4):
            assert await signal(context, source, bytes([n])) is Status.OK
        assert [reader.take() for _ in range(5)] == [*(bytes([n]) for n in range(4)), None]
        assert raised(target) == 4 * ["REMOTE_SIGNAL"]

    between(story, fate, append=1, timeout=300, retries=50)
