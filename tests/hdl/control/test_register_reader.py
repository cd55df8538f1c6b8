"""The reader: constant registers, which it reads by multiplexers, and ordinary ones, in one row and in
rows of their own."""

import pytest
from amaranth import Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from lanai_hdl.bfm import Bench, PysimPins
from lanai_hdl.control.register_reader import RegisterReader
from lanai_hdl.csr.declare import Access, Behavior, Register
from lanai_hdl.machine import REGISTERS_SIZE

ORDINARY = 0x5A5A_A5A5
CONSTANTS = {0x00: 0xFFFF_FFFF, 0x08: 0x8000_0001, 0x0C: 0, 0x7C: 0x1234_5678, 0x100: 0xDEAD_BEEF, 0x10C: 0x0F0F_F0F0}
SECRET = {0x0C, 0x10C}  # the host has no right to read these
ORDINARIES = {0x04, 0x10, 0x104, 0x180}


def register(offset, behavior):
    access = Access.PR if offset in SECRET else Access.RO
    return Register(f"R{offset:X}", offset, access, behavior, "one of this test's")


class Reads(wiring.Component):
    """A reader by itself: an access in each slot with `reads`, what it reads one slot later."""

    addr: In(range(REGISTERS_SIZE))
    reads: In(1)
    by_host: In(1)
    ordinary: In(32)
    rdata: Out(32)
    known: Out(1)

    def elaborate(self, platform):
        m = Module()
        by_host, reader = Signal(), RegisterReader()
        m.d.sync += [by_host.eq(self.by_host), *reader.look(self.addr, self.reads)]
        readable = [(register(offset, Behavior.FIXED), Const(value, 32)) for offset, value in CONSTANTS.items()]
        readable += [(register(offset, Behavior.VIEW), self.ordinary ^ offset) for offset in ORDINARIES]
        rdata, known = reader.choose(m, sorted(readable, key=lambda pair: pair[0].offset), by_host)
        m.d.comb += [self.rdata.eq(rdata), self.known.eq(known)]
        return m


@pytest.mark.parametrize("by_host", [0, 1], ids=["processor", "host"])
def test_constants_read_as_declared_beside_ordinary_registers(by_host):
    dut = Reads()
    bench = Bench(dut, 1000)
    expected = CONSTANTS | {offset: ORDINARY ^ offset for offset in ORDINARIES}
    if by_host:
        expected |= dict.fromkeys(SECRET, 0)

    async def process(context):
        pins = PysimPins(context, dut)
        pins.set(by_host=by_host, ordinary=ORDINARY)
        offsets = range(0, 0x200, 4)
        for reads in (1, 0):
            before = None
            for offset in (*offsets, 0):
                pins.set(addr=offset, reads=reads)
                rdata, known = await pins.step("rdata", "known")
                if before is not None:
                    assert rdata == (expected.get(before, 0) if reads else 0), hex(before)
                    assert known == (before in expected), hex(before)
                before = offset

    bench.add(process)
    bench.run()
