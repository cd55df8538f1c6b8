"""The general registers: three reads, one write."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from ..isa import Reg
from ..isa.registers import REGISTER_COUNT


class WritePort(data.Struct):
    """A register write; `enable` is never set for r0, r1 and pc."""

    enable: 1
    index: 5
    value: 32


def is_data(index):
    """1 if a write to register `index` is remembered."""
    return index > Reg.PC


class RegisterFile(wiring.Component):
    """Reads `rs1`, `rs2`, `rd` within the slot as `a`, `b`, `d`; a write of this slot is seen. r0, r1 and pc read as 0, ones and `pc`."""

    write: In(WritePort)
    pc: In(32)
    rs1: In(5)
    rs2: In(5)
    rd: In(5)
    a: Out(32)
    b: Out(32)
    d: Out(32)

    def elaborate(self, platform):
        m = Module()
        for name, index, value in (("a", self.rs1, self.a), ("b", self.rs2, self.b), ("d", self.rd, self.d)):
            bank = memory.Memory(shape=32, depth=REGISTER_COUNT, init=[])
            m.submodules[f"bank_{name}"] = bank
            write, read = bank.write_port(), bank.read_port(domain="comb")
            stored = Signal(32, name=f"stored_{name}")
            m.d.comb += [
                write.en.eq(self.write.enable),
                write.addr.eq(self.write.index),
                write.data.eq(self.write.value),
                read.addr.eq(index),
                stored.eq(Mux(self.write.enable & (self.write.index == index), self.write.value, read.data)),
            ]
            with m.Switch(index):
                with m.Case(Reg.ZERO):
                    m.d.comb += value.eq(0)
                with m.Case(Reg.ONES):
                    m.d.comb += value.eq(0xFFFFFFFF)
                with m.Case(Reg.PC):
                    m.d.comb += value.eq(self.pc)
                with m.Default():
                    m.d.comb += value.eq(stored)
        return m
