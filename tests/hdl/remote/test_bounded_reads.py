"""Reads for packets: every word of the run that a lookup has allowed, and nothing beside it."""

import random

from amaranth import Module, Mux, Signal
from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume
from amaranth.lib import wiring

from lanai_hdl.bfm import Bench
from lanai_hdl.config import NicConfig
from lanai_hdl.machine import PAGE_SIZE
from lanai_hdl.remote.bounded_reads import BoundedReads
from lanai_hdl.remote.packets import REPLY_WORDS, ReplyWord
from lanai_hdl.remote.tables import page_at

from .bench import KEY, Op, Side, Status, play
from .test_bad_packets import request

CONFIG = NicConfig(max_burst=32)


def test_bursts_are_the_words_of_their_runs():
    chance, dut, bursts, wanted = random.Random(7), BoundedReads(CONFIG), [], []

    async def run(context):
        for _ in range(100):
            address, length, allowed = chance.randrange(0x1000, 0x1F00), chance.randrange(1, 100), chance.random() < 0.8
            for signal, value in ((dut.address, address), (dut.length, length), (dut.allowed, allowed)):
                context.set(signal, value)
            context.set(dut.located, 1)
            await context.tick()
            context.set(dut.located, 0)
            context.set(dut.address, 0xFFFFFFFF)
            context.set(dut.read, 1)
            await context.tick()
            context.set(dut.read, 0)
            at, end = address & -4, (address + length + 3) & -4
            while allowed and at < end:
                size = min(end - at, CONFIG.max_burst - at % CONFIG.max_burst)
                wanted.append((0, at // 4, size // 4))
                at += size
            for _ in range(40):
                ready = chance.random() < 0.7
                context.set(dut.burst.ready, ready)
                _, _, valid, burst = await context.tick().sample(dut.burst.valid, dut.burst.payload)
                if valid and ready:
                    bursts.append((burst.write, burst.word, burst.words))
            context.set(dut.burst.ready, 0)

    bench = Bench(dut, 10_000)
    bench.add(run)
    bench.run()
    assert bursts == wanted


def test_what_a_packet_may_not_read_is_refused_and_not_read():
    """By any reason; what is allowed is read."""
    side = Side(0)
    questions = {
        Status.EXPOSURE: {"exposure": 3},
        Status.KEY: {"key": KEY + 1},
        Status.RIGHT: {"exposure": 1},
        Status.RANGE: {"offset": PAGE_SIZE - 3},
        Status.PAGE: {"exposure": 4},
        Status.OK: {},
    }

    async def script(context):
        await side.boot(context)
        await side.write(context, page_at(0, 5), 0x20001)  # a page of another process
        await side.expose(context, 1, 0, PAGE_SIZE, write=1, atomic=1, append=1)
        await side.expose(context, 2, 0, PAGE_SIZE, read=1)
        await side.expose(context, 4, 0, PAGE_SIZE, page=5, read=1)
        for sequence, (status, fields) in enumerate(questions.items()):
            assert side.reads == []
            side.arrive(request(Op.READ, sequence, data=(), **fields))
            await side.rest(context)
            answer = side.sent.pop()
            assert ReplyWord.from_bits(answer[1]).status == status
            assert len(answer) == REPLY_WORDS + (status is Status.OK)

    play([side], script)
    assert side.reads == [0x10001 * PAGE_SIZE]
    assert side.counts["REMOTE_READS_REFUSED"] == len(questions) - 1


class InsideSpec(wiring.Component):
    """Whatever is asked for and whenever the host takes a burst: bursts are reads of the words of the
    run that was allowed last, in order, each once, and there is none without one.

    By induction. Assumed of the lookup, and proved of it in test_lookup.py: a run that is allowed lies
    in one page. Assumed of the sender: it asks for no other run while bursts are under way.
    """

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = BoundedReads(CONFIG)
        for name in ("located", "allowed", "address", "length", "read"):
            m.d.comb += getattr(dut, name).eq(AnySeq(len(getattr(dut, name))))
        m.d.comb += dut.burst.ready.eq(AnySeq(1))
        burst = dut.burst.payload
        first, end = Signal(31), Signal(31)  # words of the run
        at = Signal(31)  # the first one that no burst had yet
        allowed, reading = Signal(), Signal()
        m.d.comb += [
            Assume((dut.length != 0) & (dut.address[:12] + dut.length <= PAGE_SIZE)),
            Assume(~(dut.located & dut.read) & ~((dut.located | dut.read) & reading)),
        ]
        with m.If(dut.located):
            m.d.sync += [
                allowed.eq(dut.allowed),
                first.eq(dut.address >> 2),
                end.eq((dut.address + dut.length + 3) >> 2),
            ]
        behind = burst.word + burst.words
        with m.If(dut.read & allowed):
            m.d.sync += [reading.eq(1), at.eq(first)]
        with m.Elif(dut.burst.valid & dut.burst.ready):
            m.d.sync += [at.eq(behind), reading.eq(behind != end)]
        with m.If(dut.burst.valid):
            m.d.comb += [
                Assert(reading & allowed & ~burst.write, "a read of what was allowed"),
                Assert((burst.word == at) & (burst.words != 0), "from the next word on"),
                Assert(behind <= end, "no word behind the run"),
            ]
        self._link(m, dut, first, end, at, allowed, reading)
        return m

    def _link(self, m, dut, first, end, at, allowed, reading):
        """Assert how the registers are linked, for the induction."""
        run, cutter, burst = dut.run, dut.cutter, dut.burst
        whole = run.burst.payload
        rest = Signal(31)  # the first word that is in no burst
        m.d.comb += [
            rest.eq(at + Mux(burst.valid, burst.payload.words, 0)),
            Assert((run.unanswered == 0) & (run.left == 0)),
            Assert(run.granted == allowed),
            Assert(~allowed | (whole.word == first) & (whole.word + whole.words == end)),
            Assert(~allowed | (first < end) & (first[10:] == (end - 1)[10:])),
            Assert(~reading | allowed & (first <= at) & (at < end)),
            Assert(reading == (burst.valid | (cutter.left != 0))),
            Assert(~reading | (rest + cutter.left == end) & (cutter.word == rest[:30])),
        ]
        return m


def test_no_word_outside_the_run_is_read(prove):
    prove(InsideSpec(), depth=2)
