"""The memory stage: one load or store, on the LBUS or on the on-chip registers."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..isa import TrapCause
from ..lbus import LbusMaster
from ..registers import RegisterPort
from .decode import Size


class MemoryRequest(data.Struct):
    """What the execute stage hands over. `rd` is a load's destination (0: none), `to_pc` a load that is a transfer. `window` and `sram` tell
    where `addr` lies (`AddressUnit`)."""

    valid: 1
    store: 1
    size: Size
    signed: 1
    addr: 32
    window: 1
    sram: 1
    data: 32
    rd: 5
    to_pc: 1


class Access(wiring.Component):
    """Performs `request`; combinational checks, then the LBUS (until granted) or the register port (at once).

    Members: `request`, held by the owner until `done`; `cause`, not NONE if it must not be performed; `lbus` (the owner joins it with the
    fetch's) and `regs`; `wants` the bus even if in vain, known earlier. A load's `value`, extended, stands in the slot after `done`, with `loaded`.
    """

    request: In(MemoryRequest)
    lbus: Out(LbusMaster())
    regs: Out(RegisterPort())
    wants: Out(1)
    cause: Out(TrapCause)
    done: Out(1)
    loaded: Out(1)
    value: Out(32)

    def elaborate(self, platform):
        m = Module()
        request, addr = self.request, self.request.addr
        window = request.window
        # What is late is used once: where the address lies.
        bus, register = Signal(), Signal()
        m.d.comb += [
            bus.eq(request.valid & ~self._misaligned()),
            register.eq(bus & (request.size == Size.WORD)),
            self.wants.eq(request.valid & ~window),
            self.lbus.request.eq(bus & request.sram),
            self.lbus.write.eq(request.store),
            self.lbus.addr.eq(Cat(addr[:2] & 0, addr[2:])),
            self.regs.addr.eq(addr),
            self.regs.read.eq(register & ~request.store & window),
            self.regs.write.eq(register & request.store & window),
            self.regs.wdata.eq(request.data),
            self.done.eq((register & window) | (self.lbus.request & self.lbus.grant)),
        ]
        self._check(m)
        self._lanes(m)
        self._answer(m)
        return m

    def _check(self, m):
        request = self.request
        with m.If(self._misaligned()):
            m.d.comb += self.cause.eq(TrapCause.MISALIGNED)
        with m.Elif(request.window):
            with m.If(request.size != Size.WORD):
                m.d.comb += self.cause.eq(TrapCause.REGISTER_SIZE)
        with m.Elif(~request.sram):
            m.d.comb += self.cause.eq(TrapCause.UNMAPPED)

    def _misaligned(self):
        request, addr = self.request, self.request.addr
        return ((request.size == Size.HALF) & addr[0]) | ((request.size == Size.WORD) & addr[:2].any())

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

    def _answer(self, m):
        """The slot after: pick, align, extend. The word comes late in its slot, so everything is chosen before it."""
        request = self.request
        low = request.addr[:2]
        word, half, byte = (request.size == size for size in (Size.WORD, Size.HALF, Size.BYTE))
        # Of the word's bytes, bit 3 the first: which one goes to the lowest byte of the value, which to the one above, whose sign is spread.
        first = Mux(word, 0b0001, Mux(half, Mux(low[1], 0b0001, 0b0100), Const(0b1000, 4) >> low))
        second = Mux(word, 0b0010, Mux(half, Mux(low[1], 0b0010, 0b1000), 0))
        signs = Mux(request.signed, Mux(half, second, Mux(byte, first, 0)), 0)
        on_bus = (~request.window).replicate(4)
        pick_first, pick_second, pick_sign, whole, from_window = Signal(4), Signal(4), Signal(4), Signal(), Signal()
        fill_second = Signal()
        m.d.sync += [
            self.loaded.eq(self.done & ~request.store),
            pick_first.eq(first & on_bus),
            pick_second.eq(second & on_bus),
            pick_sign.eq(signs & on_bus),
            fill_second.eq(byte),
            whole.eq(word & ~request.window),
            from_window.eq(request.window),
        ]
        lanes = [self.lbus.rdata.word_select(i, 8) for i in range(4)]
        fill = Signal()
        m.d.comb += [
            fill.eq(any_of(pick_sign[i] & lanes[i][7] for i in range(4))),
            self.value.eq(
                Cat(
                    any_of(pick_first[i].replicate(8) & lanes[i] for i in range(4)),
                    any_of(pick_second[i].replicate(8) & lanes[i] for i in range(4))
                    | (fill & fill_second).replicate(8),
                    (whole.replicate(16) & self.lbus.rdata[16:]) | fill.replicate(16),
                )
                | (from_window.replicate(32) & self.regs.rdata)
            ),
        ]


def any_of(terms):
    """Their bitwise or."""
    terms = list(terms)
    result = terms[0]
    for term in terms[1:]:
        result = result | term
    return result
