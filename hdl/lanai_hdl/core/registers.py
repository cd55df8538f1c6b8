"""The general registers: three reads, one write."""

from amaranth import Module
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from ..isa import Reg
from ..isa.registers import REGISTER_COUNT

CONSTANTS = {Reg.ZERO: 0, Reg.ONES: 0xFFFFFFFF}


class WritePort(data.Struct):
    """A register write; `enable` is never set for r0, r1 and pc."""

    enable: 1
    index: 5
    value: 32


def is_data(index):
    """1 if a write to register `index` is remembered."""
    return index > Reg.PC


class RegisterFile(wiring.Component):
    """Reads `rs1`, `rs2`, `rd` within the slot as `a`, `b`, `d`. A write shows in the next slot. r0
    and r1 read as 0 and ones, pc as nothing of use: r0 and r1 are rows that are never written.
    """

    write: In(WritePort)
    rs1: In(5)
    rs2: In(5)
    rd: In(5)
    a: Out(32)
    b: Out(32)
    d: Out(32)

    def elaborate(self, platform):
        m = Module()
        for name, index, value in (("a", self.rs1, self.a), ("b", self.rs2, self.b), ("d", self.rd, self.d)):
            bank = memory.Memory(shape=32, depth=REGISTER_COUNT, init=[CONSTANTS.get(i, 0) for i in range(Reg.PC)])
            m.submodules[f"bank_{name}"] = bank
            write, read = bank.write_port(), bank.read_port(domain="comb")
            m.d.comb += [
                write.en.eq(self.write.enable),
                write.addr.eq(self.write.index),
                write.data.eq(self.write.value),
                read.addr.eq(index),
                value.eq(read.data),
            ]
        return m
