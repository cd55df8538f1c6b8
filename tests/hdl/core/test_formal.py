"""Proofs of the core for every input: the ALU's and shifter's results, the fetch's protocol, and
that nothing leaves the map."""

import pytest
from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume
from amaranth.lib import wiring

from lanai_hdl.core.address import AddressUnit
from lanai_hdl.core.alu import Alu, BitCounter, Shifter
from lanai_hdl.core.core import Core
from lanai_hdl.core.fetch import Fetch
from lanai_hdl.isa import AluOp, Function, TrapCause
from lanai_hdl.machine import REGISTERS_LOCAL, REGISTERS_SIZE

LIMIT = 4096


class Spec(wiring.Component):
    """A component without ports whose assertions are to be proved."""

    def __init__(self):
        super().__init__({})


class AluSpec(Spec):
    """Results, carry (no borrow after a subtraction) and overflow, against wide arithmetic."""

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = Alu()
        a, b, c = dut.a, Signal(32), dut.carry_in
        m.d.comb += [dut.op.eq(AnySeq(3)), dut.a.eq(AnySeq(32)), b.eq(AnySeq(32))]
        m.d.comb += [dut.carry_in.eq(AnySeq(1)), dut.clear_carry.eq(AnySeq(1)), Assume(dut.op != AluOp.SHIFT)]
        m.d.comb += [dut.b.eq(Mux(Alu.complements(dut.op), ~b, b)), dut.start.eq(Alu.start_of(dut.op, c))]
        adds = (dut.op == AluOp.ADD) | (dut.op == AluOp.ADDC)
        subtracts = (dut.op == AluOp.SUB) | (dut.op == AluOp.SUBB)
        extra = Mux(dut.op == AluOp.ADDC, c, 0)
        borrow = Mux(dut.op == AluOp.SUBB, ~c, 0)
        with m.If(adds):
            true = a.as_signed() + b.as_signed() + extra
            m.d.comb += [
                Assert(Cat(dut.result, dut.carry) == (a + b + extra)[:33]),
                Assert(dut.overflow == (true != dut.result.as_signed())),
            ]
        with m.Elif(subtracts):
            true = a.as_signed() - b.as_signed() - borrow
            m.d.comb += [
                Assert(dut.result == (a - b - borrow)[:32]),
                Assert(dut.carry == (a >= b + borrow), "carry is no borrow"),
                Assert(dut.overflow == (true != dut.result.as_signed())),
            ]
        with m.Else():
            logic = Mux(dut.op == AluOp.AND, a & b, Mux(dut.op == AluOp.OR, a | b, a ^ b))
            m.d.comb += [
                Assert(dut.result == logic),
                Assert(dut.carry == (c & ~dut.clear_carry)),
                Assert(~dut.overflow),
            ]
        return m


class ShifterSpec(Spec):
    """Against Amaranth's own shifts, one direction at a time."""

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = Shifter()
        m.d.comb += [dut.a.eq(AnySeq(32)), dut.amount.eq(AnySeq(32)), dut.arithmetic.eq(AnySeq(1))]
        distance = Signal(5)
        with m.If(dut.amount[31]):
            m.d.comb += distance.eq(-dut.amount)
            plain, signed = dut.a >> distance, (dut.a.as_signed() >> distance).as_unsigned()
            m.d.comb += [Assert(dut.result == Mux(dut.arithmetic, signed[:32], plain)), Assert(~dut.carry)]
        with m.Else():
            m.d.comb += distance.eq(dut.amount)
            wide = dut.a << distance
            m.d.comb += [Assert(dut.result == wide[:32]), Assert(dut.carry == wide[32])]
        return m


class CounterSpec(Spec):
    """Leading and trailing zeros by what surrounds them, ones by halves."""

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = BitCounter()
        m.d.comb += [dut.a.eq(AnySeq(32)), dut.function.eq(AnySeq(2)), Assume(dut.function != 0)]
        n = dut.result
        with m.If(dut.function == Function.LEADZ):
            m.d.comb += [Assert(dut.a >> (Const(32, 6) - n)[:6] == 0), Assert((n == 32) | dut.a.bit_select(~n[:5], 1))]
            m.d.comb += Assert((n == 32) == (dut.a == 0))
        with m.If(dut.function == Function.TRAILZ):
            m.d.comb += [Assert((n == 32) == (dut.a == 0)), Assert((n == 32) | dut.a.bit_select(n, 1))]
            m.d.comb += Assert((dut.a & ((Const(1, 33) << n)[:33] - 1)) == 0)
        with m.If(dut.function == Function.POPC):
            m.d.comb += Assert(n == sum(dut.a[i] for i in range(32)))
        return m


