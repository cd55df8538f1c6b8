"""Control words of FIFOs that the adapter keeps: a record costs no read of them, and what changes
them shows."""

import random

from lanai_hdl.bfm import Bench
from lanai_hdl.remote.fifo import RingWord, record_bytes
from lanai_hdl.remote.fifo_words import FifoWords
from lanai_hdl.remote.packets import word
from lanai_hdl.remote.tables import page_at

from .bench import ALL, PAGE, Op, Status
from .test_adapter import between
from .test_fifo_append import CONTROL, Reader, append

BUS_CONTROL = 0x10001 * PAGE + CONTROL  # of the page behind page table entry 1 and those after it


def look_ups(side, offset=CONTROL):
    """Return how often an adapter has read a FIFO's control words."""
    return side.reads.count(BUS_CONTROL - CONTROL + offset)


def test_records_behind_the_first_read_no_control_words():
    async def story(context, source, target):
        reader = Reader(target)
        for n in range(4):
            assert await append(context, source, bytes([n]) * 9, op=[Op.APPEND, Op.RETRY][n & 1]) is Status.OK
            assert reader.take() == bytes([n]) * 9
        assert look_ups(target) == 1

    between(story, append=1)


def test_the_head_is_read_again_only_when_there_is_no_room_by_the_one_before():
    async def story(context, source, target):
        reader = Reader(target, 0, free=3 * record_bytes(60))
        for n in range(3):
            assert await append(context, source, bytes([n]) * 60) is Status.OK
        assert look_ups(target) == 1
        reader.release()
        assert await append(context, source, bytes([3]) * 60) is Status.OK
        assert look_ups(target) == 2
        assert [reader.take() for _ in range(5)] == [*(bytes([n]) * 60 for n in range(4)), None]

    between(story, append=1)


def test_other_writes_to_memory_and_new_tables_make_it_read_again():
    ring = CONTROL + 8

    async def story(context, source, target):
        Reader(target)
        tail = 0

        async def goes_to(page):
            """The next record goes to a page of the exposure."""
            nonlocal tail
            assert await append(context, source, b"mark") is Status.OK
            assert target.dump(page * PAGE + tail + 8, 4) == b"mark"
            target.load(page * PAGE + tail + 8, b"gone")
            tail += record_bytes(4)

        await goes_to(0)
        source.load(0, word(RingWord, page=1, mask=0).to_bytes(4, "big"))
        assert await source.command(context, Op.WRITE, 1, 2, ring, 4, 5, 0) is Status.OK
        await goes_to(1)
        operand = word(RingWord, page=0, mask=0)
        assert await source.command(context, Op.ATOMIC, 1, 2, ring, 4, operand=operand) is Status.OK
        await goes_to(0)
        source.load(0, word(RingWord, page=1, mask=0).to_bytes(4, "big"))
        await source.expose(context, 6, 0, 3 * PAGE, **ALL)
        await target.expose(context, 5, 0, 3 * PAGE)
        assert await target.command(context, Op.READ, 0, 6, 0, 4, 5, ring) is Status.OK
        await goes_to(1)
        target.load(ring, word(RingWord, page=0, mask=0).to_bytes(4, "big"))
        await target.write(context, page_at(0, 6), 0x10000)
        await goes_to(0)
        target.load(ring, word(RingWord, page=1, mask=0).to_bytes(4, "big"))
        await target.expose(context, 7, 0, PAGE)
        await goes_to(1)

    between(story, append=1)


def test_a_fifo_that_is_reached_by_two_exposures_is_one():
    async def story(context, source, target):
        reader = Reader(target)
        await target.expose(context, 3, 0, 3 * PAGE, append=1)
        for n in range(6):
            data = bytes([n]) * 5
            source.load(4001, data)
            exposure = 3 if n in (1, 2, 4) else 2
            assert await source.command(context, Op.APPEND, 1, exposure, CONTROL, 5, 5, 4001) is Status.OK
            assert reader.take() == data

    between(story, append=1)


