"""Packets that no adapter would send: each is dropped or refused, is counted once, and changes no
memory. The adapter goes on."""

import pytest

from lanai_hdl.remote.packets import MARK, Order, ReplyWord, RequestWord, SizeWord, TargetWord, word
from lanai_hdl.remote.tables import COMMANDS, FLAG_BYTES

from .bench import ALL, BOOT, KEY, SESSION, Atomic, Op, Side, Status, play

SOURCE = 1  # who sends them


def request(
    op, sequence=0, *, exposure=2, key=KEY, offset=0, length=4, data=(0x11223344,), source=SOURCE, process=0,
    order=Order.IN_TURN, session=SESSION, boot=BOOT,
):  # fmt: skip
    """`order`: of an APPEND, its `Condition`."""
    first = word(RequestWord, mark=MARK, op=op, source=source, sequence=sequence)
    atomic = Atomic.ADD if op is Op.ATOMIC else order
    size = word(SizeWord, length=length, boot=boot, atomic=atomic, align=0, node=source, process=process)
    return [first, word(TargetWord, key=key, exposure=exposure, entry=3, session=session), size, offset, *data]


def reply(
    op, status=Status.OK, *, entry=0, sequence=0, source=SOURCE, data=(), session=SESSION, boot=BOOT, **told
):  # fmt: skip
    first = word(RequestWord, mark=MARK, op=op, source=source, sequence=sequence)
    return [first, word(ReplyWord, status=status, entry=entry, session=session, boot=boot, **told), *data]


DROPPED = {
    "unknown op": (request(Op.ACK)[:1] + [0] * 3, "REMOTE_MALFORMED"),
    "unknown source": (request(Op.WRITE, source=200), "REMOTE_MALFORMED"),
    "more words than its length": (request(Op.WRITE, data=(1, 2)), "REMOTE_MALFORMED"),
    "fewer words than its length": (request(Op.WRITE, length=9), "REMOTE_MALFORMED"),
    "no bytes": (request(Op.WRITE, length=0, data=()), "REMOTE_MALFORMED"),
    "more bytes than a packet may have": (request(Op.READ, length=65, data=()), "REMOTE_MALFORMED"),
    "an atomic of 8 bytes with the operands of 4": (request(Op.ATOMIC, length=8, data=(1, 2)), "REMOTE_MALFORMED"),
    "an atomic of 4 bytes with the operands of 8": (request(Op.ATOMIC, data=(1, 2, 3, 4)), "REMOTE_MALFORMED"),
    "an atomic of 6 bytes": (request(Op.ATOMIC, length=6, data=(1, 2)), "REMOTE_MALFORMED"),
    "an atomic without a comparand": (request(Op.ATOMIC, data=(1,)), "REMOTE_MALFORMED"),
    "an append without its data": (request(Op.APPEND, data=()), "REMOTE_MALFORMED"),
    "a retry of more bytes than a packet may have": (request(Op.RETRY, length=65, data=range(17)), "REMOTE_MALFORMED"),
    "too long": (request(Op.WRITE, length=64, data=range(40)), "REMOTE_DAMAGED"),
    "too short": ([request(Op.WRITE)[0]], "REMOTE_DAMAGED"),
    "one before it is missing": (request(Op.WRITE, sequence=5), "REMOTE_AHEAD"),
    "relaxed, but too far ahead": (request(Op.WRITE, sequence=16, order=Order.RELAXED), "REMOTE_AHEAD"),
    "an atomic does not overtake": (request(Op.ATOMIC, sequence=5, data=(1, 2)), "REMOTE_AHEAD"),
    "a read does not overtake": (request(Op.READ, sequence=5, data=(), order=Order.RELAXED), "REMOTE_AHEAD"),
    "an append does not overtake": (request(Op.APPEND, sequence=5, order=Order.RELAXED), "REMOTE_AHEAD"),
    "an acknowledgement that no command waits for": (reply(Op.ACK), "REMOTE_STALE"),
    "data that no command waits for": (reply(Op.DATA, data=(1, 2, 3)), "REMOTE_STALE"),
}
REFUSED = {
    Status.EXPOSURE: request(Op.WRITE, exposure=3),
    Status.KEY: request(Op.WRITE, key=KEY + 1),
    Status.RIGHT: request(Op.WRITE, exposure=1),
    Status.RANGE: request(Op.WRITE, offset=3 * 4096),
    Status.PAGE: request(Op.WRITE, exposure=4),
    Status.BUS: request(Op.WRITE, exposure=5),
    Status.ALIGNMENT: request(Op.ATOMIC, offset=2, data=(1, 2)),
}
MISALIGNED = request(Op.ATOMIC, offset=4, length=8, data=(1, 2, 3, 4))


