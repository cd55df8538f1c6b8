"""The run that a lookup has allowed: its bytes are read and written, and nothing beside them."""

import random

from amaranth import Const, Module, Mux, Signal
from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume
from amaranth.lib import wiring

from lanai_hdl.bfm import Bench
from lanai_hdl.machine import PAGE_SIZE
from lanai_hdl.remote.bounded_burst import BoundedBurst
from lanai_hdl.remote.lookup_port import LENGTH_BITS


def test_writes_are_the_bytes_of_their_runs():
    chance, dut = random.Random(6), BoundedBurst()
    memory, wanted = {}, {}
    runs = []
    for _ in range(150):
        address, length = chance.randrange(0x1000, 0x1100), chance.randrange(1, 30)
        words = [chance.getrandbits(32) for _ in range((address % 4 + length + 3) // 4)]
        runs.append((address, length, words, chance.random() < 0.9))
        data = b"".join(word.to_bytes(4, "big") for word in words)[address % 4 :][:length]
        if runs[-1][3]:
            wanted.update(enumerate(data, address))
    bursts, refused = [], []

    async def host(context):
        """Takes bursts and words at any pace, and answers each word some slots later."""
        left, at, due = 0, 0, []
        while True:
            context.set(dut.burst.ready, left == 0)
            ready = left != 0 and chance.random() < 0.6
            context.set(dut.data.ready, ready)
            answers = bool(due) and chance.random() < 0.5
            context.set(dut.written, answers)
            context.set(dut.refused, due[0] if answers else 0)
            _, _, burst, payload, valid, write = await context.tick().sample(
                dut.burst.valid, dut.burst.payload, dut.data.valid, dut.data.payload
            )
            if answers:
                due.pop(0)
            if burst and left == 0:
                left, at = payload.words, payload.word * 4
                bursts.append((payload.write, payload.words))
            elif ready and valid:
                for lane in range(4):
                    if write.be >> (3 - lane) & 1:
                        memory[at + lane] = write.data >> (24 - 8 * lane) & 0xFF
                left, at = left - 1, at + 4
                due.append(chance.random() < 0.02)
                refused.append(due[-1])

    async def give(context):
        for address, length, words, allowed in runs:
            before = len(refused)
            for signal, value in ((dut.address, address), (dut.length, length), (dut.allowed, allowed)):
                context.set(signal, value)
            context.set(dut.located, 1)
            await context.tick()
            context.set(dut.located, 0)
            context.set(dut.write, 1)
            begun, slots = 0, 0
            while not begun and (allowed or slots < 10):
                _, _, begun = await context.tick().sample(dut.begun)
                slots += 1
            context.set(dut.write, 0)
            assert begun == allowed
            if not allowed:
                continue
            done = 0
            context.set(dut.words.valid, 1)
            for n, value in enumerate(words):
                context.set(dut.words.payload, value)
                ready = 0
                while not ready:
                    _, _, ready, done, bad = await context.tick().sample(dut.words.ready, dut.done, dut.bad)
                assert not done or n == len(words) - 1
            context.set(dut.words.valid, 0)
            while not done:
                _, _, done, bad = await context.tick().sample(dut.done, dut.bad)
            assert bad == any(refused[before:])

    bench = Bench(dut, 30_000)
    bench.add_background(host)
    bench.add(give)
    bench.run()
    assert memory == wanted
    assert bursts == [(1, len(words)) for _, _, words, allowed in runs if allowed]
    assert any(refused)


class InsideSpec(wiring.Component):
    """Whatever the server asks for and the host answers, at any time: a burst has the words of the
    run that was allowed last and no others, there is none without one, and every byte that is
    written lies in the run.

    By induction. Assumed of the lookup, and proved of it in test_lookup.py: a run that is allowed
    lies in one page. Assumed of the host: it answers words of a write that it has taken.
    """

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = BoundedBurst()
        for signal in (dut.located, dut.allowed, dut.address, dut.length, dut.read, dut.write, dut.words.payload):
            m.d.comb += signal.eq(AnySeq(len(signal)))
        for signal in (dut.words.valid, dut.burst.ready, dut.data.ready, dut.written, dut.refused):
            m.d.comb += signal.eq(AnySeq(1))
        m.d.comb += Assume(~(dut.read & dut.write))
        m.d.comb += Assume((dut.length != 0) & (dut.address[:12] + dut.length <= PAGE_SIZE))
        taken, answered = Signal(LENGTH_BITS), Signal(LENGTH_BITS)  # words, by the host
        under_way, allowed = Signal(), Signal()
        first, end = Signal(33), Signal(33)  # the run's bytes
        words = Signal(LENGTH_BITS)  # that it touches
        m.d.comb += words.eq(((end + 3) >> 2) - (first >> 2))
        m.d.comb += Assume(~dut.written | (under_way & (taken != answered)))
        begins = dut.burst.valid & dut.burst.ready
        with m.If(dut.located & ~under_way & ~begins):
            m.d.sync += [first.eq(dut.address), end.eq(dut.address + dut.length), allowed.eq(dut.allowed)]
        with m.Elif(dut.located):
            m.d.sync += allowed.eq(0)
        with m.If(begins & dut.write):
            m.d.sync += [under_way.eq(1), taken.eq(0), answered.eq(0)]
        with m.If(under_way & dut.data.valid & dut.data.ready):
            m.d.sync += taken.eq(taken + 1)
        with m.If(under_way & dut.written):
            m.d.sync += answered.eq(answered + 1)
            with m.If(answered + 1 == words):
                m.d.sync += under_way.eq(0)

        burst = dut.burst.payload
        with m.If(dut.burst.valid):
            m.d.comb += [
                Assert(allowed & ~under_way, "only what was allowed"),
                Assert((burst.word == first >> 2) & (burst.words == words), "the words of the run"),
            ]
        with m.If(dut.data.valid):
            m.d.comb += Assert(under_way & (taken < words), "as many words as the run has")
            for lane in range(4):
                byte = ((burst.word + taken) << 2) + lane
                with m.If(dut.data.payload.be[3 - lane]):
                    m.d.comb += Assert((byte >= first) & (byte < end), "a byte of the run")
        with m.If(dut.done):
            m.d.comb += Assert(under_way & (answered + 1 == words))
        # How the registers are linked, for the induction.
        held = allowed | under_way
        head, tail = first[:2], end[:2]
        m.d.comb += [
            Assert(dut.granted == allowed),
            Assert(dut.unanswered == Mux(under_way, words - answered, 0)),
            Assert(dut.left == Mux(under_way, words - taken, 0)),
            Assert((answered <= taken) & (taken <= words) | ~under_way),
            Assert(~under_way | (answered != words)),
            Assert((first < end) & (first[:12] + (end - first) <= PAGE_SIZE) | ~held),
            Assert((burst.word == first >> 2) & (burst.words == words) | ~held),
            Assert((dut.first_mask == Const(0b1111, 4) >> head) | ~held),
            Assert((dut.last_mask == Mux(tail == 0, 0b1111, ~(Const(0b1111, 4) >> tail)[:4])) | ~held),
        ]
        return m


def test_no_byte_outside_the_run_is_driven(prove):
    prove(InsideSpec(), depth=2)
