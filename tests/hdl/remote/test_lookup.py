"""The source of bus addresses: as the reference model has it, and never from outside a process's
window."""

import random
from dataclasses import replace

import pytest
from amaranth import Cat, Module, Signal, Value
from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume
from amaranth.lib import wiring

from lanai_hdl.bfm import Bench
from lanai_hdl.fields import layout
from lanai_hdl.remote.access_check import AccessCheck
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.lookup import Lookup
from lanai_hdl.remote.lookup_port import BusWindow, Need
from lanai_hdl.remote.packets import Status, word
from lanai_hdl.remote.reference import ReferenceExposure, ReferenceNic
from lanai_hdl.remote.tables import NIBBLE, PlaceWord, Rights

SMALL = Remote(processes=2, peers=2, pages=4, payload=16)
TINY = Remote(processes=1, peers=2, pages=2, payload=16)
LINES = 4  # of the walker's table
PAGE = 4096


def test_answers_are_those_of_the_reference():
    chance, dut, model = random.Random(4), Lookup(SMALL, 1), ReferenceNic(SMALL, windows={0: 1, 1: 2})
    seen = set()

    async def write(context, owner, index, value, field=None):
        which = dut.page_write if field is None else dut.exposure_write
        for signal, content in ((dut.owner, owner), (dut.index, index), (dut.wdata, value), (dut.field, field or 0)):
            context.set(signal, content)
        context.set(which, 1)
        await context.tick()
        context.set(which, 0)

    async def fill(context):
        for owner in range(2):
            for index in range(SMALL.pages):
                page = chance.choice([owner + 1, owner + 1, owner + 1, 3]) << 16 | chance.getrandbits(16)
                model.pages[owner, index] = page
                await write(context, owner, index, page)
            for number in range(4):
                rights = {name: chance.random() < 0.8 for name in ("valid", "read", "write", "atomic", "little")}
                first, end = sorted(chance.sample(range(3 * PAGE), 2))
                exposure = ReferenceExposure(first, end, chance.getrandbits(16), chance.randrange(8), **rights)
                model.exposures[owner, number] = exposure
                place = word(PlaceWord, key=exposure.key, page=exposure.page)
                for field, value in enumerate((first, end, place, word(Rights, **rights))):
                    await write(context, owner, number, value, field)

    async def ask(context):
        context.set(dut.windows, [{"nibble": owner + 1, "valid": 1} for owner in range(2)])
        while not context.get(dut.ready):
            await context.tick()
        await fill(context)
        port = dut.port_0
        for _ in range(1500):
            owner, number, need = chance.choice([0, 1, 1, 9]), chance.randrange(6), chance.choice(list(Need)[:4])
            exposure = model.exposures.get((owner, number), ReferenceExposure())
            key = exposure.key if chance.random() < 0.9 else 0
            offset = chance.choice([exposure.first, exposure.end, PAGE, 2 * PAGE]) + chance.randrange(-20, 20)
            offset, length = offset & 0xFFFFFFFF, chance.randrange(1, 17)
            question = {
                "owner": owner, "exposure": number, "need": need, "key": key, "offset": offset, "length": length
            }  # fmt: skip
            for name, value in question.items():
                context.set(getattr(port, name), value)
            context.set(port.start, 1)
            done, slots, wanted = 0, 0, chance.choice([0, 0, 4, 5, 9])
            while not done:
                context.set(port.wanted, slots >= wanted)
                _, _, done, status, address, little = await context.tick().sample(
                    port.done, port.status, port.address, port.little
                )
                context.set(port.start, 0)
                slots += 1
            assert slots == max(5, wanted + 1)
            expected = model.lookup(owner, number, need, key, offset, length)
            assert status == expected[0], question
            if expected[0] is Status.OK:
                assert (address, little) == expected[1:]
            seen.add(expected[0])

    bench = Bench(dut, 20_000)
    bench.add(ask)
    bench.run()
    assert seen == {Status.OK, Status.EXPOSURE, Status.KEY, Status.RIGHT, Status.RANGE, Status.PAGE}