def alone(script):
    """Runs `script(context, side)` on one adapter, whose memory must be untouched afterwards but
    for the last word of page 1."""
    side = Side(0)

    async def whole(context):
        await side.boot(context)
        await side.write(context, 0x180800 + 4 * 5, 0x20000)  # a page of another process
        await side.write(context, 0x180800 + 4 * 6, 0x1FFFF)  # a page that the host refuses
        await side.expose(context, 1, 0, 4096, read=1)
        await side.expose(context, 2, 0, 3 * 4096, **ALL)
        await side.expose(context, 4, 0, 4096, page=5, **ALL)
        await side.expose(context, 5, 0, 4096, page=6, **ALL)
        await script(context, side)
        await side.rest(context)
        # It goes on: the next sound request is carried out.
        sequence = side.counts["REMOTE_SERVED"] + side.counts["REMOTE_REFUSED"]
        side.sent.clear()
        side.arrive(request(Op.WRITE, sequence, offset=4092))
        await side.rest(context)
        assert [words[1] & 0xF for words in side.sent] == [Status.OK.value]

    play([side], whole)
    assert side.dump(4092, 4) == bytes.fromhex("11223344")
    side.load(4092, bytes(4))
    assert not any(map(any, side.pages.values()))
    return side


def test_what_cannot_be_served_is_dropped_and_counted():
    async def script(context, side):
        for name, (words, counter) in DROPPED.items():
            before = dict(side.counts)
            side.arrive(words)
            await side.rest(context)
            after = {one: count - before[one] for one, count in side.counts.items() if count != before[one]}
            assert after == {counter: 1}, name
        side.arrive(request(Op.WRITE), bad_crc=1)
        side.arrive(request(Op.WRITE), truncated=1)
        await side.rest(context)
        assert not side.sent

    assert alone(script).counts["REMOTE_DAMAGED"] == 4


def test_what_is_not_allowed_is_refused_with_its_reason_and_again_if_it_comes_again():
    async def script(context, side):
        for sequence, (status, words) in enumerate([*REFUSED.items(), (Status.ALIGNMENT, MISALIGNED)]):
            words = [words[0] & ~0xFFFF | sequence, *words[1:]]
            for _ in range(2):
                side.arrive(words)
                await side.rest(context)
                (answer,) = side.sent
                side.sent.clear()
                assert answer[0] == word(RequestWord, mark=MARK, op=Op.ACK, source=0, sequence=sequence)
                found = ReplyWord.from_bits(answer[1])
                assert (found.status, found.entry, found.session, found.boot) == (status, 3, SESSION, BOOT)

    side = alone(script)
    assert side.counts["REMOTE_REFUSED"] == side.counts["REMOTE_DUPLICATES"] == len(REFUSED) + 1


def test_requests_that_find_no_room_for_their_replies_are_dropped_and_nothing_waits():
    async def script(context, side):
        side.stop = True  # the wire takes nothing
        for sequence in range(40):
            side.arrive(request(Op.READ, sequence, length=64, data=()))
        for _ in range(3000):
            await context.tick()
        assert not side.arriving  # all have been taken from the wire
        assert side.counts["REMOTE_NO_ROOM"] > 0
        side.stop = False
        await side.rest(context, 5000)
        served = side.counts["REMOTE_SERVED"]
        assert len(side.sent) == served
        assert served + side.counts["REMOTE_NO_ROOM"] + side.counts["REMOTE_AHEAD"] == 40

    alone(script)


@pytest.mark.parametrize("buffer", [0, 7])
def test_what_the_host_does_wrong_is_counted(buffer):
    async def script(context, side):
        side.stop = True
        tag = await side.start(context, Op.WRITE, SOURCE, 2, 0, 4, 2, 0, buffer=buffer)
        await side.start(context, Op.WRITE, SOURCE, 2, 0, 4, 2, 0, buffer=buffer)  # its buffer is in use
        await side.write(context, 0x180700, 1)  # nothing is there
        assert side.counts["REMOTE_FAULTS"] == 2
        side.stop = False
        while not side.sent:
            await context.tick()
        side.arrive(reply(Op.ACK, entry=0))
        assert (
            await side.end(context, tag + 1, buffer) is Status.OK
        )  # the tag of the second, which overwrote the first's
        assert await side.command(context, Op.DATA, SOURCE, 2, 0, 4, 2, 0, buffer=1) is Status.INVALID
        assert await side.command(context, Op.WRITE, 77, 2, 0, 4, 2, 0, buffer=1) is Status.INVALID
        flags = COMMANDS * FLAG_BYTES
        side.pages[0x10000][:flags] = bytes(flags)

    assert alone(script).counts["REMOTE_INVALID"] == 2
