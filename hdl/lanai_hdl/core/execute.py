"""The execute stage: operands in, results, flags and what follows of them out. Combinational but for flags and delay slots."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..isa import Reg, TrapCause
from .access import MemoryRequest
from .alu import Alu, BitCounter, Shifter
from .decode import Action, Unit
from .fetch import Transfer
from .flags import Flags
from .registers import is_data


class Operands(data.Struct):
    """Values of rs1, of rs2 or the constant, and of rd before the instruction."""

    a: 32
    b: 32
    d: 32


class Outcome(data.Struct):
    """What an instruction did, as far as the execute stage knows. `index` gets `value` if `writes`; of a load or store it is the base."""

    writes: 1
    index: 5
    value: 32


class Execute(wiring.Component):
    """Members: `action`, `operands`, `fault` describe the instruction; with `go` it runs in this slot, unless `cause` is not NONE.

    `outcome`, `transfer` and `memory` say what comes of it, valid only in that slot; while the description stands, all of `memory` but
    its `valid` does. `clear` resets the flags and forgets transfers: instructions come in program order, so it is known here which
    of them stand in the slots of another.
    """

    go: In(1)
    clear: In(1)
    action: In(Action)
    operands: In(Operands)
    fault: In(TrapCause)
    cause: Out(TrapCause)
    outcome: Out(Outcome)
    transfer: Out(Transfer)
    memory: Out(MemoryRequest)

    def elaborate(self, platform):
        m = Module()
        action, operands = self.action, self.operands
        m.submodules.alu = alu = Alu()
        m.submodules.shifter = shifter = Shifter()
        m.submodules.counter = counter = BitCounter()
        m.submodules.flags = flags = Flags()
        runs, holds = Signal(), Signal()
        in_slot = self._slots(m)
        result = Signal(32)
        m.d.comb += [
            alu.op.eq(action.op),
            alu.a.eq(operands.a),
            alu.b.eq(operands.b),
            alu.carry_in.eq(flags.carry),
            alu.clear_carry.eq(action.clear_carry),
            shifter.a.eq(operands.a),
            shifter.amount.eq(operands.b),
            shifter.arithmetic.eq(action.arithmetic),
            counter.a.eq(operands.a),
            counter.function.eq(action.function),
            flags.cond.eq(action.cond),
            flags.clear.eq(self.clear),
            holds.eq(flags.holds | ~action.guarded),
            runs.eq(self.go & (self.cause == TrapCause.NONE)),
        ]
        with m.Switch(action.unit):
            with m.Case(Unit.SHIFT):
                m.d.comb += result.eq(shifter.result)
            with m.Case(Unit.COUNT):
                m.d.comb += result.eq(counter.result)
            with m.Case(Unit.SELECT):
                m.d.comb += result.eq(Mux(flags.holds, operands.a, operands.b))
            with m.Case(Unit.TEST):
                m.d.comb += result.eq(flags.holds)
            with m.Default():
                m.d.comb += result.eq(alu.result)
        self._flags(m, flags, alu, shifter, runs, holds, result)
        self._results(m, runs, holds, in_slot, result)
        self._memory(m, runs, Mux(action.unit == Unit.SHIFT, shifter.result, alu.result))
        return m

    def _flags(self, m, flags, alu, shifter, runs, holds, result):
        """A predicate that does not hold leaves Rd, and Z and N become Rd's (`Condition`)."""
        shifts = self.action.unit == Unit.SHIFT
        m.d.comb += [
            flags.update.enable.eq(runs & self.action.flags),
            flags.update.result.eq(Mux(holds, result, self.operands.d)),
            flags.update.carry.eq(Mux(shifts, shifter.carry, alu.carry)),
            flags.update.overflow.eq(~shifts & alu.overflow),
            flags.update.keep.eq(~holds),
        ]

    def _slots(self, m):
        """Whether this instruction stands in a delay slot."""
        left = Signal(2)
        with m.If(self.go):
            m.d.sync += left.eq(left - left.any())
        with m.If(self.transfer.valid):
            m.d.sync += left.eq(self.transfer.slots)
        with m.If(self.clear):
            m.d.sync += left.eq(0)
        return left.any()

    def _results(self, m, runs, holds, in_slot, result):
        action = self.action
        to_pc = Signal()
        m.d.comb += to_pc.eq(Mux(action.memory, ~action.store, holds) & (action.rd == Reg.PC))
        with m.If(self.fault != TrapCause.NONE):
            m.d.comb += self.cause.eq(self.fault)
        with m.Elif(action.undefined):
            m.d.comb += self.cause.eq(TrapCause.UNDEFINED)
        with m.Elif(to_pc & in_slot):
            m.d.comb += self.cause.eq(TrapCause.TRANSFER_IN_SLOT)
        m.d.comb += [
            self.transfer.valid.eq(runs & to_pc),
            self.transfer.late.eq(action.memory),
            self.transfer.target.eq(result),
            self.outcome.index.eq(Mux(action.memory, action.base, action.rd)),
            self.outcome.writes.eq(runs & is_data(self.outcome.index) & Mux(action.memory, action.update, holds)),
            self.outcome.value.eq(result),
        ]

    def _memory(self, m, runs, address):
        """`address` is `result` for whatever a load or store may ask, but earlier."""
        action, memory = self.action, self.memory
        m.d.comb += [
            memory.valid.eq(runs & action.memory),
            memory.store.eq(action.store),
            memory.size.eq(action.size),
            memory.signed.eq(action.signed),
            memory.addr.eq(Mux(action.pre, address, self.operands.a)),
            memory.data.eq(self.operands.d),
            memory.rd.eq(action.rd),
            memory.to_pc.eq(~action.store & (action.rd == Reg.PC)),
        ]
