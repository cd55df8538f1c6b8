"""Messages that meet receives in the adapter: two NICs, by the packets between them."""

from dataclasses import replace

from lanai_hdl.remote.messages import SLOTS, Again, Ask, End, EnvelopeWord, Fate, HeaderWord
from lanai_hdl.remote.packets import word

from .bench import PAGE, Op, Status
from .messaging import CELLS, MATCHING, SHARE, between
from .test_bad_packets import request

NONE, FULL, DONE = (End.NONE,), (End.FULL,), (End.DONE,)


def test_a_message_goes_to_the_buffer_of_the_receive_that_fits():
    async def script(context, source, target, *others):
        for size in (60, 16, 5, 1, 0):
            data = bytes(range(1, size + 1))
            await target.post(context, 3, tag=7, source=source.name, at=64, size=60)
            assert await source.send(context, target, 7, data) is Status.OK
            assert target.buffer(60, size + 5) == bytes(4) + data + bytes(1)
            assert target.receipt(3) == (End.PLACED, source.name, 7, size)
            assert target.record() is None
            target.page(3)[:2048] = bytes(2048)

    _, target = between(script)
    assert target.counts["REMOTE_SERVED"] == target.counts["REMOTE_PLACED"] == target.counts["REMOTE_ASKED"] == 5


def test_a_message_that_no_receive_fits_is_a_record_until_one_is_posted():
    async def script(context, source, target, *others):
        for tag in (7, 8, 7):
            assert await source.send(context, target, tag, bytes([tag])) is Status.OK
            assert target.record() == (Fate.HELD, None, source.name, tag, 1, bytes([tag]))
        assert await target.asked(context, 0, Ask.POST, 8) == (End.RECORD, 1)
        assert await target.asked(context, 0, Ask.POST, 7) == (End.RECORD, 0)
        assert await target.asked(context, 0, Ask.POST, 7) == (End.RECORD, 2)

    between(script)


def test_what_does_not_suit_its_buffer_is_a_record_of_the_receive():
    async def script(context, source, target, *others):
        async def arrives(data=b"data", record=0, **post):
            await target.post(context, 5, tag=7, **post)
            assert await source.send(context, target, 7, data, record=record) is Status.OK
            assert target.record() == (Fate.TAKEN, 5, source.name, 7, 1, data)
            assert target.receipt(5) is None
            assert target.buffer(0, 2048) == bytes(2048)

        await arrives()  # it has none
        await arrives(at=64, size=3)  # too small
        await arrives(at=66)  # not at a word
        await arrives(at=PAGE - 4, data=b"crosses the page's end")
        await arrives(at=64, local=9)  # no such exposure
        await arrives(at=64, record=1)
        await arrives(at=64, size=0, data=b"", record=1)

    between(script)


def test_wildcards_and_order_of_receives():
    async def script(context, source, target, other, *others):
        await target.post(context, 0, source=other.name)
        await target.post(context, 1, tag=9)
        await target.post(context, 2, comm=2)
        assert await source.send(context, target, 9, b"1") is Status.OK
        assert await other.send(context, target, 9, b"0") is Status.OK
        assert await source.send(context, target, 9, b"2", comm=2) is Status.OK
        records = [target.record() for _ in range(3)]
        assert [record[1] for record in records] == [1, 0, 2]
        assert [record[-1] for record in records] == [b"1", b"0", b"2"]

    between(script)


def test_probe_take_and_cancel():
    async def script(context, source, target, *others):
        assert await target.asked(context, 0, Ask.PROBE) == NONE
        assert await source.send(context, target, 7, b"a") is Status.OK
        assert await source.send(context, target, 8, b"b") is Status.OK
        assert await target.asked(context, 0, Ask.PROBE) == (End.RECORD, 0)
        assert await target.asked(context, 0, Ask.PROBE, 8) == (End.RECORD, 1)
        assert await target.asked(context, 0, Ask.TAKE, 8) == (End.RECORD, 1)
        assert await target.asked(context, 0, Ask.TAKE, 8) == NONE
        assert await target.asked(context, 0, Ask.TAKE) == (End.RECORD, 0)
        await target.post(context, 1, tag=7)
        await target.post(context, 2, tag=7)
        assert await target.asked(context, 0, Ask.CANCEL, other=1) == DONE
        assert await target.asked(context, 0, Ask.CANCEL, other=1) == NONE
        assert await target.asked(context, 0, Ask.CANCEL, other=200) == NONE
        assert await source.send(context, target, 7, b"c") is Status.OK
        assert [target.record()[1] for _ in range(3)] == [None, None, 2]
        assert await target.asked(context, 0, Ask.CANCEL, other=2) == NONE

    between(script)


