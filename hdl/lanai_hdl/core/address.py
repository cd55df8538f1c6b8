"""The address of a load or store, and what is known of it before its sum is complete."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..machine import REGISTERS_LOCAL, REGISTERS_SIZE
from .alu import Alu

WINDOW_BIT = REGISTERS_SIZE.bit_length() - 1


def sum_is(a, b, total, value, low):
    """Return a bit: bits `low` and up of `total`, the sum of `a` and `b` and perhaps a carry, are those
    of `value`.

    Only bit `low` is taken from the sum itself. If a sum's bit is as it should be, then the
    operands alone determine its carry. So each bit is held against the one below, without waiting for the
    carries to arrive.
    """
    bits = [total[low] == (value >> low & 1)]
    for i in range(low + 1, len(a)):
        carried = a[i - 1] & b[i - 1] if value >> (i - 1) & 1 else a[i - 1] | b[i - 1]
        bits.append(a[i] ^ b[i] ^ (value >> i & 1) == carried)
    return Cat(bits).all()


class AddressUnit(wiring.Component):
    """Combinational: the address is the longest way of the whole processor, from its operands to
    the memory in one slot (`Core`).

    Members: `pre` the address is the computed one, else `base`; computed is what `alu` gives, or
    with `shifts` the value `shifted`. `addr`; `window`: it lies in the register window; `sram`: it
    lies in the SRAM and not there.

    `bus`: the address for the bus. It is `addr` for a data access (`valid`) of memory, else `pc`. In the
    window with `valid` and `busy` it may be either.

    """

    pre: In(1)
    shifts: In(1)
    base: In(32)
    shifted: In(32)
    valid: In(1)
    busy: In(1)
    pc: In(32)
    bus: Out(32)
    addr: Out(32)
    window: Out(1)
    sram: Out(1)

    def __init__(self, limit: int, alu: Alu):
        self._alu = alu
        self._limit = limit
        self._sram_bits = (limit - 1).bit_length()
        if limit not in (1 << self._sram_bits, REGISTERS_LOCAL):
            raise ValueError(f"a processor with {limit!r} bytes of SRAM; take a power of two")
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        alu = self._alu
        summed, other = Signal(), Signal(32)
        sum_in_window = sum_is(alu.a, alu.b, alu.sum, REGISTERS_LOCAL, WINDOW_BIT)
        other_in_window = self._other_is(REGISTERS_LOCAL, WINDOW_BIT)
        takes_sum, gives_way, rest = Signal(), Signal(), Signal(32)
        m.d.comb += [
            summed.eq(self.pre & ~self.shifts & ~alu.logic),
            other.eq(self._other(alu.bits, self.shifted, self.base)),
            self.addr.eq(Mux(summed, alu.sum, other)),
            self.window.eq(Mux(summed, sum_in_window, other_in_window)),
            # The sum, and whether it lies in the window, come last and side by side. Behind both there is
            # one choice: all that decides it beside the window is known before.
            takes_sum.eq(self.valid & summed),
            gives_way.eq(takes_sum & ~self.busy & sum_in_window),
            rest.eq(Mux(self.valid & (self.busy | ~other_in_window), other, self.pc)),
            self.bus.eq(Mux(gives_way, self.pc, Mux(takes_sum, alu.sum, rest))),
            # Either the SRAM ends below the window, or it reaches up to it and behind.
            self.sram.eq(
                self._is(summed, 0, self._sram_bits) & (~self.window if self._limit == REGISTERS_LOCAL else 1)
            ),
        ]
        return m

    def _is(self, summed, value, low):
        alu = self._alu
        return Mux(summed, sum_is(alu.a, alu.b, alu.sum, value, low), self._other_is(value, low))

    def _other(self, bits, shifted, base):
        """Return the one of the three that belongs to an address that is not a sum."""
        return Mux(self.pre, Mux(self.shifts, shifted, bits), base)

    def _other_is(self, value, low):
        """Return a bit: bits `low` and up of an address that is not a sum are those of `value`. Each
        candidate is compared beside the choice, not behind it."""
        return self._other(*(one[low:] == value >> low for one in (self._alu.bits, self.shifted, self.base)))
