"""The memory stage: one load or store, on the LBUS or on the on-chip registers."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..isa import TrapCause
from ..lbus import LbusMaster
from ..machine import REGISTERS_LOCAL, REGISTERS_SIZE
from ..registers import RegisterPort
from .decode import Size


class MemoryRequest(data.Struct):
    """What the execute stage hands over. `rd` is a load's destination (0: none), `to_pc` a load that is a transfer."""

    valid: 1
    store: 1
    size: Size
    signed: 1
    addr: 32
    data: 32
    rd: 5
    to_pc: 1


class Access(wiring.Component):
    """Performs `request`; combinational checks, then the LBUS (until granted) or the register port (at once).

    Members: `request`, held by the owner until `done`; `cause`, not NONE if it must not be performed; `lbus` (the owner joins it with the
    fetch's) and `regs`; `wants` the bus even if in vain, known earlier. A load's `value`, extended, stands in the slot after `done`, with `loaded`.
    """

    def __init__(self, limit: int):
        self._limit = limit
        super().__init__(
            {
                "request": In(MemoryRequest),
                "lbus": Out(LbusMaster()),
                "regs": Out(RegisterPort()),
                "wants": Out(1),
                "cause": Out(TrapCause),
                "done": Out(1),
                "loaded": Out(1),
                "value": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        request, addr = self.request, self.request.addr
        window = Signal()
        sound = Signal()
        m.d.comb += [
            window.eq(addr[REGISTERS_SIZE.bit_length() - 1 :] == REGISTERS_LOCAL // REGISTERS_SIZE),
            self.wants.eq(request.valid & ~window),
            sound.eq(request.valid & (self.cause == TrapCause.NONE)),
            self.lbus.request.eq(sound & ~window),
            self.lbus.write.eq(request.store),
            self.lbus.addr.eq(Cat(addr[:2] & 0, addr[2:])),
            self.regs.addr.eq(addr),
            self.regs.read.eq(sound & window & ~request.store),
            self.regs.write.eq(sound & window & request.store),
            self.regs.wdata.eq(request.data),
            self.done.eq(sound & (window | self.lbus.grant)),
        ]
        self._check(m, window)
        self._lanes(m)
        self._answer(m, window)
        return m

    def _check(self, m, window):
        request, addr = self.request, self.request.addr
        misaligned = ((request.size == Size.HALF) & addr[0]) | ((request.size == Size.WORD) & addr[:2].any())
        with m.If(misaligned):
            m.d.comb += self.cause.eq(TrapCause.MISALIGNED)
        with m.Elif(window):
            with m.If(request.size != Size.WORD):
                m.d.comb += self.cause.eq(TrapCause.REGISTER_SIZE)
        with m.Elif(addr >= self._limit):
            m.d.comb += self.cause.eq(TrapCause.UNMAPPED)

    def _lanes(self, m):
        """Byte enables; bit 3 is the byte at the lowest address. The datum stands on all lanes that might take it."""
        request, addr = self.request, self.request.addr
        with m.Switch(request.size):
            with m.Case(Size.BYTE):
                m.d.comb += [self.lbus.be.eq(0b1000 >> addr[:2]), self.lbus.wdata.eq(request.data[:8].replicate(4))]
            with m.Case(Size.HALF):
                m.d.comb += [
                    self.lbus.be.eq(Mux(addr[1], 0b0011, 0b1100)),
                    self.lbus.wdata.eq(request.data[:16].replicate(2)),
                ]
            with m.Default():
                m.d.comb += [self.lbus.be.eq(0b1111), self.lbus.wdata.eq(request.data)]

    def _answer(self, m, window):
        """The slot after: pick, align, extend."""
        request = self.request
        size, signed, low, from_window = Signal(Size), Signal(), Signal(2), Signal()
        m.d.sync += [
            self.loaded.eq(self.done & ~request.store),
            size.eq(request.size),
            signed.eq(request.signed),
            low.eq(request.addr[:2]),
            from_window.eq(window),
        ]
        word, half, byte = Signal(32), Signal(16), Signal(8)
        m.d.comb += [
            word.eq(Mux(from_window, self.regs.rdata, self.lbus.rdata)),
            half.eq(Mux(low[1], word[:16], word[16:])),
            byte.eq(Mux(low[0], half[:8], half[8:])),
            self.value.eq(word),
        ]
        with m.If(size == Size.HALF):
            m.d.comb += self.value.eq(Cat(half, (signed & half[15]).replicate(16)))
        with m.If(size == Size.BYTE):
            m.d.comb += self.value.eq(Cat(byte, (signed & byte[7]).replicate(24)))
        return m
