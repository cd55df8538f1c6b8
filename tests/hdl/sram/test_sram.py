"""The SRAM's kinds agree: what is read is what was written last, byte by byte, however soon
after."""

import random

import pytest
from amaranth import Assert, Cat, Module, Mux, Signal
from amaranth.asserts import AnyConst, AnySeq
from amaranth.lib import wiring

from lanai_hdl.bfm import Bench, PysimPins
from lanai_hdl.config import NicConfig
from lanai_hdl.sram.block_ram import BlockRamSram
from lanai_hdl.sram.memory import MemorySram

CONFIG = NicConfig(sram_size=4096)
INIT = [0x11223344, 0x55667788, 0x99AABBCC, 0xDDEEFF00]


SRAMS = {
    "memory": lambda: MemorySram(CONFIG, INIT),
    "one bank": lambda: BlockRamSram(CONFIG, INIT),
    "four banks": lambda: BlockRamSram(CONFIG, INIT, bank=256),
}


@pytest.mark.parametrize("kind", SRAMS)
@pytest.mark.parametrize("words", [[0], [0, 1, 256, 1023]])
def test_a_read_gives_what_was_written_last(kind, words):
    dut = SRAMS[kind]()
    bench = Bench(dut, 4000)
    chance = random.Random(len(words))

    async def accesses(context):
        pins, model = PysimPins(context, dut.port), dict.fromkeys(words, 0) | dict(enumerate(INIT))
        expected = None
        for _ in range(3000):
            write, enable, addr = chance.getrandbits(1), chance.random() < 0.9, chance.choice(words)
            value, be = chance.getrandbits(32), chance.getrandbits(4)
            pins.set(enable=enable, write=write & enable, addr=addr, wdata=value, be=be)
            (rdata,) = await pins.step("rdata")
            assert expected in (None, rdata)
            expected = None
            if enable and write:
                mask = sum(0xFF << 8 * lane for lane in range(4) if be >> lane & 1)
                model[addr] = model[addr] & ~mask | value & mask
            elif enable:
                expected = model[addr]

    bench.add(accesses)
    bench.run()


class ForwardSpec(wiring.Component):
    """One word followed from anywhere: a read of it gives its bytes as written last, through a
    `BlockRamSram` of any content.

    The word's true value is unknown until each of its bytes has been written once.
    """

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = BlockRamSram(NicConfig(sram_size=4096), bank=256)
        port = dut.port
        m.d.comb += [
            port.enable.eq(AnySeq(1)),
            port.write.eq(AnySeq(1) & port.enable),
            port.addr.eq(AnySeq(len(port.addr))),
            port.wdata.eq(AnySeq(32)),
            port.be.eq(AnySeq(4)),
        ]
        word, value, known, read = AnyConst(len(port.addr)), Signal(32), Signal(4), Signal()
        hit = port.addr == word
        written = Cat(((port.write & hit) & port.be[i]) for i in range(4))
        m.d.sync += [read.eq(port.enable & ~port.write & hit), known.eq(known | written)]
        for i in range(4):
            lane = value.word_select(i, 8)
            m.d.sync += lane.eq(Mux(written[i], port.wdata.word_select(i, 8), lane))
            with m.If(read & known[i]):
                m.d.comb += Assert(port.rdata.word_select(i, 8) == lane)
        return m


@pytest.mark.slow
@pytest.mark.proof
def test_block_ram_never_shows_an_older_word(prove):
    prove(ForwardSpec(), mode="bmc", depth=7)