def test_order_stays_when_messages_find_no_cell():
    """A message that finds no cell is left to the process, as are later ones. The NIC holds older ones."""

    async def script(context, source, target, *others):
        for n in range(SHARE + 2):
            assert await source.send(context, target, 7, bytes([n])) is Status.OK
        fates = [target.record()[0] for _ in range(SHARE + 2)]
        assert fates == [Fate.HELD] * SHARE + [Fate.LEFT] * 2
        assert await target.asked(context, 0, Ask.POST, 7) == (End.RECORD, 0)
        assert await source.send(context, target, 7, b"late") is Status.OK  # there is a cell, and older ones are left
        assert target.record()[0] is Fate.LEFT
        for n in range(1, SHARE):
            assert await target.asked(context, 0, Ask.POST, 7) == (End.RECORD, n)
        assert await target.asked(context, 0, Ask.PROBE, 7) == FULL
        assert await target.asked(context, 0, Ask.TAKE, 7) == FULL
        assert await target.asked(context, 0, Ask.RESUME, at=SHARE + 2) == NONE  # one has not been taken
        assert await target.asked(context, 0, Ask.POST, 7) == FULL
        assert await target.asked(context, 0, Ask.RESUME, at=SHARE + 3) == DONE
        assert await target.asked(context, 0, Ask.PROBE, 7) == NONE
        await target.post(context, 0, tag=7)
        assert await source.send(context, target, 7, b"again") is Status.OK
        assert target.record()[:2] == (Fate.TAKEN, 0)

    _, target = between(script)
    assert (target.counts["REMOTE_RECORDED"], target.counts["REMOTE_LEFT"]) == (SHARE + 4, 3)


def test_order_stays_when_receives_find_no_cell():
    async def script(context, source, target, *others):
        for slot in range(SHARE):
            await target.post(context, slot, tag=slot)
        assert await target.asked(context, 9, Ask.POST, 50) == FULL
        assert await source.send(context, target, 50, b"") is Status.OK
        assert target.record()[:2] == (Fate.LEFT, None)  # the process has the receive for it
        assert await source.send(context, target, 1, b"") is Status.OK
        assert target.record()[:2] == (Fate.TAKEN, 1)
        assert await target.asked(context, 9, Ask.POST, 51) == FULL  # though there is a cell
        assert await target.asked(context, 8, Ask.RESUME, at=2) == DONE
        await target.post(context, 9, tag=51)
        assert await source.send(context, target, 51, b"") is Status.OK
        assert target.record()[:2] == (Fate.TAKEN, 9)

    between(script)


def test_a_sender_that_finds_no_room_is_refused_until_it_sends_again():
    async def script(context, source, target, other, third):
        assert await source.send(context, target, 1, bytes(36)) is Status.OK  # 48 bytes of a record
        assert await source.send(context, target, 2, b"full") is Status.FULL
        await target.post(context, 4, tag=3, source=source.name)
        await target.post(context, 5, tag=2, source=source.name)
        assert await source.send(context, target, 3, b"not before") is Status.BEFORE
        assert await other.send(context, third, 3, b"to another") is Status.OK
        assert await source.send(context, third, 3, b"to another") is Status.OK
        assert await other.send(context, target, 4, b"other") is Status.FULL
        assert await source.send(context, target, 9, b"", again=Again.AGAIN, record=1) is Status.FULL
        assert target.record()[3] == 1
        assert target.record() is None
        target.release()
        assert await source.send(context, target, 3, b"not before") is Status.BEFORE
        assert await source.send(context, target, 2, b"full", again=Again.AGAIN) is Status.OK
        assert await source.send(context, target, 3, b"now") is Status.OK
        assert await other.send(context, target, 4, b"other") is Status.BEFORE
        assert await other.send(context, target, 4, b"other", again=Again.AGAIN) is Status.OK
        assert [target.record()[:2] for _ in range(3)] == [(Fate.TAKEN, 5), (Fate.TAKEN, 4), (Fate.HELD, None)]

    between(script, free=48)


def test_what_is_not_allowed_is_refused_and_takes_no_receive():
    async def script(context, source, target, *others):
        await target.post(context, 1, tag=7, at=64)

        async def refused(status, data=b"data", **options):
            assert await source.send(context, target, 7, data, **options) is status
            assert target.record() is None
            assert target.receipt(1) is None

        await refused(Status.KEY, key=1)
        await refused(Status.INVALID, length=3)
        await refused(Status.INVALID, length=0)
        await refused(Status.INVALID, length=65)
        source.page(3)[-64:] = bytes(64)
        await target.side.expose(context, 3, 0, 2 * PAGE, append=1, write=1)
        await refused(Status.RIGHT)
        await target.side.expose(context, 3, 64, 2 * PAGE, messages=1)
        await refused(Status.RANGE)
        await target.side.expose(context, 3, 0, 2 * PAGE, messages=1)
        source.side.load(0, b"")
        for op in (Op.APPEND, Op.RETRY, Op.WRITE):  # the FIFO for messages is for SENDs alone
            assert await source.side.command(context, op, 1, 3, 0, 8, 5, 2048) is Status.RIGHT
        assert await source.send(context, target, 7, b"data") is Status.OK
        assert target.receipt(1) == (End.PLACED, source.name, 7, 4)

    between(script)


