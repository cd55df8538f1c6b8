"""QUIET records (reply on failure): those that are appended are neither answered nor flagged, and each that is
refused is."""

import random
from dataclasses import replace

import pytest

from lanai_hdl.remote.packets import REPLY_WORDS, WINDOW, Op, ReplyWord, RequestWord
from lanai_hdl.remote.tables import BUSY_AT, FLAG_AT, FLAG_BYTES, WINDOW_HOST, exposure_at

from .bench import ALL, SMALL, Side, Status, play
from .test_adapter import between
from .test_bad_packets import reply, request
from .test_conditional import records
from .test_fifo_append import CONTROL, COUNTS, Reader, append
from .test_outstanding import sent
from .test_session import run

QUIET = replace(SMALL, quiet=1)
HERE = 4000
PEER = 1
SPACE = 80  # bytes of the FIFO of random records


async def start(context, source, data, buffer, op=Op.QUIET, **options):
    """Start to append; each buffer has bytes of its own."""
    at = HERE + 16 * buffer
    source.load(at, data)
    return await source.start(context, op, PEER, 2, CONTROL, len(data), 5, at, buffer=buffer, **options)


def flag(side, buffer):
    """The tag and the status of a buffer's flag."""
    at = FLAG_BYTES * buffer + FLAG_AT
    flags = side.pages[0x10000]
    return int.from_bytes(flags[at : at + 3], "big"), Status(flags[at + 3])


async def busy(context, side):
    """The buffers in use, some slots after a flag: it is written before its buffer is free."""
    for _ in range(16):
        await context.tick()
    return (await side.read(context, WINDOW_HOST + BUSY_AT))[0]


def is_answer(words):
    return len(words) == REPLY_WORDS and RequestWord.from_bits(words[0]).op == Op.ACK


def test_a_series_has_one_answer_and_one_flag():
    answers = []

    def fate(words):
        answers.extend([words] if is_answer(words) else [])
        return [words]

    async def story(context, source, target):
        reader = Reader(target)
        for n in range(4):
            await start(context, source, b"%d" % n, n)
        last = await start(context, source, b"4", 4, Op.APPEND)
        assert await source.end(context, last, 4) is Status.OK
        assert await busy(context, source) == 0
        assert [flag(source, n)[0] for n in range(4)] == [0] * 4
        assert records(reader) == [b"0", b"1", b"2", b"3", b"4"]
        (answer,) = answers
        assert ReplyWord.from_bits(answer[1]).vouches

    source, _ = between(story, fate, append=1, config=QUIET)
    assert source.counts["REMOTE_TIMEOUTS"] == 0


def test_a_series_that_nothing_follows_ends_by_its_repetition():
    async def story(context, source, target):
        reader = Reader(target)
        await start(context, source, b"one", 0)
        await source.rest(context, 9000)
        assert await busy(context, source) == 0
        assert records(reader) == [b"one"]

    source, target = between(story, append=1, config=QUIET)
    assert source.counts["REMOTE_TIMEOUTS"] == target.counts["REMOTE_DUPLICATES"] == 1


def test_records_that_find_a_full_fifo_are_flagged():
    async def story(context, source, target):
        reader = Reader(target, free=32)  # two records
        tags = [await start(context, source, b"%d" % n, n) for n in range(4)]
        assert await source.end(context, tags[3], 3) is Status.FULL
        assert flag(source, 2) == (tags[2], Status.FULL)
        assert [flag(source, n)[0] for n in range(2)] == [0, 0]
        assert await busy(context, source) == 0
        assert records(reader) == [b"0", b"1"]
        assert await append(context, source, b"again", Op.RETRY) is Status.OK
        assert records(reader) == [b"again"]

    source, _ = between(story, append=1, config=QUIET)
    assert source.counts["REMOTE_TIMEOUTS"] == 0


def test_a_record_that_is_not_allowed_is_flagged():
    async def story(context, source, target):
        reader = Reader(target)
        good = await start(context, source, b"good", 0)
        bad = await start(context, source, b"bad", 1, key=1)
        here = await source.start(context, Op.QUIET, PEER, 2, CONTROL, 4, 7, 0, buffer=2)
        last = await start(context, source, b"last", 3, Op.APPEND)
        assert await source.end(context, last, 3) is Status.OK
        assert flag(source, 1) == (bad, Status.KEY)
        assert flag(source, 2) == (here, Status.EXPOSURE)
        assert flag(source, 0) != (good, Status.OK)
        assert records(reader) == [b"good", b"last"]

    between(story, append=1, config=QUIET)


