"""The processor: stages, wired."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from ..isa import Reg, TrapCause
from ..machine import REGISTERS_LOCAL
from ..processor import Processor
from .access import Access
from .alu import Alu
from .decode import Action, Decoder
from .execute import Execute, Operands, Outcome, Premise
from .fetch import Fetch
from .registers import RegisterFile, is_data
from .retire import Retired, RetireTracker


class Ready(data.Struct):
    """An instruction that has arrived."""

    valid: 1
    pc: 32
    word: 32
    fault: TrapCause


class Issued(data.Struct):
    """An instruction on its way to the execute stage."""

    valid: 1
    pc: 32
    word: 32
    fault: TrapCause
    sound: 1  # no fault, and defined
    action: Action
    operands: Operands
    premise: Premise


class Core(Processor):
    """A Lanai without cache, two LBUS slots a cycle (NP-57).

    An instruction passes five stages. **F**: the fetch has the bus. **D**, the slot after: the word
    arrives. **X**: it is decoded, registers are read, and it is issued; operands are complete, the
    last one loaded comes straight from the bus. **E**, the slot after: it executes; a transfer
    reaches the fetch, results stand for the next instruction's X. **M**, loads and stores only: the
    data access has the bus, or the on-chip register port, which costs no bus slot; its first slot
    is E.

    When each happens, in slots; i+1 is the instruction fetched after i:

    * F(i+1) is granted at F(i) + 2 or later, at X(i) or later, never in a slot in which M wants the
      bus.
    * D = F + 1. X(i) is the first slot from D(i) + 1 on in which no M is under way and `wait` is
      low.
    * M requests the bus from X + 1 on, until granted; on the register port it takes X + 1. If the
      offset is shifted, E takes two slots, and M begins one slot later. X(i+1) comes after M(i).

    So X(i+1) is at X(i) + 2 or later, and only a data address is used in the slot in which it is
    computed.

    With the bus free a fetch and a data access alternate: one instruction in two slots. With one
    parity taken a plain instruction still takes two slots and a load or store four; with both taken
    nothing moves (NP-58).

    Parameters
    ----------
    sram_size : code and data lie below it, and below the register window; elsewhere accesses trap

    Members
    -------
    lbus, regs, odd, run, wait, idle, trap : `ProcessorPort`. A transfer's target may come from
        anywhere but runs only from SRAM. `trap` stays until `run` falls: nothing runs meanwhile.
        The instruction named has had no effect.
    retire : `Retired`; free when not connected
    """

    traps_outside_sram = True

    def __init__(self, sram_size: int = REGISTERS_LOCAL):
        self.limit = min(sram_size, REGISTERS_LOCAL)
        super().__init__({"retire": Out(Retired)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.fetch = self.fetch = Fetch(self.limit)
        m.submodules.decoder = self.decoder = Decoder()
        m.submodules.registers = self.registers = RegisterFile()
        m.submodules.execute = self.execute = Execute(self.limit)
        m.submodules.access = self.access = Access()
        m.submodules.tracker = self.tracker = RetireTracker()
        self.ready, self.issued = Signal(Ready), Signal(Issued)
        self.go, self.waiting = Signal(), Signal()  # waiting: M is under way, E is over
        self.again, self.executes = Signal(), Signal()  # again: the second slot of a slow E
        # What the instruction before wrote: as result or base, and as a load once that has arrived.
        self.moved, self.loaded = Signal(Outcome), Signal(Outcome)
        self.results, self.arrived, self.arrived_to_pc = Signal(), Signal(), Signal()  # in the slot before
        self.loaded_rd, self.loaded_to_pc = Signal(5), Signal()
        self._bus(m)
        self._arrive(m)
        self._issue(m)
        self._execute(m)
        self._trap(m)
        self._retire(m)
        with m.If(~self.run):
            m.d.sync += [
                self.ready.valid.eq(0),
                self.issued.valid.eq(0),
                self.waiting.eq(0),
                self.again.eq(0),
                self.results.eq(0),
                self.arrived.eq(0),
                self.arrived_to_pc.eq(0),
                self.moved.writes.eq(0),
                self.loaded.writes.eq(0),
                self.trap.valid.eq(0),
            ]
        return m

    def _bus(self, m):
        """The data access goes before the fetch: it belongs to an older instruction."""
        fetch, access, ready = self.fetch, self.access, self.ready
        wiring.connect(m, access.regs, wiring.flipped(self.regs))
        m.d.comb += [
            fetch.restart.eq(~self.run),
            fetch.open.eq(self.run & ~self.trap.valid & ~access.wants & (~ready.valid | self.go)),
            self.lbus.request.eq(access.lbus.request | fetch.request),
            access.lbus.grant.eq(self.lbus.grant & access.lbus.request),
            fetch.grant.eq(self.lbus.grant & ~access.wants),
            access.lbus.rdata.eq(self.lbus.rdata),
            self.execute.pc.eq(fetch.addr),
            self.execute.waiting.eq(self.waiting),
            # With a word arriving there is no fetch, whatever the access turns out to be.
            self.execute.busy.eq(fetch.o.valid),
            self.lbus.addr.eq(Cat(Const(0, 2), self.execute.bus[2:])),
            self.lbus.wdata.eq(access.lbus.wdata),
            self.lbus.be.eq(0b1111),
        ]
        with m.If(access.wants):
            m.d.comb += [
                self.lbus.write.eq(access.lbus.write),
                self.lbus.be.eq(access.lbus.be),
            ]

    def _arrive(self, m):
        """The word is timing-critical, so it goes to a register and nowhere else."""
        fetch, ready = self.fetch, self.ready
        with m.If(self.go):
            m.d.sync += ready.valid.eq(0)
        with m.If(fetch.o.valid):
            m.d.sync += [
                ready.valid.eq(1),
                ready.pc.eq(fetch.o.pc),
                ready.word.eq(self.lbus.rdata),
                ready.fault.eq(fetch.o.fault),
            ]

    def _issue(self, m):
        """Issue an instruction. The result of the one before may not be in the register file yet, and then
        replaces what that gives."""
        ready, issued, decoder, loaded, read = self.ready, self.issued, self.decoder, self.loaded, self.registers
        m.d.comb += [
            read.rs1.eq(decoder.rs1),
            read.rs2.eq(decoder.rs2),
            read.rd.eq(decoder.rs3),
            self.go.eq(ready.valid & self.run & ~self.wait & ~self.waiting & ~self.again & ~self.trap.valid),
            decoder.word.eq(ready.word),
            self.execute.next.eq(decoder.action),
        ]
        m.d.sync += issued.valid.eq(self.go)
        with m.If(self.go):
            m.d.sync += [
                issued.pc.eq(ready.pc),
                issued.word.eq(ready.word),
                issued.fault.eq(ready.fault),
                issued.sound.eq((ready.fault == TrapCause.NONE) & ~decoder.action.undefined),
                issued.action.eq(decoder.action),
                issued.premise.eq(self.execute.next_premise),
                issued.operands.a.eq(self._operand(m, read.a, decoder.rs1, decoder.zero, 0, Const(0))),
                issued.operands.b.eq(
                    self._operand(
                        m,
                        read.b,
                        decoder.rs2,
                        decoder.use_immediate,
                        decoder.immediate,
                        Alu.complements(decoder.action.op),
                    )
                ),
                issued.operands.d.eq(self._operand(m, read.d, decoder.rs3, 0, 0, Const(0))),
                loaded.writes.eq(0),
            ]
        with m.Elif(self.access.loaded):
            m.d.sync += loaded.writes.eq(is_data(self.loaded_rd))
        with m.If(self.access.loaded):
            m.d.sync += loaded.value.eq(self.access.value)

    def _operand(self, m, read, index, replaced, constant, complemented):
        """The operand `read` from register `index`, or what was written there since, or `constant`
        if `replaced`; complemented if `complemented`.

        A load whose base is its destination leaves the loaded value. The value on the bus is
        timing-critical, so it passes one multiplexer only.
        """
        moved, loaded, access = self.moved, self.loaded, self.access
        is_loaded, arrives = ~replaced & (index == self.loaded_rd) & is_data(self.loaded_rd), Signal()
        m.d.comb += arrives.eq(access.loaded & is_loaded)
        early = Mux(index == Reg.PC, self.ready.pc, read)
        early = Mux(moved.writes & (index == moved.index), moved.value, early)
        early = Mux(loaded.writes & is_loaded, loaded.value, early)
        early = (Mux(replaced, constant, early) & (~arrives).replicate(32)) ^ complemented.replicate(32)
        # What was read from a register comes late too.
        return access.arrival.choose(arrives, early ^ (access.arrival.early & arrives.replicate(32)))

    def _execute(self, m):
        """E and M. Results go to the register file in the slot after E, what was loaded in the
        second after its access."""
        access, execute, issued, registers = self.access, self.execute, self.issued, self.registers
        m.d.comb += [
            self.executes.eq((issued.valid & ~issued.action.slow) | self.again),
            execute.go.eq(self.executes),
            execute.clear.eq(~self.run),
            execute.action.eq(issued.action),
            execute.operands.eq(issued.operands),
            execute.premise.eq(issued.premise),
            execute.fault.eq(issued.fault),
            execute.sound.eq(issued.sound),
            access.request.eq(execute.memory),
            access.request.valid.eq(execute.memory.valid | self.waiting),
            self.fetch.transfer.eq(execute.transfer),
            self.fetch.loaded.eq(self.arrived_to_pc),
            self.fetch.target.eq(self.loaded.value),
        ]
        m.d.sync += [
            self.again.eq(issued.valid & issued.action.slow),
            self.waiting.eq(access.request.valid & ~access.done & ~self._refused()),
        ]
        with m.If(access.done):
            m.d.sync += [self.loaded_rd.eq(access.request.rd), self.loaded_to_pc.eq(access.request.to_pc)]
        with m.If(self.executes):
            m.d.sync += self.moved.eq(execute.outcome)
        m.d.sync += [
            self.arrived.eq(access.loaded),
            self.arrived_to_pc.eq(access.loaded & self.loaded_to_pc),
            self.results.eq(self.executes & execute.outcome.writes),
        ]
        m.d.comb += registers.write.index.eq(self.moved.index)
        with m.If(self.arrived):
            m.d.comb += [
                registers.write.enable.eq(is_data(self.loaded_rd)),
                registers.write.index.eq(self.loaded_rd),
                registers.write.value.eq(self.loaded.value),
            ]
        with m.Else():
            m.d.comb += [
                # The base of a load or store that traps stays as it was.
                registers.write.enable.eq(self.results & ~self.trap.valid),
                registers.write.value.eq(self.moved.value),
            ]

    def _refused(self):
        return self.access.request.valid & (self.access.cause != TrapCause.NONE)

    def _trap(self, m):
        with m.If(self._refused()):
            m.d.sync += [self.trap.valid.eq(1), self.trap.cause.eq(self.access.cause), self.trap.pc.eq(self.issued.pc)]
        with m.Elif(self.executes & (self.execute.cause != TrapCause.NONE)):
            m.d.sync += [self.trap.valid.eq(1), self.trap.cause.eq(self.execute.cause), self.trap.pc.eq(self.issued.pc)]
        settled = (
            ~self.results
            & ~self.arrived
            & ~self.waiting
            & ~self.again
            & ~self.issued.valid
            & ~self.access.loaded
            & ~self.go
            & ~self.tracker.retires
        )
        m.d.comb += self.idle.eq(
            settled & self.fetch.idle & (self.trap.valid | ~self.run | (self.ready.valid & self.wait))
        )

    def _retire(self, m):
        tracker, execute, issued = self.tracker, self.execute, self.issued
        m.d.comb += [
            tracker.go.eq(self.executes & (execute.cause == TrapCause.NONE)),
            tracker.pc.eq(issued.pc),
            tracker.word.eq(issued.word),
            tracker.outcome.eq(execute.outcome),
            tracker.transfer.eq(execute.transfer),
            tracker.memory.eq(execute.memory),
            tracker.done.eq(self.access.done),
            tracker.value.eq(self.access.value),
            self.retire.eq(tracker.o),
        ]
