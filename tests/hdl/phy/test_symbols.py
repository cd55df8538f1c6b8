"""Parts of the phy alone: the code, flits that were damaged on the pins, and proofs of lock, STOP and FIFO."""

import itertools

import pytest
from amaranth import ClockDomain, ClockSignal, EnableInserter, Module, Mux, ResetSignal, Signal
from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume
from amaranth.lib import crc, wiring
from amaranth.lib.fifo import AsyncFIFO

from lanai_hdl.bfm import Bench
from lanai_hdl.link.flit import Kind
from lanai_hdl.phy.receiver import BAD, BURST, LOCK, SPOILT, PhyReceiver
from lanai_hdl.phy.symbols import BYTE, CONTROL, DISTANCE, Control, Symbol, route_check
from lanai_hdl.phy.training import WIRES, faults
from lanai_hdl.phy.transmitter import LATE, PhyTransmitter

ROUTE, WORD = 0x81234567, 0x89ABCDEF


def test_control_symbols_differ_in_four_bits():
    pairs = itertools.combinations([one.value for one in Control], 2)
    assert min((one ^ other).bit_count() for one, other in pairs) == DISTANCE
    assert all(0 < one.value.bit_count() < 8 for one in Control), "pins without a cable have none"


def test_the_check_of_a_route_word_is_a_known_one_and_sees_three_wrong_bits():
    octets = ROUTE.to_bytes(4, "big")
    known = crc.catalog.CRC8_AUTOSAR(8).compute(octets)
    assert route_check(octets) == known ^ 0xFF
    right = int.from_bytes(bytes([*octets, route_check(octets)]), "big")
    for bits in itertools.combinations(range(40), 3):
        wrong = (right ^ sum(1 << bit for bit in bits)).to_bytes(5, "big")
        assert route_check(wrong[:4]) != wrong[4]


TRAININGS = [(Control.TRAIN, second, Control.THIRD) for second in (Control.MARK, Control.HEARD)]


def through(wires, inverted, symbols):
    """Symbols, oldest first, behind a cable whose pin n has the wire `wires[n]`, with some pins inverted."""
    found = 0
    for one in symbols:
        whole = CONTROL << 8 | one.value
        bits = [(whole >> 8 & 1, whole >> 9 & 1), *((whole >> n & 1, whole >> (n + 4) & 1) for n in range(4))]
        (c0, c1), *rest = [tuple(bit ^ (pin in inverted) for bit in bits[wire]) for pin, wire in enumerate(wires)]
        halves = sum(first << n | second << (n + 4) for n, (first, second) in enumerate(rest))
        found = found << 10 | c1 << 9 | c0 << 8 | halves
    return found


EVERY = list(itertools.permutations(range(5)))


def test_training_is_not_taken_where_wires_are_swapped_or_one_is_inverted():
    right = [through(range(5), (), training) for training in TRAININGS]
    assert [wires for wires in EVERY for one in TRAININGS if through(wires, (), one) in right] == [EVERY[0]] * 2
    assert not any(through(wires, (n,), one) in right for wires in EVERY for n in range(5) for one in TRAININGS)


@pytest.mark.parametrize("training", TRAININGS, ids=["not found", "found"])
@pytest.mark.parametrize("first", range(3))
def test_wires_that_are_wrong_are_named(training, first):
    """Two that are swapped and any one that is inverted, whichever symbol of training comes first."""
    came = (*training[first:], *training[:first])
    assert faults(through(range(5), (), came)) == []
    for a, b in itertools.combinations(range(5), 2):
        wires = [b if n == a else a if n == b else n for n in range(5)]
        swapped = f"{WIRES[a]} and {WIRES[b]} are swapped"
        assert faults(through(wires, (), came)) == [swapped]
        for n in range(1, 5):
            assert faults(through(wires, (n,), came)) == [swapped, f"{WIRES[n]} is inverted"]
    assert faults(through((0, 2, 3, 1, 4), (), came)) == [
        f"data {n} has the wire of data {m}" for n, m in ((0, 1), (1, 2), (2, 0))
    ]
    assert faults(through(range(5), (0,), came)) == ["control is inverted or has no wire"]