def test_no_later_answer_hides_a_refusal_that_was_lost():
    """The answer to the refused record is lost, and so is its first repetition. A good write follows."""
    lost = []

    def fate(words):
        refuses = is_answer(words) and ReplyWord.from_bits(words[1]).status == Status.KEY
        if refuses and len(lost) < 2:
            lost.append(words)
            return []
        return [words]

    async def story(context, source, target):
        reader = Reader(target)
        await start(context, source, b"one", 0)
        bad = await start(context, source, b"bad", 1, key=1)
        write = await source.start(context, Op.WRITE, PEER, 2, 4096, 4, 5, HERE, buffer=2)
        assert await source.end(context, write, 2) is Status.OK
        assert flag(source, 1) == (bad, Status.KEY)
        assert records(reader) == [b"one"]

    between(story, fate, append=1, config=QUIET, timeout=300)
    assert len(lost) == 2


def test_an_answer_vouches_for_quiet_requests_alone():
    """The test plays the peer: the answer to a write is missing, and one that vouches comes to a record behind it."""
    side = Side(0, config=QUIET, timeout=60_000)

    async def script(context):
        await side.boot(context)
        await side.expose(context, 5, 0, 2 * 4096)
        await start(context, side, b"a", 0)
        write = await side.start(context, Op.WRITE, PEER, 2, 0, 4, 5, HERE, buffer=1)
        await start(context, side, b"b", 2)
        last = await start(context, side, b"c", 3, Op.APPEND)
        requests = await sent(context, side)
        assert [op for op, *_ in requests] == [Op.QUIET, Op.WRITE, Op.QUIET, Op.APPEND]

        def answer(n):
            _, number, entry = requests[n]
            first, second = reply(Op.ACK, entry=entry, sequence=number)
            return [first, second | ReplyWord.of(vouches=1)]

        side.arrive(answer(3))
        await sent(context, side)
        assert side.counts["REMOTE_STALE"] == 1
        side.arrive(answer(1))
        assert await side.end(context, write, 1) is Status.OK
        assert await busy(context, side) == 0b1100
        side.arrive(answer(3))
        assert await side.end(context, last, 3) is Status.OK
        assert await busy(context, side) == 0

    play([side], script)


@pytest.mark.parametrize("lost", ["records", "stand-in's answer", "answer"])
def test_a_record_whose_memory_is_concealed_is_flagged_unless_it_is_there(lost):
    """It and the record behind it are lost; or that one's answer is late, and comes when a NOP went in its place."""

    async def story(context, fabric, source, target):
        await target.expose(context, 2, 0, 3 * 4096, append=1, **ALL)
        await source.expose(context, 6, 0, 3 * 4096)
        reader = Reader(target)
        source.load(HERE, b"one_two_")
        fabric.out, fabric.holds = lost != "answer", lost != "records"
        one = await source.start(context, Op.QUIET, PEER, 2, CONTROL, 4, 5, HERE)
        two = await source.start(context, Op.APPEND, PEER, 2, CONTROL, 4, 6, HERE + 4, buffer=1)
        await context.tick().repeat(200)
        await source.write(context, exposure_at(0, 5) + 12, 0)  # not valid
        fabric.out = False
        while not source.counts["REMOTE_FAILED"]:
            await context.tick()
        await context.tick().repeat(200)
        if lost == "stand-in's answer":
            fabric.held = [one for one in fabric.held if ReplyWord.from_bits(one[0][1]).status == Status.OK]
            assert fabric.held, "of the record behind it"
        fabric.let_go()
        assert await source.end(context, two, 1) is Status.OK
        assert await busy(context, source) == 0
        there = lost == "answer"
        assert (flag(source, 0) == (one, Status.EXPOSURE)) is not there
        assert records(reader) == [b"one_", b"two_"][not there :]

    run(story, config=QUIET)


