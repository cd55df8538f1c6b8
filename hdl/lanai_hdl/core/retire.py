"""The retire port: what each instruction did, in program order."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..isa import Reg
from .access import MemoryRequest
from .decode import Size
from .execute import Outcome
from .fetch import Transfer


class Retired(data.Struct):
    """One instruction that has run, in the slot with `valid`.

    `rd` got `result` if `rd_we` (a transfer writes pc), `base` got `moved` if `base_we`. `access`:
    it was a load, or with `store` a store, of `size` at `address`; `data` is what was stored.
    """

    valid: 1
    pc: 32
    word: 32
    rd_we: 1
    rd: 5
    result: 32
    base_we: 1
    base: 5
    moved: 32
    access: 1
    store: 1
    size: Size
    address: 32
    data: 32


class RetireTracker(wiring.Component):
    """Follows instructions through the last stages. Nothing else depends on `o`: unconnected, it
    vanishes in synthesis.

    `retires` is `o.valid`, for who wants no more. Simulators keep or drop `o` as a whole.

    Members: `go` with `pc`, `word`, `outcome`, `transfer` and `memory` of the execute stage; `done`
    of the memory stage, `value` in the slot after it. Anything but a load or store retires in the
    slot in which it executes, those in the slot after `done`.
    """

    go: In(1)
    pc: In(32)
    word: In(32)
    outcome: In(Outcome)
    transfer: In(Transfer)
    memory: In(MemoryRequest)
    done: In(1)
    value: In(32)
    retires: Out(1)
    o: Out(Retired)

    def elaborate(self, platform):
        m = Module()
        seen, held, is_held = Signal(Retired), Signal(Retired), Signal()
        self._note(m, seen)
        with m.If(self.go):
            m.d.sync += held.eq(seen)
        m.d.sync += is_held.eq(self.done)
        m.d.comb += self.retires.eq(is_held | self.go & ~self.memory.valid)
        with m.If(is_held):
            m.d.comb += self.o.eq(held)
            with m.If(~held.store):
                m.d.comb += self.o.result.eq(self.value)
        with m.Else():
            m.d.comb += self.o.eq(seen)
        m.d.comb += self.o.valid.eq(self.retires)
        return m

    def _note(self, m, held):
        memory, outcome, transfer = self.memory, self.outcome, self.transfer
        load = memory.valid & ~memory.store
        m.d.comb += [
            held.valid.eq(self.go),
            held.pc.eq(self.pc),
            held.word.eq(self.word),
            held.rd_we.eq(Mux(memory.valid, load & (memory.rd >= Reg.PC), outcome.writes | transfer.valid)),
            held.rd.eq(Mux(memory.valid, memory.rd, outcome.index)),
            held.result.eq(outcome.value),
            held.base_we.eq(memory.valid & outcome.writes & ~(load & (memory.rd == outcome.index))),
            held.base.eq(outcome.index),
            held.moved.eq(outcome.value),
            held.access.eq(memory.valid),
            held.store.eq(memory.store),
            held.size.eq(memory.size),
            held.address.eq(memory.addr),
            held.data.eq(memory.data),
        ]
        with m.If(memory.size == Size.BYTE):
            m.d.comb += held.data.eq(memory.data[:8])
        with m.If(memory.size == Size.HALF):
            m.d.comb += held.data.eq(memory.data[:16])