def test_a_process_without_a_window_gets_no_address():
    """Its pages are of the number that the window would have."""
    dut, answers = Lookup(SMALL, 1), []

    async def ask(context):
        port = dut.port_0
        while not context.get(dut.ready):
            await context.tick()
        for owner in range(2):
            words = (0, PAGE, word(PlaceWord, key=0, page=0), word(Rights, valid=1, read=1))
            for field, value in enumerate(words):
                for signal, content in ((dut.owner, owner), (dut.field, field), (dut.wdata, value)):
                    context.set(signal, content)
                context.set(dut.exposure_write, 1)
                await context.tick()
            context.set(dut.exposure_write, 0)
            for signal, content in ((dut.page_write, 1), (dut.wdata, owner + 1 << 16)):
                context.set(signal, content)
            await context.tick()
            context.set(dut.page_write, 0)
        for valid in (0, 1):
            context.set(dut.windows, [{"nibble": owner + 1, "valid": valid} for owner in range(2)])
            for owner, need in ((0, Need.READ), (1, Need.READ), (0, Need.OWN), (1, Need.FLAGS)):
                for name, value in {"owner": owner, "need": need, "length": 4, "wanted": 1, "start": 1}.items():
                    context.set(getattr(port, name), value)
                await context.tick()
                context.set(port.start, 0)
                (status,) = await context.tick().sample(port.status).until(port.done)
                answers.append((valid, status))

    bench = Bench(dut, 1000)
    bench.add(ask)
    bench.run()
    assert answers == [(0, Status.PAGE)] * 4 + [(1, Status.OK)] * 4


class Question(wiring.Component):
    """A lookup that is asked anything, while anything is written into its tables. A question stands
    until it is answered, and `enabled` allows one to begin.

    `asked`: a question begins; `done`, `allowed`: it is answered, and how.
    """

    def __init__(self, config):
        self.dut = Lookup(config, 1, LINES)
        self.waiting, self.asked = Signal(), Signal()
        self.done, self.allowed = Signal(), Signal()
        self.enabled = Signal(init=1)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        port = dut.port_0
        for name in ("exposure_write", "page_write", "owner", "index", "field", "wdata"):
            m.d.comb += getattr(dut, name).eq(AnySeq(len(getattr(dut, name))))
        for signal in (dut.bus.burst.ready, dut.bus.read.valid, dut.bus.read.payload, dut.engine.burst.valid):
            m.d.comb += signal.eq(AnySeq(len(Value.cast(signal))))
        m.d.comb += [
            dut.windows.eq(AnyConst(len(dut.windows.as_value()))),
            self.asked.eq(AnySeq(1) & ~self.waiting & self.enabled),
            self.done.eq(port.done),
            self.allowed.eq(port.done & (port.status == Status.OK)),
            port.start.eq(self.asked),
            port.wanted.eq(AnySeq(1)),
        ]
        with m.If(self.asked):
            m.d.sync += self.waiting.eq(1)
        with m.Elif(port.done):
            m.d.sync += self.waiting.eq(0)
        for name in ("owner", "exposure", "need", "key", "offset", "length"):
            asks = Signal(len(Value.cast(getattr(port, name))), name=f"asks_{name}", init=name == "length")
            m.d.comb += getattr(port, name).eq(asks)
            with m.If(~self.waiting & ~self.asked):
                m.d.sync += asks.eq(AnySeq(len(asks)))
        m.d.comb += Assume(port.length != 0)
        return m