def test_wires_that_are_missing_are_named():
    assert faults(0) == ["nothing comes on any wire but the clock"]
    for n in range(4):
        without = through(range(5), (), TRAININGS[0]) & ~((0x11 << n) * 0x100401)
        assert faults(without) == [f"nothing comes on data {n}"]
    assert faults(0x12345678 & (1 << 30) - 1) == ["what comes is no training"]


def octets(word):
    return [(BYTE, byte) for byte in word.to_bytes(4, "big")]


def control(one):
    return [(CONTROL, one.value)]


HEAD = [*control(Control.HEAD), *octets(ROUTE), (BYTE, route_check(ROUTE.to_bytes(4, "big")))]
TAIL = [*control(Control.TAIL), *octets(WORD)]
TRAINING = [*control(Control.TRAIN), *control(Control.HEARD), *control(Control.THIRD)]
REST, GO = control(Control.REST), control(Control.GO)
AT_HEAD, AT_DATA, AT_TAIL = (Kind.HEAD, ROUTE), (Kind.DATA, WORD), (Kind.TAIL, WORD)
ENDED = (Kind.TAIL, SPOILT)


def damaged(symbols, at, flag=0b01):
    """These symbols, one of them with an impossible control pin."""
    return [(flag, byte) if n == at else (control, byte) for n, (control, byte) in enumerate(symbols)]