def test_two_fifos_take_turns_and_are_both_kept():
    second = CONTROL + 16

    async def story(context, source, target):
        reader = Reader(target)
        target.load(second, b"".join(one.to_bytes(4, "big") for one in (0, 0, word(RingWord, page=1, mask=0))))
        for n in range(3):
            assert await append(context, source, bytes([n])) is Status.OK
            assert reader.take() == bytes([n])
            source.load(4001, bytes([n + 10]))
            assert await source.command(context, Op.APPEND, 1, 2, second, 1, 5, 4001) is Status.OK
            assert target.dump(PAGE + n * record_bytes(1) + 8, 1) == bytes([n + 10])
        assert (look_ups(target), look_ups(target, second)) == (1, 1)

    between(story, append=1)


def test_a_record_over_the_control_words_of_another_fifo_shows():
    beside = 2 * PAGE + 512

    async def story(context, source, target):
        Reader(target)
        assert await append(context, source, b"mark") is Status.OK
        words = (0, 0, word(RingWord, page=2, mask=0))  # its ring is the page of all control words
        target.load(beside, b"".join(one.to_bytes(4, "big") for one in words))
        moved = b"".join(one.to_bytes(4, "big") for one in (64, 64, word(RingWord, page=1, mask=0)))
        source.load(4001, bytes(CONTROL % PAGE - 8) + moved)
        length = CONTROL % PAGE - 8 + len(moved)
        assert await source.command(context, Op.APPEND, 1, 2, beside, length, 5, 4001) is Status.OK
        assert await append(context, source, b"mark") is Status.OK
        assert target.dump(PAGE + 64 + 8, 4) == b"mark"

    between(story, append=1)


def test_a_key_or_a_right_that_is_wrong_is_found_although_the_words_are_kept():
    async def story(context, source, target):
        reader = Reader(target)
        assert await append(context, source, b"a") is Status.OK
        assert await append(context, source, b"b", key=1) is Status.KEY
        await target.expose(context, 3, 0, 3 * PAGE, **ALL)
        assert await append(context, source, b"c") is Status.OK
        source.load(4001, b"d")
        assert await source.command(context, Op.APPEND, 1, 3, CONTROL, 1, 5, 4001) is Status.RIGHT
        assert [reader.take() for _ in range(3)] == [b"a", b"c", None]

    between(story, append=1)


def test_the_unit_knows_what_has_not_been_forgotten():
    chance, dut = random.Random(3), FifoWords()
    kept = {}  # (exposure, offset) by entry
    seen = {"known": 0, "forgotten in use": 0}

    async def ask(context):
        for _ in range(1500):
            exposure, offset = chance.choice([2, 3]), 16 * chance.randrange(3) + chance.choice([0, 0, 0, 4, 4096])
            entry = offset // 16 % 16
            context.set(dut.exposure, exposure)
            context.set(dut.offset, offset)
            context.set(dut.begin, 1)
            await context.tick()
            context.set(dut.begin, 0)
            await context.tick()
            known = entry in kept and kept[entry][0] == (exposure, offset)
            assert context.get(dut.known) == known
            seen["known"] += known
            if known:
                words = tuple(context.get(one.as_value()) for one in (dut.tail, dut.head, dut.ring))
                assert words == kept[entry][1]
            if not known or chance.random() < 0.1:
                kept.pop(entry, None)
                words = tuple(chance.getrandbits(20) & ~3 for _ in range(3))
                for field, one in enumerate(words):
                    context.set(dut.take, 1)
                    context.set(dut.field, field)
                    context.set(dut.word, one)
                    await context.tick()
                context.set(dut.take, 0)
            forgotten = chance.random() < 0.1
            if forgotten:
                kept.clear()
                context.set(dut.forget, 1)
                await context.tick()
                context.set(dut.forget, 0)
                seen["forgotten in use"] += 1
            if chance.random() < 0.8:
                tail = chance.getrandbits(20) & ~3
                context.set(dut.new_tail, {"count": tail})
                context.set(dut.keep, 1)
                await context.tick()
                context.set(dut.keep, 0)
                if offset % 16 == 0 and not forgotten:
                    kept[entry] = ((exposure, offset), (tail, *words[1:]))
                else:
                    kept.pop(entry, None)

    bench = Bench(dut, 20_000)
    bench.add(ask)
    bench.run()
    assert min(seen.values()) > 50