class WindowSpec(wiring.Component):
    """Any tables, any memory, any question: an address that is given out lies in the window of `owner`,
    and all bytes of the access in one page. The walker reads one word of a page in that window.

    By induction over: the machine rests while no question is open, what it has judged stays so until
    the answer is wanted, and the walker is busy with nothing but the question of a machine that waits
    for it. Six slots have a whole question but for that and for the bus.
    """

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.question = question = Question(SMALL)
        dut = question.dut
        port = dut.port_0
        window = Signal(BusWindow)
        m.d.comb += window.eq(dut.windows[port.owner[0]])
        machine = dut.checks[0]
        m.d.comb += Assert(question.waiting | question.asked | machine.idle)
        self._walks(m, dut, window)
        with m.If(machine.judged):
            m.d.comb += Assert(machine.window.as_value() == window.as_value())
            with m.If(machine.allowed == Status.OK):
                m.d.comb += Assert(port.offset[:12] + port.length <= PAGE)
                m.d.comb += Assert((port.owner < SMALL.processes) | (port.need == Need.FLAGS))
        with m.If(question.allowed):
            m.d.comb += Assert(window.valid & (port.address[28:] == window.nibble), "outside the window")
            m.d.comb += Assert(port.address[:12] + port.length <= PAGE, "in one page")
            m.d.comb += Assert((port.owner < SMALL.processes) | (port.need == Need.FLAGS))
        return m

    def _walks(self, m, dut, window):
        machine, walker, burst = dut.checks[0], dut.walker, dut.bus.burst
        walk = machine.walk
        with m.If(walk.asks):
            m.d.comb += Assert(machine.allowed == Status.OK)
        with m.If(walk.asks | machine.holds):
            m.d.comb += Assert(~walk.inside | (machine.allowed == Status.OK))
            m.d.comb += Assert(~walk.inside | (window.valid & (walk.directory[-NIBBLE:] == window.nibble)))
        with m.If(walker.busy):
            m.d.comb += [
                Assert(walk.asks & (walker.chosen == 0), "no port waits for it"),
                Assert(Cat(walker.entry, walker.item) == Cat(walk.entry, walk.item), "another question"),
                Assert(walker.outside | (window.valid & (walker.directory[-NIBBLE:] == window.nibble))),
            ]
        with m.If(walker.fetches):
            m.d.comb += Assert(walker.busy & ~walker.outside)
        with m.If(burst.valid & ~dut.engine.burst.valid):
            m.d.comb += [
                Assert(window.valid & (burst.payload.word[-NIBBLE:] == window.nibble), "reads outside the window"),
                Assert((burst.payload.words == 1) & ~burst.payload.write, "more than a word"),
            ]


def test_no_address_outside_the_window_is_given_out(prove):
    prove(WindowSpec(), depth=6)


class RightsSpec(wiring.Component):
    """Any tables, any question of any need: what is allowed keeps all the rules that are not about its page, and what
    keeps them is allowed, unless the walker refuses it. `range` and `rights` are those of the slot after `start`.

    By induction as `WindowSpec`.
    """

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = AccessCheck(replace(SMALL, match_cells=SMALL.processes))
        port, waiting, second = dut.port, Signal(), Signal()
        for signal in (dut.windows, dut.range, dut.rights, dut.page, dut.walk.done, dut.walk.status, dut.walk.page):
            m.d.comb += signal.eq(AnySeq(len(Value.cast(signal))))
        for name in ("owner", "exposure", "need", "key", "offset", "length"):
            asks = Signal(len(Value.cast(getattr(port, name))), name=f"asks_{name}", init=name == "length")
            m.d.comb += getattr(port, name).eq(asks)
            with m.If(~waiting & ~port.start):
                m.d.sync += asks.eq(AnySeq(len(asks)))
        m.d.comb += [port.start.eq(AnySeq(1) & ~waiting), port.wanted.eq(AnySeq(1)), Assume(port.length != 0)]
        m.d.sync += [waiting.eq((waiting | port.start) & ~port.done), second.eq(port.start)]
        words, rights = Signal(96), Signal(layout(Rights))
        with m.If(second):
            m.d.sync += [words.eq(dut.range), rights.eq(dut.rights)]
        place = layout(PlaceWord)(words[64:])
        keeps, one_page, of_need = Signal(), Signal(), Signal()
        within = (port.offset >= words[:32]) & (port.offset + port.length <= words[32:64])
        with m.Switch(port.need):
            for need, right in NEEDED_RIGHTS.items():
                with m.Case(need):
                    m.d.comb += of_need.eq(rights[right] & (port.key == place.key))
            with m.Case(Need.OWN):
                m.d.comb += of_need.eq(1)
        m.d.comb += [
            one_page.eq(port.offset[:12] + port.length <= PAGE),
            keeps.eq(rights.valid & (port.owner < SMALL.processes) & within & one_page & of_need),
            Assert(waiting | port.start | dut.idle),
            Assert(~dut.walk.asks | ((dut.allowed == Status.OK) & place.walked)),
            Assume(port.need.as_value() <= max(one.value for one in Need)),
        ]
        with m.If(port.need == Need.FLAGS):
            m.d.comb += keeps.eq(one_page & (port.offset < PAGE))
        with m.If(dut.judged):
            m.d.comb += [
                Assert((dut.allowed != Status.OK) | keeps, "allowed"),
                Assert((dut.allowed == Status.OK) | ~keeps | place.walked, "refused"),
            ]
        with m.If((port.done | dut.holds) & (port.status == Status.OK)):
            m.d.comb += Assert(keeps, "answered")
        return m


