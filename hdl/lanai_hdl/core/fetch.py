"""The choice of the next instruction: the fetch address, transfers and their delay slots."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..isa import TrapCause
from ..machine import REGISTERS_LOCAL, RESET_PC
from .address import WINDOW_BIT


class Fetched(data.Struct):
    """An instruction before its word arrives. `fault`, if not NONE, stands for a
    word that cannot be fetched."""

    valid: 1
    pc: 32
    fault: TrapCause


class Transfer(data.Struct):
    """A transfer leaves the execute stage: `slots` more instructions, then `target` (unless `late`:
    it is still to be loaded)."""

    valid: 1
    late: 1
    target: 32

    @property
    def slots(self):
        """Delay slots."""
        return Mux(self.late, 2, 1)


class Fetch(wiring.Component):
    """Asks for one instruction at a time, never in two slots in a row, and counts delay slots.

    Members: `open` lets it ask; `request` with `addr`, held until `grant`; `o`, from registers:
    in the slot after the grant, the instruction whose word now stands on the bus. Its fields count only
    while `valid`. `transfer` from the execute stage comes when its first slot has been granted in the
    slot before or not at all yet; `loaded` with `target` brings what a late transfer waits for, in
    the slot after the last delay slot's grant at the latest. `restart` begins at RESET_PC. `idle`:
    it neither asks nor waits for a word.

    An address that is misaligned or outside the `limit` bytes of code is not asked for: it arrives
    as a fault.
    """

    def __init__(self, limit: int):
        self._limit = limit
        super().__init__(
            {
                "open": In(1),
                "restart": In(1),
                "request": Out(1),
                "addr": Out(32),
                "grant": In(1),
                "o": Out(Fetched),
                "transfer": In(Transfer),
                "loaded": In(1),
                "target": In(32),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        pc = Signal(32, init=RESET_PC)
        fault = Signal(TrapCause)
        # `AddressUnit` says which limits there are.
        beyond = pc[(self._limit - 1).bit_length() :].any() | (
            pc[WINDOW_BIT:20].all() if self._limit == REGISTERS_LOCAL else 0
        )
        with m.If(pc[:2].any()):
            m.d.comb += fault.eq(TrapCause.FETCH_MISALIGNED)
        with m.Elif(beyond):
            m.d.comb += fault.eq(TrapCause.FETCH_UNMAPPED)

        may, go = Signal(), Signal()
        left, before = Signal(2), Signal(2)  # instructions still to be fetched before the target
        turns = Signal()  # the target comes after the one just granted
        target = Signal(32)
        m.d.comb += [
            may.eq(self.open & ~self.o.valid),
            self.request.eq(may & (fault == TrapCause.NONE)),
            self.addr.eq(pc),
            self.o.pc.eq(pc),
            go.eq(may & ((fault != TrapCause.NONE) | self.grant)),
            before.eq(Mux(self.transfer.valid, self.transfer.slots - self.o.valid, left)),
            self.idle.eq(~may & ~self.o.valid),
        ]
        m.d.sync += [
            self.o.valid.eq(go),
            left.eq(before - (go & (before != 0))),
        ]
        with m.If(self.transfer.valid & ~self.transfer.late):
            m.d.sync += target.eq(self.transfer.target)
        with m.Elif(self.loaded):
            m.d.sync += target.eq(self.target)
        with m.If(go):
            m.d.sync += [self.o.fault.eq(fault), turns.eq(before == 1)]
        # The slot after a grant asks for nothing, so it is early enough to move on.
        with m.If(self.o.valid):
            m.d.sync += pc.eq(Mux(turns, Mux(self.loaded, self.target, target), pc + 4))
            with m.If(self.transfer.valid & ~self.transfer.late):
                m.d.sync += pc.eq(self.transfer.target)
        with m.If(self.restart):
            m.d.sync += [pc.eq(RESET_PC), left.eq(0), self.o.valid.eq(0)]
        return m
