"""The processor: stages, wired."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from ..isa import TrapCause
from ..machine import REGISTERS_LOCAL
from ..processor import ProcessorPort
from .access import Access
from .decode import Action, Decoder
from .execute import Execute, Operands, Outcome
from .fetch import Fetch
from .registers import RegisterFile, is_data
from .retire import Retired, RetireTracker


class Issued(data.Struct):
    """An instruction on its way to the execute stage."""

    valid: 1
    pc: 32
    word: 32
    fault: TrapCause
    action: Action
    operands: Operands
    rs1: 5  # where operands come from, to see whether somebody changes it meanwhile; 0 for a constant
    rs2: 5
    rs3: 5


class Core(wiring.Component):
    """A Lanai without cache, two LBUS slots a cycle (NP-57).

    An instruction passes five stages. **F**: the fetch has the bus. **D**, the slot after: the word arrives, registers are read. **X**: it is
    issued; operands are complete, the last one loaded comes straight from the bus. **E**, the slot after: it executes; a transfer reaches
    the fetch, results stand for the next instruction's X. **M**, loads and stores only: the data access has the bus, or the on-chip
    register port, which costs no bus slot; its first slot is E.

    When each happens, in slots; i+1 is the instruction fetched after i:

    * F(i+1) is granted at F(i) + 2 or later, at X(i) or later, never in a slot in which M wants the bus.
    * D = F + 1. X(i) is the first slot from D(i) + 1 on in which no M is under way and `wait` is low.
    * M wants the bus from X + 1 on, until granted; on the register port it takes X + 1. X(i+1) comes after M(i).

    So X(i+1) is at X(i) + 2 or later, and only a data address is wanted in the very slot in which it is computed.

    With the bus free a fetch and a data access alternate: one instruction in two slots. With one parity taken a plain instruction still takes
    two slots and a load or store four; with both taken nothing moves (NP-58).

    Parameters
    ----------
    sram_size : code and data lie below it, and below the register window; elsewhere accesses trap

    Members
    -------
    lbus, regs, odd, run, wait, idle, trap : `ProcessorPort`. A transfer's target may come from anywhere but runs only from SRAM. `trap`
        stays until `run` falls: nothing runs meanwhile. The instruction named has had no effect.
    retire : `Retired`; free when not connected
    """

    def __init__(self, sram_size: int = REGISTERS_LOCAL):
        self.limit = min(sram_size, REGISTERS_LOCAL)
        super().__init__({**ProcessorPort().members, "retire": Out(Retired)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.fetch = self.fetch = Fetch(self.limit)
        m.submodules.decoder = self.decoder = Decoder()
        m.submodules.registers = self.registers = RegisterFile()
        m.submodules.execute = self.execute = Execute()
        m.submodules.access = self.access = Access(self.limit)
        m.submodules.tracker = self.tracker = RetireTracker()
        self.ready, self.issued = Signal(Issued), Signal(Issued)
        self.go, self.waiting = Signal(), Signal()  # waiting: M is under way, E is over
        # What the instruction before wrote: as result or base, and as a load once that has arrived.
        self.moved, self.loaded = Signal(Outcome), Signal(Outcome)
        self.loaded_rd, self.loaded_to_pc = Signal(5), Signal()
        self._bus(m)
        self._decode(m)
        self._issue(m)
        self._execute(m)
        self._trap(m)
        self._retire(m)
        with m.If(~self.run):
            m.d.sync += [
                self.ready.valid.eq(0),
                self.issued.valid.eq(0),
                self.waiting.eq(0),
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
            self.lbus.addr.eq(fetch.addr),
            self.lbus.wdata.eq(access.lbus.wdata),
            self.lbus.be.eq(0b1111),
        ]
        with m.If(access.wants):
            m.d.comb += [
                self.lbus.write.eq(access.lbus.write),
                self.lbus.addr.eq(access.lbus.addr),
                self.lbus.be.eq(access.lbus.be),
            ]

    def _decode(self, m):
        fetch, decoder, registers, ready = self.fetch, self.decoder, self.registers, self.ready
        m.d.comb += [
            decoder.word.eq(self.lbus.rdata),
            registers.pc.eq(fetch.o.pc),
            registers.rs1.eq(decoder.rs1),
            registers.rs2.eq(decoder.rs2),
            registers.rd.eq(decoder.rs3),
        ]
        with m.If(self.go):
            m.d.sync += ready.valid.eq(0)
        with m.If(fetch.o.valid):
            m.d.sync += [
                ready.valid.eq(1),
                ready.pc.eq(fetch.o.pc),
                ready.word.eq(decoder.word),
                ready.fault.eq(fetch.o.fault),
                ready.action.eq(decoder.action),
                ready.operands.a.eq(registers.a),
                ready.operands.b.eq(registers.b),
                ready.operands.d.eq(registers.d),
                ready.rs1.eq(decoder.rs1),
                ready.rs2.eq(decoder.rs2),
                ready.rs3.eq(decoder.rs3),
            ]
            with m.If(decoder.zero):
                m.d.sync += [ready.operands.a.eq(0), ready.rs1.eq(0)]
            with m.If(decoder.use_immediate):
                m.d.sync += [ready.operands.b.eq(decoder.immediate), ready.rs2.eq(0)]

    def _issue(self, m):
        """What the instruction before wrote replaces what was read from the register file, which may have been too early."""
        ready, issued, moved, loaded = self.ready, self.issued, self.moved, self.loaded
        m.d.comb += self.go.eq(ready.valid & self.run & ~self.wait & ~self.waiting & ~self.trap.valid)
        m.d.sync += issued.valid.eq(self.go)
        with m.If(self.go):
            m.d.sync += [issued.eq(ready), loaded.writes.eq(0)]
        with m.Elif(self.access.loaded):
            m.d.sync += [loaded.writes.eq(is_data(self.loaded_rd)), loaded.value.eq(self.access.value)]
        fresh = loaded.writes | (self.access.loaded & is_data(self.loaded_rd))
        value = Mux(loaded.writes, loaded.value, self.access.value)
        for index, name in ((ready.rs1, "a"), (ready.rs2, "b"), (ready.rs3, "d")):
            operand = getattr(issued.operands, name)
            with m.If(self.go & moved.writes & (index == moved.index)):
                m.d.sync += operand.eq(moved.value)
            # A load whose base is its destination leaves the loaded value.
            with m.If(self.go & fresh & (index == self.loaded_rd)):
                m.d.sync += operand.eq(value)

    def _execute(self, m):
        """E and M. Results go to the register file at once, a load's in the slot after its access."""
        access, execute, issued, registers = self.access, self.execute, self.issued, self.registers
        m.d.comb += [
            execute.go.eq(issued.valid),
            execute.clear.eq(~self.run),
            execute.action.eq(issued.action),
            execute.operands.eq(issued.operands),
            execute.fault.eq(issued.fault),
            access.request.eq(execute.memory),
            access.request.valid.eq(execute.memory.valid | self.waiting),
            self.fetch.transfer.eq(execute.transfer),
            self.fetch.loaded.eq(access.loaded & self.loaded_to_pc),
            self.fetch.target.eq(access.value),
        ]
        m.d.sync += self.waiting.eq(access.request.valid & ~access.done & ~self._refused())
        with m.If(access.done):
            m.d.sync += [self.loaded_rd.eq(access.request.rd), self.loaded_to_pc.eq(access.request.to_pc)]
        with m.If(issued.valid):
            m.d.sync += self.moved.eq(execute.outcome)
        with m.If(access.loaded):
            m.d.comb += [
                registers.write.enable.eq(is_data(self.loaded_rd)),
                registers.write.index.eq(self.loaded_rd),
                registers.write.value.eq(access.value),
            ]
        with m.Else():
            m.d.comb += [
                # The base of a load or store that traps stays as it was.
                registers.write.enable.eq(execute.outcome.writes & ~self._refused()),
                registers.write.index.eq(execute.outcome.index),
                registers.write.value.eq(execute.outcome.value),
            ]

    def _refused(self):
        return self.access.request.valid & (self.access.cause != TrapCause.NONE)

    def _trap(self, m):
        with m.If(self._refused()):
            m.d.sync += [self.trap.valid.eq(1), self.trap.cause.eq(self.access.cause), self.trap.pc.eq(self.issued.pc)]
        with m.Elif(self.issued.valid & (self.execute.cause != TrapCause.NONE)):
            m.d.sync += [self.trap.valid.eq(1), self.trap.cause.eq(self.execute.cause), self.trap.pc.eq(self.issued.pc)]
        settled = ~self.waiting & ~self.issued.valid & ~self.access.loaded & ~self.go & ~self.retire.valid
        m.d.comb += self.idle.eq(
            settled & self.fetch.still & (self.trap.valid | ~self.run | (self.ready.valid & self.wait))
        )

    def _retire(self, m):
        tracker, execute, issued = self.tracker, self.execute, self.issued
        m.d.comb += [
            tracker.go.eq(issued.valid & (execute.cause == TrapCause.NONE)),
            tracker.pc.eq(issued.pc),
            tracker.word.eq(issued.word),
            tracker.outcome.eq(execute.outcome),
            tracker.transfer.eq(execute.transfer),
            tracker.memory.eq(execute.memory),
            tracker.done.eq(self.access.done),
            tracker.value.eq(self.access.value),
            self.retire.eq(tracker.o),
        ]