class AddressSpec(Spec):
    """The early answers are those that the address itself gives; the bus sees it unless the
    register window does."""

    def __init__(self, limit):
        self._limit = limit
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.alu = alu = Alu()
        m.submodules.dut = dut = AddressUnit(self._limit, alu)
        m.d.comb += [alu.op.eq(AnySeq(3)), alu.a.eq(AnySeq(32)), alu.b.eq(AnySeq(32)), alu.start.eq(AnySeq(1))]
        m.d.comb += [dut.pre.eq(AnySeq(1)), dut.shifts.eq(AnySeq(1)), dut.shifted.eq(AnySeq(32)), dut.base.eq(alu.a)]
        m.d.comb += [dut.valid.eq(AnySeq(1)), dut.busy.eq(AnySeq(1)), dut.pc.eq(AnySeq(32))]
        m.d.comb += [
            Assert(dut.addr == Mux(dut.pre, Mux(dut.shifts, dut.shifted, alu.result), dut.base)),
            Assert(dut.window == ((dut.addr >= REGISTERS_LOCAL) & (dut.addr < REGISTERS_LOCAL + REGISTERS_SIZE))),
            Assert(dut.sram == ((dut.addr < self._limit) & ~dut.window)),
        ]
        with m.If(dut.valid & ~dut.window):
            m.d.comb += Assert(dut.bus == dut.addr)
        with m.Elif(~dut.valid | ~dut.busy):
            m.d.comb += Assert(dut.bus == dut.pc)
        return m


class FetchSpec(Spec):
    """It asks only when open and mapped, never in two slots in a row, and a grant is a word in the
    next slot."""

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = Fetch(LIMIT)
        m.d.comb += [dut.open.eq(AnySeq(1)), dut.grant.eq(dut.request & AnySeq(1))]
        m.d.comb += [dut.transfer.eq(AnySeq(34)), dut.loaded.eq(AnySeq(1)), dut.target.eq(AnySeq(32))]
        granted, asked_at, past = Signal(), Signal(32), Signal()
        m.d.sync += [granted.eq(dut.grant), asked_at.eq(dut.addr), past.eq(1)]
        with m.If(dut.request):
            m.d.comb += [Assert(dut.open), Assert(dut.addr < LIMIT), Assert(dut.addr[:2] == 0), Assert(~dut.o.valid)]
        with m.If(past & granted):
            m.d.comb += [
                Assert(dut.o.valid),
                Assert(dut.o.pc == asked_at),
                Assert(dut.o.fault == TrapCause.NONE),
            ]
        with m.If(past & dut.o.valid & ~granted):
            m.d.comb += Assert(dut.o.fault != TrapCause.NONE)
        return m


class MapSpec(Spec):
    """Whatever the program and the memory say: no access outside SRAM, none misaligned, none when
    held or trapped."""

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = Core(LIMIT)
        m.d.comb += [dut.run.eq(AnySeq(1)), dut.wait.eq(AnySeq(1)), dut.lbus.rdata.eq(AnySeq(32))]
        m.d.comb += [dut.regs.rdata.eq(AnySeq(32)), dut.lbus.grant.eq(dut.lbus.request & AnySeq(1))]
        with m.If(dut.lbus.request):
            m.d.comb += [Assert(dut.lbus.addr < LIMIT), Assert(dut.lbus.addr[:2] == 0)]
        with m.If(dut.regs.read | dut.regs.write):
            m.d.comb += [Assert(dut.regs.addr[:2] == 0), Assert(~(dut.regs.read & dut.regs.write))]
        with m.If(dut.trap.valid):
            m.d.comb += Assert(dut.trap.cause != TrapCause.NONE)
        assert LIMIT <= REGISTERS_LOCAL
        return m


@pytest.mark.slow
@pytest.mark.proof
def test_alu(prove):
    prove(AluSpec())


@pytest.mark.slow
@pytest.mark.proof
def test_shifter(prove):
    prove(ShifterSpec())


def test_bit_counter(prove):
    prove(CounterSpec())


@pytest.mark.parametrize("limit", [LIMIT, REGISTERS_LOCAL])
def test_addresses_are_judged_before_their_sum_is_there(prove, limit):
    prove(AddressSpec(limit))


def test_a_processor_beside_an_odd_sram_is_refused():
    with pytest.raises(ValueError, match="5000 bytes of SRAM"):
        AddressUnit(5000, Alu())


def test_fetch(prove):
    prove(FetchSpec())


def test_accesses_stay_in_the_map(prove):
    prove(MapSpec(), mode="bmc", depth=12)
