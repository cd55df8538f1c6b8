"""Records that are refused if a write before them was."""

import itertools

from lanai_hdl.remote.packets import WINDOW, Condition, Op, Order, RequestWord, SizeWord, TargetWord

from .bench import ALL, Atomic, Side, Status, play
from .test_adapter import between
from .test_bad_packets import reply, request
from .test_fifo_append import CONTROL, Reader

HERE = 4000  # in the source's memory
GOOD, BAD = {}, {"key": 1}


async def put(context, source, **options):
    local, order = options.pop("local", 5), options.pop("order", Order.BOUND)
    return await source.command(context, Op.WRITE, 1, 2, 4096, 4, local, HERE, atomic=order, **options)


async def append(context, source, data=b"data", op=Op.APPEND, condition=Condition.CONDITIONAL, **options):
    source.load(HERE, data)
    return await source.command(context, op, 1, 2, CONTROL, len(data), 5, HERE, atomic=condition, **options)


def records(reader):
    return list(iter(reader.take, None))


def test_a_record_follows_good_writes_and_not_refused_ones():
    async def story(context, source, target):
        reader = Reader(target)
        assert await put(context, source) is Status.OK
        assert await append(context, source, b"one") is Status.OK
        assert await put(context, source, **BAD) is Status.KEY
        assert await put(context, source) is Status.OK
        assert await append(context, source, b"two") is Status.BEFORE
        assert reader.tail().refusing
        assert await append(context, source, b"three") is Status.FULL  # behind one that was refused
        assert await append(context, source, b"four", Op.RETRY) is Status.OK  # the mark is gone
        assert await append(context, source, b"five") is Status.OK
        assert records(reader) == [b"one", b"four", b"five"]

    between(story, append=1)


def test_a_retry_too_is_refused_and_what_has_no_condition_is_not():
    async def story(context, source, target):
        reader = Reader(target)
        assert await put(context, source, **BAD) is Status.KEY
        assert await append(context, source, b"one", condition=Condition.NONE) is Status.OK
        assert await append(context, source, b"two", Op.RETRY) is Status.BEFORE
        assert await append(context, source, b"three", condition=Condition.NONE) is Status.FULL
        assert await append(context, source, b"four", Op.RETRY, condition=Condition.NONE) is Status.OK
        assert records(reader) == [b"one", b"four"]

    between(story, append=1)


def test_what_is_not_a_bound_write_does_not_count():
    async def story(context, source, target):
        reader = Reader(target)
        assert await source.command(context, Op.READ, 1, 2, 0, 4, 5, HERE, **BAD) is Status.KEY
        assert await append(context, source, condition=Condition.NONE, **BAD) is Status.KEY
        assert await put(context, source, order=Order.IN_TURN, **BAD) is Status.KEY
        assert await source.command(context, Op.ATOMIC, 1, 2, 4096, 4, atomic=Atomic.CAS, **BAD) is Status.KEY
        assert await source.command(context, Op.WRITE, 1, 2, 4096, 4, 7, 0) is Status.EXPOSURE
        assert await append(context, source, b"one") is Status.OK
        assert await put(context, source, **BAD) is Status.KEY
        assert await append(context, source, b"two", **BAD) is Status.KEY  # is refused anyhow, and ends the run
        assert not reader.tail().refusing
        assert await append(context, source, b"three") is Status.OK
        assert records(reader) == [b"one", b"three"]

    between(story, append=1)


def test_writes_and_records_that_are_begun_back_to_back():
    """All commands are under way at once; only the second write is bad."""

    async def story(context, source, target):
        reader, running = Reader(target), []
        source.load(HERE, b"data")
        for n in range(3):
            options = BAD if n == 1 else GOOD
            for op, offset, condition, keys in (
                (Op.WRITE, 4096, Order.BOUND, options), (Op.APPEND, CONTROL, Condition.CONDITIONAL, GOOD),
            ):  # fmt: skip
                buffer = len(running)
                tag = await source.start(
                    context, op, 1, 2, offset, 4, 5, HERE, atomic=condition, buffer=buffer, **keys
                )  # fmt: skip
                running.append(tag)
        ends = [await source.end(context, tag, buffer) for buffer, tag in enumerate(running)]
        assert ends == [Status.OK, Status.OK, Status.KEY, Status.BEFORE, Status.OK, Status.FULL]
        assert records(reader) == [b"data"]

    between(story, append=1)


def test_a_write_that_failed_at_its_source_counts():
    async def story(context, source, target):
        reader = Reader(target)
        assert await put(context, source, local=7) is Status.EXPOSURE
        assert await append(context, source, b"one") is Status.BEFORE
        del source.pages[0x10000 + 3]
        await source.expose(context, 6, 0, 4096, page=3)
        assert await source.command(context, Op.WRITE, 1, 2, 4096, 4, 6, 0, atomic=Order.BOUND) is Status.BUS
        assert await append(context, source, b"two", Op.RETRY) is Status.BEFORE
        bad = (1, 2, CONTROL, 4, 6, 0)
        assert await source.command(context, Op.APPEND, *bad, atomic=Condition.CONDITIONAL) is Status.BUS
        assert await append(context, source, b"four", Op.RETRY) is Status.OK
        assert records(reader) == [b"four"]

    between(story, append=1)


