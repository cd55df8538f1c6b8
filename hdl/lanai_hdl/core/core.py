"""The processor: stages, wired."""

from amaranth import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from ..isa import TrapCause
from ..machine import REGISTERS_LOCAL
from ..processor import ProcessorPort
from .access import Access, MemoryRequest
from .decode import Action, Decoder
from .execute import Execute, Operands, Outcome
from .fetch import Fetch
from .registers import RegisterFile, is_data
from .retire import Retired, RetireTracker


class Ready(data.Struct):
    """An instruction before its execute slot."""

    valid: 1
    pc: 32
    word: 32
    in_slot: 1
    fault: TrapCause
    action: Action
    operands: Operands
    rs1: 5
    rs2: 5  # meaningless, and 0, for a constant


class Core(wiring.Component):
    """A Lanai without cache, two LBUS slots a cycle (NP-57).

    An instruction passes four stages. **F**: the fetch has the bus. **D**, the slot after: the word arrives, registers are read. **X**: it
    executes. **M**, loads and stores only: the data access has the bus, or the on-chip register port, which costs no bus slot.

    When each happens, in slots; i+1 is the instruction fetched after i:

    * F(i+1) is granted at F(i) + 2 or later, at X(i) or later, never in a slot in which M wants the bus.
    * D = F + 1. X(i) is the first slot from D(i) + 1 on in which no M is under way and `wait` is low.
    * M wants the bus from X + 1 on, until granted; on the register port it takes X + 1. X(i+1) comes after M(i).

    With the bus free a fetch and a data access alternate: one instruction in two slots. With one parity taken a plain instruction still takes
    two slots and a load or store four; with both taken nothing moves (NP-58).

    Parameters
    ----------
    sram_size : code and data lie below it, and below the register window; elsewhere accesses trap

    Members
    -------
    lbus, regs, odd, run, wait, idle, trap : `ProcessorPort`. A transfer's target may come from anywhere but runs only from SRAM. `trap`
        stays until `run` falls: nothing runs meanwhile. The instruction named has had no effect.
    retire : `Retired`, registered; free when not connected
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
        self.ready, self.request = Signal(Ready), Signal(MemoryRequest)
        self.request_pc, self.written = Signal(32), Signal(Outcome)
        self.loaded_rd, self.loaded_to_pc = Signal(5), Signal()
        self.go = Signal()
        self._bus(m)
        self._decode(m)
        self._issue(m)
        self._finish(m)
        self._trap(m)
        self._retire(m)
        with m.If(~self.run):
            m.d.sync += [
                self.ready.valid.eq(0),
                self.request.valid.eq(0),
                self.written.writes.eq(0),
                self.trap.valid.eq(0),
            ]
        return m

    def _bus(self, m):
        """The data access goes before the fetch: it belongs to an older instruction."""
        fetch, access, ready = self.fetch, self.access, self.ready
        wiring.connect(m, access.regs, wiring.flipped(self.regs))
        m.d.comb += [
            fetch.restart.eq(~self.run),
            fetch.open.eq(self.run & ~self.trap.valid & ~access.lbus.request & (~ready.valid | self.go)),
            self.lbus.request.eq(access.lbus.request | fetch.request),
            access.lbus.grant.eq(self.lbus.grant & access.lbus.request),
            fetch.grant.eq(self.lbus.grant & ~access.lbus.request),
            access.lbus.rdata.eq(self.lbus.rdata),
            self.lbus.addr.eq(fetch.addr),
            self.lbus.wdata.eq(access.lbus.wdata),
            self.lbus.be.eq(0b1111),
        ]
        with m.If(access.lbus.request):
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
            registers.rd.eq(decoder.action.rd),
        ]
        with m.If(self.go):
            m.d.sync += ready.valid.eq(0)
        with m.If(fetch.o.valid):
            m.d.sync += [
                ready.valid.eq(1),
                ready.pc.eq(fetch.o.pc),
                ready.word.eq(decoder.word),
                ready.in_slot.eq(fetch.o.in_slot),
                ready.fault.eq(fetch.o.fault),
                ready.action.eq(decoder.action),
                ready.operands.a.eq(registers.a),
                ready.operands.b.eq(registers.b),
                ready.operands.d.eq(registers.d),
                ready.rs1.eq(decoder.rs1),
                ready.rs2.eq(decoder.rs2),
            ]
            with m.If(decoder.use_immediate):
                m.d.sync += [ready.operands.b.eq(decoder.immediate), ready.rs2.eq(0)]

    def _issue(self, m):
        """Run what is ready; a value that has just been loaded replaces what was read from the register file."""
        ready, access, execute = self.ready, self.access, self.execute
        fresh = access.loaded & is_data(self.loaded_rd)
        for index, name in ((ready.rs1, "a"), (ready.rs2, "b"), (ready.action.rd, "d")):
            before, now = getattr(ready.operands, name), getattr(execute.operands, name)
            m.d.comb += now.eq(before)
            with m.If(fresh & (index == self.loaded_rd)):
                m.d.comb += now.eq(access.value)
                with m.If(~self.fetch.o.valid):
                    m.d.sync += before.eq(access.value)
        m.d.comb += [
            self.go.eq(ready.valid & self.run & ~self.wait & ~self.request.valid & ~self.trap.valid),
            execute.go.eq(self.go),
            execute.clear.eq(~self.run),
            execute.action.eq(ready.action),
            execute.in_slot.eq(ready.in_slot),
            execute.fault.eq(ready.fault),
            self.fetch.transfer.eq(execute.transfer),
        ]

    def _finish(self, m):
        """Results to the register file: the execute stage's in the slot after it, a load's in the slot after its access."""
        access, registers, execute = self.access, self.registers, self.execute
        m.d.comb += [
            access.request.eq(self.request),
            self.fetch.loaded.eq(access.loaded & self.loaded_to_pc),
            self.fetch.target.eq(access.value),
        ]
        with m.If(access.done):
            m.d.sync += [
                self.request.valid.eq(0),
                self.loaded_rd.eq(self.request.rd),
                self.loaded_to_pc.eq(self.request.to_pc),
            ]
        m.d.sync += self.written.writes.eq(execute.outcome.writes)
        with m.If(self.go):
            m.d.sync += [
                self.request.eq(execute.memory),
                self.request_pc.eq(self.ready.pc),
                self.written.eq(execute.outcome),
            ]
        with m.If(access.loaded):
            m.d.comb += [
                registers.write.enable.eq(is_data(self.loaded_rd)),
                registers.write.index.eq(self.loaded_rd),
                registers.write.value.eq(access.value),
            ]
        with m.Else():
            m.d.comb += [
                # The base of a load or store that traps stays as it was.
                registers.write.enable.eq(
                    self.written.writes & ~(self.request.valid & (access.cause != TrapCause.NONE))
                ),
                registers.write.index.eq(self.written.index),
                registers.write.value.eq(self.written.value),
            ]

    def _trap(self, m):
        refused = self.request.valid & (self.access.cause != TrapCause.NONE)
        with m.If(refused):
            m.d.sync += [
                self.trap.valid.eq(1),
                self.trap.cause.eq(self.access.cause),
                self.trap.pc.eq(self.request_pc),
                self.request.valid.eq(0),
            ]
        with m.Elif(self.go & (self.execute.cause != TrapCause.NONE)):
            m.d.sync += [self.trap.valid.eq(1), self.trap.cause.eq(self.execute.cause), self.trap.pc.eq(self.ready.pc)]
        settled = ~self.request.valid & ~self.written.writes & ~self.access.loaded & ~self.go & ~self.retire.valid
        m.d.comb += self.idle.eq(
            settled & self.fetch.still & (self.trap.valid | ~self.run | (self.ready.valid & self.wait))
        )

    def _retire(self, m):
        tracker, execute = self.tracker, self.execute
        m.d.comb += [
            tracker.go.eq(self.go & (execute.cause == TrapCause.NONE)),
            tracker.pc.eq(self.ready.pc),
            tracker.word.eq(self.ready.word),
            tracker.outcome.eq(execute.outcome),
            tracker.transfer.eq(execute.transfer),
            tracker.memory.eq(execute.memory),
            tracker.done.eq(self.access.done),
            tracker.value.eq(self.access.value),
            self.retire.eq(tracker.o),
        ]
