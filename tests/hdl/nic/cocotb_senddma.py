"""cocotb: the send DMA makes packets of pieces, whatever else uses the LBUS and however the wire
stalls."""

import cocotb

from lanai_hdl.bfm import SramModel
from lanai_hdl.bfm.cocotb import CocotbPins, begin, stream_get, stream_put
from lanai_hdl.link.flit import Flit, Kind
from lanai_hdl.send_dma.engine import SendDescriptor

DEFAULTS = {"route": 0, "pointer": 0, "length": 0, "first": 0, "last": 0, "chase": 0, "check": 0, "refused": 0}
PIECES = [
    {"route": 0x81000000, "pointer": 0x100, "length": 80, "first": 1, "last": 1},
    {"route": 0x82000000, "pointer": 0x200, "length": 4, "first": 1, "check": 1},
    {"pointer": 0x300, "length": 5},
    {"pointer": 0x400, "length": 8, "refused": 1, "last": 1},
    {"route": 3, "first": 1, "last": 1},
]


def data(pointer, words):
    return [(Kind.DATA, 0x5A000000 | pointer + 4 * n) for n in range(words)]


FLITS = [
    (Kind.HEAD, 0x81000000), *data(0x100, 20), (Kind.TAIL, 0),
    (Kind.HEAD, 0x82000000), *data(0x200, 1), (Kind.CHECK, 0), *data(0x300, 2), (Kind.TAIL, 1),
    (Kind.HEAD, 3), (Kind.TAIL, 0),
]  # fmt: skip


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(refuse=[0.0, 0.5], pause=[0.0, 0.5])
async def pieces_become_packets(dut, refuse, pause):
    await begin(dut)
    sram = SramModel(CocotbPins(dut, "lbus"), 2048, refuse=refuse, seed=1)
    for address in range(0, 2048, 4):
        sram.data[address : address + 4] = (0x5A000000 | address).to_bytes(4, "big")
    cocotb.start_soon(sram.serve())
    cocotb.start_soon(
        stream_put(dut, "post", SendDescriptor, [{**DEFAULTS, **piece} for piece in PIECES], idle=0.1, seed=2)
    )
    got = await stream_get(dut, "o", Flit, len(FLITS), pause=pause, seed=3)
    assert [(flit.kind, flit.data) for flit in got] == FLITS
    for _ in range(20):
        await CocotbPins(dut, "o").step()
    assert int(dut.idle.value)
    assert not int(dut.o__valid.value)