def received(symbols):
    """Flits and numbers of events of a receiver that is locked and gets these."""
    dut, flits, events = PhyReceiver(), [], {"bad": 0, "cut": 0, "misrouted": 0}
    bench = Bench(dut, 1000)

    async def script(context):
        for flag, byte in [*TRAINING * (LOCK // 3 + 2), *symbols, *REST * 4]:
            context.set(dut.i, {"control": flag, "data": byte})
            await context.tick()
            if context.get(dut.write):
                flits.append((context.get(dut.flit.kind), context.get(dut.flit.data)))
            for name in events:
                events[name] += context.get(getattr(dut.events, name)) if context.get(dut.locked) else 0
        assert (context.get(dut.locked), context.get(dut.heard)) == (1, 1)

    bench.add(script)
    bench.run()
    return flits, {name: count for name, count in events.items() if count}


@pytest.mark.parametrize(
    ("symbols", "flits", "events"),
    [
        (HEAD + octets(WORD) + GO + octets(WORD) + TAIL + REST, [AT_HEAD, AT_DATA, AT_DATA, AT_TAIL], {}),
        (HEAD + octets(WORD) + REST + octets(WORD), [AT_HEAD, AT_DATA, ENDED], {"cut": 1}),
        (HEAD + HEAD + TAIL, [AT_HEAD, ENDED, AT_HEAD, AT_TAIL], {"cut": 1}),
        (damaged(HEAD, 0) + octets(WORD) + TAIL, [], {"bad": 1, "cut": 1}),
        (damaged(HEAD, 3) + TAIL, [AT_HEAD, AT_TAIL], {"bad": 1}),
        ([*HEAD[:3], (BYTE, 0), *HEAD[4:], *octets(WORD), *TAIL], [], {"misrouted": 1}),
        (HEAD + octets(WORD)[:2] + GO + octets(WORD) + TAIL, [AT_HEAD, AT_DATA, AT_TAIL], {"cut": 1}),
    ],
    ids=["right", "no tail", "two heads", "no head", "a flag wrong", "another route", "a cut word"],
)
def test_flits_that_the_pins_damage(symbols, flits, events):
    got, counted = received(symbols)
    assert [(Kind(kind), data) for kind, data in got] == flits
    assert counted == events


class Spec(wiring.Component):
    """A proof of one part, from its initial state on, without a reset."""

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        self.state(m)
        m.d.comb += Assume(~ResetSignal())
        return m


class LockSpec(Spec):
    """No lock but by LOCK training symbols in a row, each third a THIRD, none after BURST // BAD + 2 unknown ones."""

    def state(self, m):
        m.submodules.dut = dut = PhyReceiver()
        symbol, seen, locked = AnySeq(10), Signal(Symbol), Signal()
        trains, training, unknown = Signal(), Signal(range(LOCK + 1)), Signal(8)
        third, phase = Signal(), Signal(2)
        m.d.comb += [
            dut.i.as_value().eq(symbol),
            third.eq((seen.control == CONTROL) & (seen.data == Control.THIRD.value)),
            trains.eq(
                (seen.control == CONTROL)
                & Mux(phase == 0, seen.data == 0x3C, (phase == 1) & ((seen.data == 0x66) | (seen.data == 0x99)))
            ),
        ]
        m.d.sync += [
            seen.as_value().eq(symbol),
            locked.eq(dut.locked),
            phase.eq(Mux(third, 0, Mux(phase == 3, 3, phase + 1))),
            training.eq(Mux(trains | third & (phase == 2), Mux(training == LOCK, LOCK, training + 1), 0)),
            unknown.eq(Mux(dut.known, 0, Mux(unknown == 255, 255, unknown + 1))),
        ]
        with m.If(dut.locked & ~locked):
            m.d.comb += Assert(training == LOCK)
        with m.If(dut.locked):
            m.d.comb += [Assert(unknown <= BURST // BAD + 1), Assert(dut.bucket >= BAD * unknown)]
        m.d.comb += [Assert(seen == dut.pins), Assert(dut.phase == phase), Assert(dut.bucket < BURST + BAD)]
        m.d.comb += [Assert(training <= LOCK), Assert(dut.run <= training)]


class StopSpec(Spec):
    """With a link, the pins tell STOP or GO at most LATE slots after it is wanted."""

    def state(self, m):
        m.submodules.dut = dut = PhyTransmitter()
        for port in (dut.locked, dut.heard, dut.stop, dut.stopped, dut.i.valid):
            m.d.comb += port.eq(AnySeq(1))
        m.d.comb += dut.i.payload.as_value().eq(AnySeq(35))
        kept, told, before, late = Signal(), Signal(), Signal(), Signal(4)
        m.d.comb += told.eq(kept)
        with m.If(dut.o.control == CONTROL):
            with m.Switch(dut.o.data):
                with m.Case(Control.STOP.value, Control.REST_STOP.value):
                    m.d.comb += told.eq(1)
                with m.Case(Control.GO.value, Control.REST.value):
                    m.d.comb += told.eq(0)
        m.d.sync += [kept.eq(told), before.eq(dut.stop), late.eq(0)]
        with m.If(dut.locked & dut.heard & (dut.stop == before) & (told != dut.stop)):
            m.d.sync += late.eq(Mux(late == 15, 15, late + 1))
        m.d.comb += [Assert(late < LATE), Assert(dut.told == told), Assert(dut.bytes_left <= 5)]


class CrossingSpec(Spec):
    """A FIFO between two clocks gives what it was given, in order, with the clocks in any ratio."""

    def state(self, m):
        fifo = AsyncFIFO(width=4, depth=4, w_domain="w", r_domain="r")
        write, read = AnySeq(1), AnySeq(1)  # an edge of each clock
        for name in "wr":
            m.domains += ClockDomain(name, reset_less=True)
            m.d.comb += ClockSignal(name).eq(ClockSignal())
        m.submodules.dut = EnableInserter({"w": write, "r": read})(fifo)
        written, taken, chosen, entry = Signal(6), Signal(6), AnyConst(6), Signal(4)
        m.d.comb += [fifo.w_data.eq(AnySeq(4)), fifo.w_en.eq(AnySeq(1)), fifo.r_en.eq(AnySeq(1))]
        with m.If(write & fifo.w_en & fifo.w_rdy):
            m.d.sync += written.eq(written + 1)
            with m.If(written == chosen):
                m.d.sync += entry.eq(fifo.w_data)
        with m.If(fifo.r_rdy):
            m.d.comb += Assert(taken != written)
            with m.If(taken == chosen):
                m.d.comb += Assert(fifo.r_data == entry)
            with m.If(read & fifo.r_en):
                m.d.sync += taken.eq(taken + 1)
        m.d.comb += Assert((written - taken)[:6] <= 4)


@pytest.mark.slow
@pytest.mark.proof
@pytest.mark.parametrize(
    ("spec", "mode", "depth"),
    [(LockSpec, "prove", 3), (StopSpec, "prove", 10), (CrossingSpec, "bmc", 14)],
    ids=["lock", "stop", "crossing"],
)
def test_proofs(prove, spec, mode, depth):
    prove(spec(), mode=mode, depth=depth)
