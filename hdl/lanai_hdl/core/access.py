"""The memory stage: one load or store, on the LBUS or on the on-chip registers."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..control.register_file import RegisterPort
from ..isa import TrapCause
from ..lbus.lbus import LbusMaster
from .decode import Size


class MemoryRequest(data.Struct):
    """An access that the execute stage hands over. `rd` is a load's destination (0: none), `to_pc` a load
    that is a transfer. `window` and `sram` say where `addr` lies (`AddressUnit`)."""

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


class Arrival(data.Struct):
    """A loaded value: (`word` & `keep`) | (`sign` in the bits of `fill`) | `early`.

    Only `word` and `sign` are timing-critical: consumers may precompute with the rest.
    """

    word: 32
    sign: 1
    keep: 32
    fill: 32
    early: 32

    def choose(self, wanted, instead):
        """The value if it is `wanted`, and `instead` is then `early`; else `instead`. XOR-ing a mask
        into `instead` also applies it to the value."""
        late = (self.word & self.keep) | (self.sign.replicate(32) & self.fill)
        return (late & wanted.replicate(32)) ^ instead


class Access(wiring.Component):
    """Performs `request`; combinational checks, then the LBUS (until granted) or the register port
    (at once).

    Members: `request`, held by the owner until `done`; `cause`, not NONE if it must not be
    performed; `lbus` (the owner joins it with the fetch's) and `regs`; `wants` the bus even if in
    vain, known earlier. A load's `value`, extended, stands in the slot after `done`, with `loaded`,
    and so does its `arrival`.
    """

    request: In(MemoryRequest)
    lbus: Out(LbusMaster())
    regs: Out(RegisterPort())
    wants: Out(1)
    cause: Out(TrapCause)
    done: Out(1)
    loaded: Out(1)
    value: Out(32)
    arrival: Out(Arrival)

    def elaborate(self, platform):
        m = Module()
        request, addr = self.request, self.request.addr
        window = request.window
        # The timing-critical part, where the address lies, is used once.
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
        """Byte enables; bit 3 is the byte at the lowest address. The datum stands on all lanes that
        might take it."""
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
        """The next slot: pick, align, extend. The word is timing-critical, so all selects are
        computed before it."""
        request, word = self.request, self.lbus.rdata
        low, size = request.addr[:2], request.size
        on_bus, half_or_more, whole, from_window = Signal(), Signal(), Signal(), Signal()
        first, second, sign = (
            Signal(2),
            Signal(),
            Signal(2),
        )  # the word's bytes, 0 the lowest, which go to the lowest of the value, and above it
        fill_second, fill_upper = Signal(), Signal()
        byte_lane, half_lane = 3 - low, Mux(low[1], 1, 3)
        m.d.sync += [
            self.loaded.eq(self.done & ~request.store),
            on_bus.eq(~request.window),
            half_or_more.eq(~request.window & (size != Size.BYTE)),
            whole.eq(~request.window & (size == Size.WORD)),
            from_window.eq(request.window),
            first.eq(Mux(size == Size.WORD, 0, Mux(size == Size.HALF, half_lane - 1, byte_lane))),
            second.eq((size == Size.HALF) & ~low[1]),  # lane 3 rather than lane 1
            sign.eq(Mux(size == Size.HALF, half_lane, byte_lane)),
            fill_second.eq(~request.window & request.signed & (size == Size.BYTE)),
            fill_upper.eq(~request.window & request.signed & (size != Size.WORD)),
        ]
        arrival = self.arrival
        m.d.comb += [
            arrival.word.eq(Cat(word.word_select(first, 8), Mux(second, word[24:], word[8:16]), word[16:])),
            arrival.sign.eq(word.word_select(sign, 8)[7]),
            arrival.keep.eq(Cat(on_bus.replicate(8), half_or_more.replicate(8), whole.replicate(16))),
            arrival.fill.eq(Cat(Const(0, 8), fill_second.replicate(8), fill_upper.replicate(16))),
            arrival.early.eq(from_window.replicate(32) & self.regs.rdata),
            self.value.eq(arrival.choose(Const(1), arrival.early)),
        ]
