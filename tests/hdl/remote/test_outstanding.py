"""The outstanding requests of one adapter: which it sends together, which answers it takes, and when it
gives a peer up. The test plays the peers."""

from lanai_hdl.remote.packets import WINDOW, Op, Order, RequestWord, TargetWord

from .bench import SESSION, Side, Status, play
from .test_bad_packets import reply

SLOTS = 400  # in which all is sent that may be
PEER = 1


def run(script, **options):
    """`script(context, side)` on one adapter, whose process has exposed a page as 1."""
    side = Side(0, **{"timeout": 60_000, **options})

    async def whole(context):
        await side.boot(context)
        await side.expose(context, 1, 0, 4096)
        await script(context, side)
        await side.rest(context)

    play([side], whole)
    return side


async def sent(context, side, slots=SLOTS):
    """The requests that leave in these slots: (op, sequence number, entry) of each."""
    for _ in range(slots):
        await context.tick()
    requests = [(RequestWord.from_bits(words[0]), TargetWord.from_bits(words[1])) for words in side.sent]
    side.sent.clear()
    return [(Op(first.op), first.sequence, target.entry) for first, target in requests]


async def start(context, side, op, *, buffer, peer=PEER, length=4, **options):
    return await side.start(context, op, peer, 2, 0, length, 1, 0, buffer=buffer, **options)


def test_only_reads_are_sent_while_a_read_is_outstanding_and_nothing_while_an_atomic_is():
    """A READ that is repeated reads what the memory holds by then, so what changes memory must not pass
    it."""
    ops = (Op.WRITE, Op.READ, Op.READ, Op.WRITE, Op.APPEND, Op.ATOMIC, Op.READ, Op.ATOMIC)
    together = ((Op.WRITE, Op.READ, Op.READ), (Op.WRITE, Op.APPEND, Op.ATOMIC), (Op.READ,), (Op.ATOMIC,))

    async def script(context, side):
        tags = [await start(context, side, op, buffer=n) for n, op in enumerate(ops)]
        sequence = 0
        for expected in together:
            requests = await sent(context, side, 2 * SLOTS)
            assert [op for op, *_ in requests] == list(expected)
            for op, number, entry in requests:
                assert number == sequence
                sequence += 1
                data = {Op.READ: (0,), Op.ATOMIC: (0,)}.get(op)
                side.arrive(reply(Op.DATA if data else Op.ACK, entry=entry, sequence=number, data=data or ()))
        for buffer, tag in enumerate(tags):
            assert await side.end(context, tag, buffer) is Status.OK

    run(script)


def test_a_late_answer_of_a_relaxed_write_ends_no_other_one():
    """Answers of relaxed writes are taken in any order, so only their peer and their number show
    whose they are. The entries of the window are used again, and each peer has numbers of its own."""

    async def script(context, side):
        relaxed = {"atomic": Order.RELAXED}

        async def end(tag, buffer, requests, peer=PEER):
            for _, number, entry in requests:
                side.arrive(reply(Op.ACK, entry=entry, sequence=number, source=peer))
            assert await side.end(context, tag, buffer) is Status.OK

        async def write(buffer, **options):
            tag = await start(context, side, Op.WRITE, buffer=buffer, **relaxed, **options)
            return tag, await sent(context, side)

        async def stays_open(late, source):
            before = side.counts["REMOTE_STALE"]
            side.arrive(reply(Op.ACK, entry=late[2], sequence=late[1], source=source))
            assert await sent(context, side) == []
            assert side.counts["REMOTE_STALE"] == before + 1

        tag, first = await write(0)
        await end(tag, 0, first)
        tag = await start(context, side, Op.WRITE, buffer=0, length=(WINDOW - 1) * 64, **relaxed)
        between = await sent(context, side, 10 * SLOTS)
        assert len(between) == WINDOW - 1
        await end(tag, 0, between)
        tag, other = await write(1, peer=2)
        assert other == first  # the same entry and number, of another peer
        await stays_open(first[0], PEER)
        await end(tag, 1, other, peer=2)
        tag, again = await write(2)
        assert again[0][2] == between[0][2]  # the same entry and peer, another number
        await stays_open(between[0], PEER)
        await end(tag, 2, again)

    assert run(script).counts["REMOTE_STALE"] == 2


def test_a_slow_peer_that_answers_is_not_lost():
    """Each answer ends the timeouts in a row, also while other requests are outstanding."""
    retries, writes = 2, 4

    async def script(context, side):
        tags = [await start(context, side, Op.WRITE, buffer=n) for n in range(writes)]
        requests = await sent(context, side)
        for n, (_, number, entry) in enumerate(requests):
            while side.counts["REMOTE_TIMEOUTS"] < retries * (n + 1):
                await context.tick()
            side.arrive(reply(Op.ACK, entry=entry, sequence=number))
        for buffer, tag in enumerate(tags):
            assert await side.end(context, tag, buffer) is Status.OK
        assert context.get(side.dut.lost) == SESSION << 8

    side = run(script, timeout=500, retries=retries)
    assert side.counts["REMOTE_TIMEOUTS"] >= retries * writes


def test_no_acknowledgement_without_data_ends_a_read():
    async def script(context, side):
        tag = await start(context, side, Op.READ, buffer=0)
        [(_, number, entry)] = await sent(context, side)
        side.arrive(reply(Op.ACK, entry=entry, sequence=number))
        assert await sent(context, side) == []
        assert side.counts["REMOTE_MALFORMED"] == 1
        assert not any(side.pages[0x10000]), "no flag"
        side.arrive(reply(Op.DATA, entry=entry, sequence=number, data=(0x12345678,)))
        assert await side.end(context, tag) is Status.OK
        assert side.dump(0, 4).hex() == "12345678"

    run(script)
