"""The execute stage: operands in, results, flags and what follows of them out. Combinational but
for flags and delay slots."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..isa import Reg, TrapCause
from .access import MemoryRequest
from .address import AddressUnit
from .alu import Alu, BitCounter, Shifter
from .decode import Action, Unit
from .fetch import Transfer
from .flags import Flags
from .registers import is_data


class Operands(data.Struct):
    """Values of rs1, of rs2 or the constant, and of rd before the instruction. On its way to
    `Execute` b is as `Alu` wants it."""

    a: 32
    b: 32
    d: 32


class Premise(data.Struct):
    """The flags as an instruction needs them: its condition `holds`, its result counts (`passes`), its
    carry chain starts with `start`."""

    holds: 1
    passes: 1
    start: 1


class Outcome(data.Struct):
    """The effect of an instruction, as far as the execute stage knows it. `index` gets `value` if `writes`;
    of a load or store it is the base."""

    writes: 1
    index: 5
    value: 32


class Execute(wiring.Component):
    """Members: `action`, `operands`, `premise`, `fault` describe the instruction; with `go` it runs
    in this slot, unless `cause` is not NONE. `sound`: it was fetched and is defined.

    The flags are those of all instructions that have run: for the one that runs next, `next` is
    what it does, `next_premise` what they mean to it.

    `outcome`, `transfer` and `memory` say what comes of it, valid only in that slot; while the
    description stands, all of `memory` but its `valid` does. A load or store whose offset is
    shifted (`Action.slow`) must have stood for a slot before `go`. `clear` resets the flags and
    forgets transfers: instructions come in program order, so it is known here which of them stand
    in the slots of another.

    `bus` is what the bus is to see: the address of a load or store that runs or, with `waiting`,
    has run, else `pc` (`AddressUnit`, also for `busy`).
    """

    go: In(1)
    clear: In(1)
    action: In(Action)
    operands: In(Operands)
    premise: In(Premise)
    next: In(Action)
    next_premise: Out(Premise)
    waiting: In(1)
    busy: In(1)
    pc: In(32)
    bus: Out(32)
    fault: In(TrapCause)
    sound: In(1)
    cause: Out(TrapCause)
    outcome: Out(Outcome)
    transfer: Out(Transfer)
    memory: Out(MemoryRequest)

    def __init__(self, limit: int):
        self._limit = limit
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        action, operands = self.action, self.operands
        m.submodules.alu = alu = Alu()
        m.submodules.address = address = AddressUnit(self._limit, alu)
        m.submodules.shifter = shifter = Shifter()
        m.submodules.counter = counter = BitCounter()
        m.submodules.flags = flags = Flags()
        holds = self.premise.passes
        in_slot = self._slots(m)
        result = Signal(32)
        m.d.comb += [
            alu.op.eq(action.op),
            alu.a.eq(operands.a),
            alu.b.eq(operands.b),
            alu.start.eq(self.premise.start),
            alu.carry_in.eq(flags.carry),
            alu.clear_carry.eq(action.clear_carry),
            shifter.a.eq(operands.a),
            shifter.amount.eq(operands.b),
            shifter.arithmetic.eq(action.arithmetic),
            counter.a.eq(operands.a),
            counter.function.eq(action.function),
            flags.cond.eq(self.next.cond),
            flags.clear.eq(self.clear),
            self.next_premise.holds.eq(flags.holds),
            self.next_premise.passes.eq(flags.holds | ~self.next.guarded),
            self.next_premise.start.eq(Alu.start_of(self.next.op, flags.carry)),
        ]
        with m.Switch(action.unit):
            with m.Case(Unit.SHIFT):
                m.d.comb += result.eq(shifter.result)
            with m.Case(Unit.COUNT):
                m.d.comb += result.eq(counter.result)
            with m.Case(Unit.SELECT):
                m.d.comb += result.eq(Mux(self.premise.holds, operands.a, operands.b))
            with m.Case(Unit.TEST):
                m.d.comb += result.eq(self.premise.holds)
            with m.Default():
                m.d.comb += result.eq(alu.result)
        runs = self._results(m, holds, in_slot, result)
        self._flags(m, flags, alu, shifter, runs, holds, result)
        m.d.sync += address.shifted.eq(shifter.result)
        self._memory(m, in_slot, address)
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
        """Return a bit: this instruction stands in a delay slot."""
        left = Signal(2)
        with m.If(self.go):
            m.d.sync += left.eq(left - left.any())
        with m.If(self.transfer.valid):
            m.d.sync += left.eq(self.transfer.slots)
        with m.If(self.clear):
            m.d.sync += left.eq(0)
        return left.any()

    def _results(self, m, holds, in_slot, result):
        """Returns whether the instruction runs."""
        action = self.action
        branches, runs = Signal(), Signal()
        m.d.comb += [
            branches.eq(~action.memory & holds & (action.rd == Reg.PC)),
            runs.eq(self.go & self.sound & ~(branches & in_slot)),
        ]
        with m.If(self.fault != TrapCause.NONE):
            m.d.comb += self.cause.eq(self.fault)
        with m.Elif(action.undefined):
            m.d.comb += self.cause.eq(TrapCause.UNDEFINED)
        with m.Elif((branches | self._loads_pc()) & in_slot):
            m.d.comb += self.cause.eq(TrapCause.TRANSFER_IN_SLOT)
        m.d.comb += [
            self.transfer.valid.eq(self.go & self.sound & ~in_slot & (branches | self._loads_pc())),
            self.transfer.late.eq(action.memory),
            self.transfer.target.eq(result),
            self.outcome.index.eq(Mux(action.memory, action.base, action.rd)),
            self.outcome.writes.eq(
                self.go
                & self.sound
                & Mux(
                    action.memory,
                    action.update & is_data(action.base) & ~(self._loads_pc() & in_slot),
                    holds & is_data(action.rd),
                )
            ),
            self.outcome.value.eq(result),
        ]
        return runs

    def _loads_pc(self):
        action = self.action
        return action.memory & ~action.store & (action.rd == Reg.PC)

    def _memory(self, m, in_slot, address):
        action, memory = self.action, self.memory
        m.d.comb += [
            address.pre.eq(action.pre),
            address.shifts.eq(action.unit == Unit.SHIFT),
            address.base.eq(self.operands.a),
            address.valid.eq(memory.valid | self.waiting),
            address.busy.eq(self.busy),
            address.pc.eq(self.pc),
            self.bus.eq(address.bus),
            memory.valid.eq(self.go & self.sound & action.memory & ~(self._loads_pc() & in_slot)),
            memory.store.eq(action.store),
            memory.size.eq(action.size),
            memory.signed.eq(action.signed),
            memory.addr.eq(address.addr),
            memory.window.eq(address.window),
            memory.sram.eq(address.sram),
            memory.data.eq(self.operands.d),
            memory.rd.eq(action.rd),
            memory.to_pc.eq(self._loads_pc()),
        ]
