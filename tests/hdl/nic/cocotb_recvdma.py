"""cocotb: the receive DMA fills buffers, whatever else uses the LBUS, and never past a limit."""

import cocotb

from lanai_hdl.bfm import SramModel
from lanai_hdl.bfm.cocotb import CocotbPins, begin, stream_put
from lanai_hdl.link.deframer import Part, PartKind
from lanai_hdl.machine import Verdict
from lanai_hdl.receive_dma.engine import Completion, RecvBuffer

SIZES, ROOM = (0, 1, 5, 16, 17, 40, 9), 64
DEFAULTS = {"data": 0, "bad_crc": 0, "truncated": 0}


def word(n, index):
    return n << 16 | index


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(refuse=[0.0, 0.5], idle=[0.0, 0.5])
async def packets_go_to_their_buffers(dut, refuse, idle):
    await begin(dut)
    sram = SramModel(CocotbPins(dut, "lbus"), 2048, refuse=refuse, seed=1)
    expected, outcomes, parts = bytearray(2048), [], []
    for n, size in enumerate(SIZES):
        words = [word(n, index) for index in range(size)]
        parts += [
            {"kind": PartKind.START},
            *({"kind": PartKind.WORD, "data": value} for value in words),
            {"kind": PartKind.END},
        ]
        kept = b"".join(value.to_bytes(4, "big") for value in words)[:ROOM]
        expected[128 * n : 128 * n + len(kept)] = kept
        outcomes.append((len(kept), 128 * n, Verdict.VALID | (Verdict.OVERRUN if 4 * size > ROOM else 0)))
    cocotb.start_soon(sram.serve())
    buffers = [{"pointer": 128 * n, "limit": 128 * n + ROOM} for n in range(len(SIZES))]
    cocotb.start_soon(stream_put(dut, "post", RecvBuffer, buffers, idle=idle, seed=2))
    cocotb.start_soon(stream_put(dut, "i", Part, [{**DEFAULTS, **part} for part in parts], idle=idle, seed=3))
    verdicts, pins = [], CocotbPins(dut, "completed")
    while len(verdicts) < len(SIZES):
        # As software does: looks at a completion, pops it; the strobe comes in the next slot.
        (valid,) = await pins.step("valid")
        if valid:
            oldest = Completion.from_bits(pins.now("payload")[0])
            verdicts.append((oldest.length, oldest.buffer, oldest.verdict))
            pins.set(pop=1)
            await pins.step()
            pins.set(pop=0)
    assert verdicts == outcomes
    assert sram.data == expected
    assert int(dut.idle.value)