@pytest.mark.parametrize("since", [WINDOW - 1, WINDOW])
def test_a_receiver_answers_everything_for_a_window_behind_a_refusal(since):
    """The test plays the sender."""
    side = Side(0, config=QUIET)

    async def script(context):
        await side.boot(context)
        await side.expose(context, 2, 0, 3 * 4096, append=1, **ALL)
        Reader(side)
        give = {"offset": CONTROL, "data": (0x11223344,)}
        side.arrive(request(Op.QUIET, 0, **give))
        side.arrive(request(Op.QUIET, 1, key=1, **give))
        for n in range(since):
            side.arrive(request(Op.WRITE, 2 + n))
        side.arrive(request(Op.QUIET, 2 + since, **give))
        await side.rest(context, 5000)
        answers = [(RequestWord.from_bits(one[0]).sequence, ReplyWord.from_bits(one[1])) for one in side.sent]
        assert [number for number, _ in answers] == list(range(1, 2 + since + (since < WINDOW)))
        assert [one.vouches for _, one in answers] == [1] + [0] * (len(answers) - 1)
        side.sent.clear()
        side.arrive(request(Op.WRITE, 3 + since))
        await side.rest(context)
        assert ReplyWord.from_bits(side.sent[0][1]).vouches

    play([side], script)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.ci) for seed in (2, 3, 4))])
def test_each_record_ends_well_exactly_if_it_is_there(seed):
    """Random records, some not allowed, to a FIFO that is emptied now and then. The wire loses, doubles and delays
    packets, and the receiver stops now and then. A command ends well if its flag says so, or a later one's flag is
    there and its own is not."""
    chance = random.Random(seed)
    held = []

    def fate(words):
        draw = chance.random()
        if draw < 0.05:
            return []
        if draw < 0.1:
            return [words, words]
        if draw < 0.15:
            held.append(words)
            return []
        late = [*held]
        held.clear()
        return [words, *late] if RequestWord.from_bits(words[0]).op < Op.ACK else [words]

    async def story(context, source, target):
        reader, taken, expected, number = Reader(target, free=SPACE), [], [], 0
        for _ in range(8):
            count = chance.randrange(1, 9)
            batch = []
            for buffer in range(count):
                quiet = buffer != count - 1
                op = Op.QUIET if quiet else Op.RETRY if chance.random() < 0.5 else Op.APPEND
                options = {"key": 1} if chance.random() < 0.1 else {}
                target.stop = chance.random() < 0.2
                data = number.to_bytes(4, "big")
                batch.append((await start(context, source, data, buffer, op, **options), data))
                target.stop = False
                number += 1
            await source.end(context, batch[-1][0], count - 1)
            assert await busy(context, source) == 0
            for buffer, (tag, data) in enumerate(batch):
                seen, status = flag(source, buffer)
                if seen != tag or status is Status.OK:
                    expected.append(data)
            if chance.random() < 0.7:
                taken += records(reader)
                target.load(CONTROL + 4, ((reader.head - 4096 + SPACE) % COUNTS).to_bytes(4, "big"))
        taken += records(reader)
        assert taken == expected
        assert 5 < len(taken) < number - 5
        assert source.counts["REMOTE_TIMEOUTS"] > 1

    between(story, fate, append=1, config=QUIET, timeout=400, retries=50)


@pytest.mark.ci
def test_a_reset_in_the_midst_of_a_series_leaves_nothing_behind():
    """The receiver is reset: what it had not answered is lost, and flagged. A new session begins without doubts."""

    async def story(context, source, target):
        for phase in range(3, 240, 40):
            Reader(target)
            tags = [await start(context, source, b"%d" % n, n) for n in range(3)]
            tags.append(await start(context, source, b"bad", 3, key=1))
            for _ in range(phase):
                await context.tick()
            await target.reset(context)
            await target.boot(context)
            await target.expose(context, 2, 0, 3 * 4096, append=1, **ALL)
            reader = Reader(target)
            last = await start(context, source, b"last", 4, Op.APPEND)
            status = await source.end(context, last, 4)
            await source.rest(context, 5000)
            assert await busy(context, source) == 0
            if status is not Status.OK:
                assert flag(source, 3) == (tags[3], flag(source, 3)[1])
                assert flag(source, 3)[1] in (Status.LOST, Status.KEY)
                await source.open_session(context, PEER)
            assert await append(context, source, b"new") is Status.OK
            assert records(reader)[-1] == b"new"

    between(story, append=1, config=QUIET, timeout=300, retries=3)


def test_a_nic_without_them_refuses_such_commands_and_packets():
    async def story(context, source, target):
        assert await append(context, source, b"one", Op.QUIET) is Status.INVALID
        target.arrive(request(Op.QUIET, 0, offset=CONTROL, data=(1,), source=2))
        await target.rest(context)

    _, target = between(story, append=1)
    assert target.counts["REMOTE_MALFORMED"] == 1
