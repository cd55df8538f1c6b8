"""Two processes of one NIC: neither keeps the adapter from the other, and a refused command ends."""

import random

import pytest

from lanai_hdl.remote.command_cutter import TURN
from lanai_hdl.remote.packets import REQUEST_WORDS, WINDOW, RequestWord, SizeWord
from lanai_hdl.remote.tables import FLAG_AT

from .bench import KEY, PAGE, SMALL, Atomic, Op, Status
from .test_adapter import between

BEHIND = WINDOW + TURN - 1  # most requests that are sent behind one that is refused
HUGE = (1 << 32) - 1


def two_processes(script):
    """Runs `script(context, source, target, sent)`: both processes of the source have 3 pages exposed
    as 5; `sent` has the process of each request of the source, in the order of their numbers."""
    sent = []

    def see(words):
        if len(words) >= REQUEST_WORDS and RequestWord.from_bits(words[0]).sequence == len(sent):
            sent.append(SizeWord.from_bits(words[2]).process)
        return [words]

    async def whole(context, source, target):
        await source.boot_second(context)
        await source.expose(context, 5, 0, 3 * PAGE, process=1)
        await script(context, source, target, sent)

    return between(whole, see)


def test_each_process_uses_its_own_memory():
    async def script(context, source, target, sent):
        await source.expose(context, 6, 0, PAGE)  # of process 0 alone
        source.pages[0x10001][:4], source.pages[0x20001][:4] = b"none", b"mine"
        options = {"buffer": 2, "process": 1}
        assert await source.command(context, Op.WRITE, 1, 2, 0, 4, 5, 0, **options) is Status.OK
        assert target.dump(0, 4) == b"mine"
        assert await source.command(context, Op.READ, 1, 2, 0, 4, 5, 8, **options) is Status.OK
        assert source.pages[0x20001][8:12] == b"mine"
        for op in (Op.WRITE, Op.READ):
            assert await source.command(context, op, 1, 2, 0, 4, 6, 0, **options) is Status.EXPOSURE
        assert source.pages[0x10001] == b"none" + bytes(PAGE - 4)
        assert not any(source.pages[0x10000])

    two_processes(script)


@pytest.mark.ci
def test_a_huge_command_does_not_hold_the_other_process():
    data = random.Random(5).randbytes(PAGE)

    async def script(context, source, target, sent):
        for at, byte in enumerate(data):
            source.pages[0x20001][at] = byte
        source.load(0, b"shortone")
        huge = await source.start(context, Op.WRITE, 1, 2, 0, PAGE, 5, 0, process=1)
        behind = await source.start(context, Op.WRITE, 1, 2, 0, 4, 5, 4, process=1, buffer=1)
        while len(sent) < 3:
            await context.tick()
        before = len(sent)
        assert await source.command(context, Op.WRITE, 1, 2, 2 * PAGE, 8, 5, 0) is Status.OK
        assert target.dump(2 * PAGE, 8) == b"shortone"
        assert sent.index(0) - before < WINDOW + TURN
        assert await source.end(context, huge, process=1) is Status.OK
        assert await source.end(context, behind, 1, process=1) is Status.OK
        assert target.dump(0, PAGE) == data[4:8] + data[4:]
        assert sent.count(1) == PAGE // SMALL.payload + 1

    assert two_processes(script)[0].counts["REMOTE_COMMANDS"] == 3


@pytest.mark.ci
def test_huge_commands_of_both_take_turns_and_both_end_well():
    async def script(context, source, target, sent):
        for at in range(PAGE):
            source.pages[0x20001][at] = source.pages[0x10001][at] = at // SMALL.payload + 1
        tags = [
            await source.start(context, Op.WRITE, 1, 2, process * PAGE, PAGE, 5, 0, process=process)
            for process in range(2)
        ]
        for process, tag in enumerate(tags):
            assert await source.end(context, tag, process=process) is Status.OK
            assert target.dump(process * PAGE, PAGE) == bytes(at // SMALL.payload + 1 for at in range(PAGE))
        runs = "".join(map(str, sent)).replace("01", "0 1").replace("10", "1 0").split()
        assert all(len(run) == TURN for run in runs), runs

    two_processes(script)


@pytest.mark.parametrize(
    "op", [pytest.param(Op.READ, marks=pytest.mark.ci), Op.WRITE, pytest.param(Op.APPEND, marks=pytest.mark.ci)]
)
def test_a_command_ends_at_its_first_refusal(op):
    """The command has 4 GB. The other process's commands, in turns with it, end as if it was not there,
    and so do those of its own process behind it."""

    async def script(context, source, target, sent):
        huge = await source.start(context, op, 1, 2, 0, HUGE, 5, 0, key=KEY + 1, process=1)
        behind = await source.start(context, Op.WRITE, 1, 2, 8, 4, 5, 0, process=1, buffer=1)
        assert await source.command(context, Op.WRITE, 1, 2, 0, 20 * SMALL.payload, 5, 0) is Status.OK
        assert await source.end(context, huge, process=1) is Status.KEY
        assert await source.end(context, behind, 1, process=1) is Status.OK
        assert sent.count(1) <= 1 + BEHIND + 1

    two_processes(script)


@pytest.mark.parametrize("wide", [0, 1])
def test_a_refused_atomic_brings_no_result_of_another_process(wide):
    async def script(context, source, target, sent):
        target.load(0, b"secret__")
        options = {"atomic": Atomic.ADD, "wide": wide}
        for buffer in range(4):  # their flags are written when the atomic has been answered
            await source.start(context, Op.WRITE, 1, 2, PAGE, 4, 5, 0, buffer=buffer)
        # It fails unsent, behind them, so the other one does not wait for its end.
        unsent = await source.start(context, Op.ATOMIC, 1, 2, 2, 0, process=1, **options)
        assert await source.command(context, Op.ATOMIC, 1, 2, 0, 0, buffer=4, **options) is Status.OK
        assert source.result(4, wide).to_bytes(4 << wide, "big") == b"secret__"[: 4 << wide]
        assert await source.end(context, unsent, process=1) is Status.ALIGNMENT
        assert source.pages[0x20000][:FLAG_AT] == bytes(FLAG_AT)
        refused = await source.command(context, Op.ATOMIC, 1, 2, 0, 0, key=KEY + 1, process=1, **options)
        assert refused is Status.KEY
        assert source.pages[0x20000][:FLAG_AT] == bytes(FLAG_AT)

    two_processes(script)


def test_a_command_whose_own_memory_is_not_exposed_ends():
    async def script(context, source, target, sent):
        assert await source.command(context, Op.WRITE, 1, 2, 0, HUGE, 7, 0) is Status.EXPOSURE
        assert len(sent) <= 1 + BEHIND
        assert await source.command(context, Op.WRITE, 1, 2, 0, 64, 5, 0) is Status.OK

    two_processes(script)


@pytest.mark.ci
def test_what_lies_before_the_first_refusal_is_moved():
    """A command that leaves the exposure in the midst."""

    async def script(context, source, target, sent):
        data = bytes(range(1, 256)) * 20
        source.load(0, data)
        status = await source.command(context, Op.WRITE, 1, 2, PAGE, HUGE, 5, 0)
        assert status is Status.RANGE
        assert target.dump(PAGE, len(data)) == data

    two_processes(script)