def test_a_request_that_stands_in_for_a_record_is_in_turn():
    """It must not mark a process before the requests before it have been carried out."""
    side, seen = Side(0), []

    async def script(context):
        await side.boot(context)
        for op, field in ((Op.WRITE, Order.RELAXED_BOUND), (Op.APPEND, Condition.CONDITIONAL)):
            await side.start(context, op, 1, 2, CONTROL, 4, 7, atomic=field)
            for _ in range(300):
                await context.tick()
            (words,) = side.sent
            side.sent.clear()
            seen.append((RequestWord.from_bits(words[0]).op, int(SizeWord.from_bits(words[2]).atomic)))
            answer = reply(Op.ACK, entry=TargetWord.from_bits(words[1]).entry, sequence=len(seen) - 1)
            side.arrive(answer)
            await side.rest(context)

    play([side], script)
    assert seen == [(Op.NOP, Order.RELAXED_BOUND), (Op.NOP, Condition.CONDITIONAL)]
    assert not Condition.CONDITIONAL & Order.RELAXED_BOUND


class Target:
    """One adapter with a FIFO, and packets made by hand. `statuses`: of the answers."""

    def __init__(self):
        self.side = Side(0)
        self.numbers = [itertools.count() for _ in range(4)]

    async def open(self, context):
        await self.side.boot(context)
        await self.side.expose(context, 2, 0, 3 * 4096, append=1, **ALL)
        self.reader = Reader(self.side)

    def give(self, op, *, source=1, process=0, sequence=None, **options):
        sequence = next(self.numbers[source]) if sequence is None else sequence
        offset = CONTROL if op is Op.APPEND else 0
        order = Condition.CONDITIONAL if op is Op.APPEND else options.pop("order", Order.BOUND)
        data = () if op is Op.NOP else (0x11223344,)
        words = request(
            op, sequence, offset=offset, data=data, source=source, process=process, order=order, **options
        )  # fmt: skip
        self.side.arrive(words)
        return words

    async def statuses(self, context):
        await self.side.rest(context)
        found = [Status(words[1] & 0xF) for words in self.side.sent]
        self.side.sent.clear()
        return found


def test_each_process_of_each_nic_has_a_mark_of_its_own():
    target = Target()

    async def script(context):
        await target.open(context)
        for source, process in ((1, 0), (2, 7)):
            target.give(Op.WRITE, source=source, process=process, **BAD)
        for source, process in ((1, 1), (2, 0), (1, 7)):
            target.give(Op.APPEND, source=source, process=process)
        assert await target.statuses(context) == [Status.KEY] * 2 + [Status.OK] * 3
        target.give(Op.APPEND, source=1)
        target.give(Op.APPEND, source=2, process=7)
        assert await target.statuses(context) == [Status.BEFORE] * 2

    play([target.side], script)


def test_what_comes_again_is_answered_again_and_changes_no_mark():
    target = Target()

    async def script(context):
        await target.open(context)
        bad = target.give(Op.WRITE, **BAD)
        refused = target.give(Op.APPEND)
        for words in (bad, refused, bad, refused):
            target.side.arrive(words)
        ends = [Status.KEY, Status.BEFORE]
        assert await target.statuses(context) == ends * 3
        target.side.load(CONTROL, bytes(4))  # so the FIFO takes records, and its words are read again
        target.give(Op.APPEND)
        assert await target.statuses(context) == [Status.OK]

    play([target.side], script)


def test_relaxed_writes_that_are_refused_count():
    target = Target()

    async def script(context):
        await target.open(context)
        for sequence in range(WINDOW - 1, -1, -1):
            options = BAD if sequence == 3 else GOOD
            target.give(Op.WRITE, sequence=sequence, order=Order.RELAXED_BOUND, **options)
        target.give(Op.APPEND, sequence=WINDOW)
        ends = await target.statuses(context)
        assert ends.count(Status.OK) == WINDOW - 1
        assert ends[-1] is Status.BEFORE

    play([target.side], script)


def test_a_request_that_stands_in_for_another_counts():
    target = Target()

    async def script(context):
        await target.open(context)
        target.give(Op.APPEND)
        target.give(Op.NOP, order=Order.IN_TURN)
        target.give(Op.APPEND)
        target.give(Op.NOP)
        target.give(Op.APPEND)
        void = Status.VOID
        assert await target.statuses(context) == [Status.OK, void, Status.OK, void, Status.BEFORE]

    play([target.side], script)