def test_what_is_aside_is_no_message_for_a_receive():
    async def script(context, source, target, *others):
        await target.post(context, 3, at=64)
        for n in range(2 * CELLS):
            assert await source.send(context, target, n, b"", aside=1) is Status.OK
            assert target.record()[:4] == (Fate.LEFT, None, source.name, n)
        assert await target.asked(context, 0, Ask.PROBE) == NONE
        assert await source.send(context, target, 7, b"message") is Status.OK
        assert target.receipt(3) == (End.PLACED, source.name, 7, 7)
        assert await source.send(context, target, 7, b"message") is Status.OK
        assert target.record()[0] is Fate.HELD
        assert await target.asked(context, 0, Ask.POST) == (End.RECORD, 2 * CELLS)

    between(script)


def test_processes_have_receives_of_their_own():
    async def script(context, source, target, other, third):
        for slot in range(SHARE):
            await third.post(context, slot, tag=7, at=4 * slot)
        assert await third.asked(context, 9, Ask.POST, 7) == FULL
        assert await third.asked(context, 10, Ask.CANCEL, other=0) == DONE
        await target.post(context, 1, tag=7, at=64)
        assert await target.asked(context, 2, Ask.CANCEL, other=2) == NONE
        assert await source.send(context, target, 7, b"mine") is Status.OK
        assert target.receipt(1) == (End.PLACED, source.name, 7, 4)
        assert [third.receipt(slot) for slot in (1, 2)] == [None, None]
        assert await target.asked(context, 0, Ask.RESET) == DONE
        assert await source.send(context, third, 7, b"1") is Status.OK
        assert third.receipt(1) == (End.PLACED, source.name, 7, 1)

    between(script)


def test_reset_forgets_what_the_process_had():
    async def script(context, source, target, *others):
        for n in range(SHARE + 1):
            await source.send(context, target, n, b"")
        for slot in range(2):
            await target.post(context, slot, tag=90 + slot)
        assert await target.asked(context, 9, Ask.RESET) == DONE
        await target.open(context)
        target.head = 0
        assert await target.asked(context, 9, Ask.PROBE) == NONE
        assert await source.send(context, target, 90, b"new") is Status.OK
        assert target.record()[0] is Fate.HELD
        assert await target.asked(context, 9, Ask.POST, 90) == (End.RECORD, 0)

    between(script)


def test_a_process_that_asks_too_much_loses_its_own():
    async def script(context, source, target, other, third):
        for n in range(3 * SLOTS):
            await third.ask(context, n % SLOTS, Ask.PROBE, n)
        assert await target.asked(context, 0, Ask.PROBE, 1) == NONE
        await target.side.rest(context)
        assert await third.asked(context, 0, Ask.PROBE) == NONE

    _, target = between(script)
    assert 0 < target.counts["REMOTE_FAULTS"] < 2 * SLOTS


def test_a_reset_of_the_sender_ends_its_bar():
    async def script(context, source, target, other, third):
        assert await source.send(context, target, 1, bytes(36)) is Status.OK
        assert await source.send(context, target, 2, b"full") is Status.FULL
        await source.side.reset(context)
        await source.side.boot(context, alone=True)
        await source.open(context)
        target.record()
        target.release()
        assert await source.send(context, third, 2, b"first") is Status.OK
        assert await source.send(context, target, 2, b"new") is Status.OK

    between(script, free=48)


def test_one_process_has_all_cells():
    async def script(context, source, target):
        for slot in range(CELLS):
            await target.post(context, slot, source=source.name)
        assert await target.asked(context, 9, Ask.POST) == FULL
        for slot in range(CELLS):
            assert await source.send(context, target, slot, b"") is Status.OK
            assert target.record()[:2] == (Fate.TAKEN, slot)

    between(script, config=replace(MATCHING, processes=1))


def test_a_message_for_a_buffer_leaves_the_words_of_the_fifo_known():
    """Otherwise each record behind such a message would cost three reads of host memory."""

    async def script(context, source, target, *others):
        assert await source.send(context, target, 1, b"") is Status.OK
        await target.post(context, 3, tag=7, at=64)
        assert await source.send(context, target, 7, b"placed") is Status.OK
        before = len(target.side.reads)
        assert await source.send(context, target, 1, b"") is Status.OK
        assert len(target.side.reads) == before
        assert target.receipt(3) is not None

    between(script)


def test_a_packet_without_a_header_is_dropped():
    async def script(context, source, target, *others):
        words = request(Op.SEND, exposure=3, offset=word(EnvelopeWord, tag=7), length=3, source=0)
        target.side.arrive(words)
        target.side.arrive(request(Op.SEND, exposure=3, length=4, data=(word(HeaderWord, context=1),) * 2, source=0))
        await target.side.rest(context)
        assert target.record() is None

    assert between(script)[1].counts["REMOTE_MALFORMED"] == 2
