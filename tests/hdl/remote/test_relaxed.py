"""Writes in relaxed order: carried out as they come, once each; what is in order waits for its turn. Others are never
outstanding together with them, by induction. `test_receive_order_formal.py` has the receiver's half."""

from amaranth import Fragment, Module, Signal, Value
from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume
from amaranth.lib import wiring

from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.packets import WINDOW, Op, Order, relaxed
from lanai_hdl.remote.sequencer import INDEX_BITS, Sequencer

from .bench import ALL, Side, Status, play
from .test_bad_packets import reply, request


def write(sequence, order=Order.RELAXED):
    """Return a write of the number `sequence` to the word of this number."""
    return request(Op.WRITE, sequence, offset=4 * sequence, data=(0x100 + sequence,), order=order)


def carried_out(side, count):
    """Return which of the words have been written."""
    words = [int.from_bytes(side.dump(4 * n, 4), "big") for n in range(count)]
    assert all(one in (0, 0x100 + n) for n, one in enumerate(words))
    return [n for n, one in enumerate(words) if one]


def test_relaxed_writes_are_carried_out_as_they_come_and_answered_again():
    side = Side(0)

    async def script(context):
        await side.boot(context)
        await side.expose(context, 2, 0, 4096, **ALL)
        come = [5, 2, 5, 15, 14, 1, 2]
        for sequence in come:
            side.arrive(write(sequence))
        side.arrive(write(3, Order.IN_TURN))
        await side.rest(context)
        assert carried_out(side, WINDOW) == sorted(set(come))
        assert [words[0] & 0xFFFF for words in side.sent] == come
        assert {words[1] & 0xF for words in side.sent} == {Status.OK.value}
        side.sent.clear()
        for sequence in (0, 3, 4, *range(6, 14)):
            side.arrive(write(sequence, Order.IN_TURN))  # each is the next one by then
        side.arrive(write(16, Order.IN_TURN))
        side.arrive(write(15, Order.IN_TURN))  # again
        await side.rest(context)
        assert carried_out(side, WINDOW + 1) == list(range(WINDOW + 1))
        assert [words[0] & 0xFFFF for words in side.sent] == [0, 3, 4, *range(6, 14), 16, 15]

    play([side], script)
    assert side.counted() == {
        "REMOTE_SERVED": WINDOW + 1, "REMOTE_DUPLICATES": 3, "REMOTE_AHEAD": 1, "REMOTE_REPLIES": WINDOW + 4,
    }  # fmt: skip


def test_an_adapter_whose_receiver_still_catches_up_is_not_idle():
    """An engine may leave out the slots of one that is idle: then it would catch up later."""
    side = Side(0)
    seen = []

    async def watch(context):
        order = side.dut.server.transport.order
        async for _, _, idle, catching_up in context.tick().sample(side.dut.idle, order.catching_up):
            seen.append((idle, catching_up))

    async def script(context):
        await side.boot(context)
        await side.expose(context, 2, 0, 4096, **ALL)
        for sequence in (*range(1, WINDOW), 0):
            side.arrive(write(sequence))
        await side.rest(context)

    play([side], script, watch=watch)
    assert sum(catching_up for _, catching_up in seen) == WINDOW - 1
    assert (1, 1) not in seen


def test_the_sender_takes_answers_of_relaxed_writes_in_any_order_and_sends_nothing_else_meanwhile():
    side = Side(0, timeout=3000)

    async def script(context):
        await side.boot(context)
        await side.expose(context, 1, 0, 4096)
        tags = []
        for n, order in enumerate((Order.RELAXED, Order.RELAXED, Order.RELAXED, Order.IN_TURN, Order.RELAXED)):
            tags.append(await side.start(context, Op.WRITE, 1, 2, 0, 4, 1, 0, atomic=order, buffer=n))
        for sequences in ((0, 1, 2), (3,), (4,)):
            for _ in range(600):
                await context.tick()
            assert [words[0] & 0xFFFF for words in side.sent] == list(sequences)
            sent = dict(zip(sequences, side.sent, strict=True))
            side.sent.clear()
            for sequence in reversed(sequences):
                side.arrive(reply(Op.ACK, entry=sent[sequence][1] >> 24, sequence=sequence))
        for n, tag in enumerate(tags):
            assert await side.end(context, tag, n) is Status.OK
        await side.rest(context)

    play([side], script)
    assert side.counted() == {"REMOTE_COMMANDS": 5, "REMOTE_PACKETS": 5}


class TogetherSpec(wiring.Component):
    """One entry of the sequencer is watched, from the slot in which a request is taken there that must be sent until it
    is retired. Each other request that is taken meanwhile, and must be sent, is RELAXED exactly if that one is."""

    def elaborate(self, platform):
        m, dut = Module(), Sequencer(Remote(processes=1, peers=2, pages=2, payload=16))
        m.submodules.dut = fragment = Fragment.get(dut, None)
        for _, member, value in dut.signature.flatten(dut):
            if member.flow == wiring.In:
                m.d.comb += Value.cast(value).eq(AnySeq(len(Value.cast(value))))
        own = {one.name: one for one in fragment.statements["sync"]._lhs_signals()}
        head, tail, new = own["head"], own["tail"], dut.i.payload
        place, level = AnyConst(INDEX_BITS), Signal.like(head)
        outstanding, order, now = Signal(), Signal(), Signal()
        sends = dut.i.valid & dut.i.ready & ~new.ended
        m.d.comb += [
            now.eq(relaxed(new.entry.op, new.entry.atomic)),
            level.eq(head - tail),
            Assume(~dut.retire | dut.ended),
            Assert(level <= WINDOW),
            Assert(~outstanding | ((place - tail[:INDEX_BITS])[:INDEX_BITS] < level)),
            Assert(~outstanding | (own["before_relaxed"] == order)),
            Assert(~(outstanding & sends) | (now == order), "a RELAXED one and another"),
        ]
        with m.If(dut.retire & (tail[:INDEX_BITS] == place)):
            m.d.sync += outstanding.eq(0)
        with m.If(sends & (head[:INDEX_BITS] == place)):
            m.d.sync += [outstanding.eq(1), order.eq(now)]
        return m


def test_relaxed_requests_are_outstanding_alone(prove):
    prove(TogetherSpec({}))