NEEDED_RIGHTS = {
    Need.READ: "read", Need.WRITE: "write", Need.ATOMIC: "atomic", Need.APPEND: "append", Need.SEND: "messages"
}  # fmt: skip


def test_what_keeps_the_rules_is_allowed_and_nothing_else(prove):
    prove(RightsSpec(), depth=6)


class ExposureSpec(wiring.Component):
    """Any tables, any question for an APPEND: an access that is allowed lies in an exposure that
    was valid and had the right and the key in the first two slots of the question. So FIFOs, their records and
    control words, are never outside the memory that their owner has exposed for them.

    Bounded: after the tables have been cleared, two writes of an exposure's words and a question.
    """

    SLOTS = 16 + 2 + 6  # of clearing, writes, a question

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.question = question = Question(TINY)
        dut = question.dut
        port = dut.port_0
        m.d.comb += question.enabled.eq(dut.ready)
        m.d.comb += Assume(dut.ready | ~(dut.exposure_write | dut.page_write))
        m.d.comb += Assume((port.need == Need.APPEND) | ~question.asked)
        m.d.comb += Assume(dut.owner == 0)
        number = AnyConst(4)  # the exposure that is watched
        words = [Signal(32, name=f"word_{n}") for n in range(4)]
        written = [Signal(name=f"written_{n}") for n in range(4)]
        for n, (word_, has) in enumerate(zip(words, written, strict=True)):
            with m.If(dut.exposure_write & (dut.index[:4] == number) & (dut.field == n)):
                m.d.sync += [word_.eq(dut.wdata), has.eq(1)]
        now, known, second = Signal(128), Signal(4), Signal()
        m.d.sync += second.eq(question.asked)
        with m.If(question.asked):
            m.d.sync += [now.eq(Cat(words)), known.eq(Cat(written))]
        with m.If(second):  # rights are looked at a slot later
            m.d.sync += [now[96:].eq(words[3]), known[3].eq(written[3])]
        place, rights = layout(PlaceWord)(now[64:96]), layout(Rights)(now[96:128])
        with m.If(question.allowed & (port.exposure == number)):
            m.d.comb += [
                Assert(known[3] & rights.valid & rights.append, "the right"),
                Assert(~known[0] | (port.offset >= now[0:32]), "not before the exposure"),
                Assert(~known[1] | (port.offset + port.length <= now[32:64]), "not behind the exposure"),
                Assert(~known[2] | (port.key == place.key), "the key"),
                Assert(port.owner == 0),
            ]
        return m


@pytest.mark.by_hand
@pytest.mark.slow
def test_an_append_never_leaves_the_exposure(prove):
    prove(ExposureSpec(), mode="bmc", depth=ExposureSpec.SLOTS)
