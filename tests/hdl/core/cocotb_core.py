"""The cocotb side of test_cocotb.py: a host with SRAM around the Verilated core."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge

from lanai_hdl.isa import AluOp, TrapCause, encode
from lanai_hdl.isa.formats import BR, RI, RM

STOP = 0x100
WATCHDOG = 4000


class Memory:
    """SRAM behind the core's LBUS port; `taken(slot)` says that another requester has the slot."""

    def __init__(self, dut, words, taken=lambda slot: False):
        self.dut, self.words, self.taken = dut, dict(words), taken

    async def serve(self):
        slot = 0
        while True:
            await FallingEdge(self.dut.clk)
            grant = bool(self.dut.lbus__request.value) and not self.taken(slot)
            self.dut.lbus__grant.value = grant
            word = self.dut.lbus__addr.value.to_unsigned() // 4
            write = bool(self.dut.lbus__write.value)
            data, be = self.dut.lbus__wdata.value.to_unsigned(), self.dut.lbus__be.value.to_unsigned()
            await RisingEdge(self.dut.clk)
            slot += 1
            if grant and write:
                mask = sum(0xFF << 8 * lane for lane in range(4) if be >> lane & 1)
                self.words[word] = (self.words.get(word, 0) & ~mask) | (data & mask)
            elif grant:
                self.dut.lbus__rdata.value = self.words.get(word, 1)


async def start(dut, program, taken=lambda slot: False):
    """Reset, then run the program (byte address -> words)."""
    words = {address // 4 + n: word for address, code in program.items() for n, word in enumerate(code)}
    for name in ("run", "wait", "odd", "lbus__grant", "lbus__rdata", "regs__rdata"):
        getattr(dut, name).value = 0
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    dut.rst.value = 1
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    memory = Memory(dut, words, taken)
    cocotb.start_soon(memory.serve())
    dut.run.value = 1
    return memory


async def stopped(dut):
    """Wait for the trap; its cause and pc."""
    for _ in range(WATCHDOG):
        await FallingEdge(dut.clk)
        trap = dut.trap.value.to_unsigned()
        if trap & 1:
            return TrapCause(trap >> 1 & 0xFF), trap >> 9
    raise AssertionError(f"no trap in {WATCHDOG} slots")


def summing():
    """Adds ten words at 0x200 and stores the sum at 0x240, then stops at an undefined word."""
    loop = 0x20
    return {
        0: [
            encode(RI, op=AluOp.ADD, rd=6, rs1=0, imm=0x200),
            encode(RI, op=AluOp.ADD, rd=7, rs1=0, imm=10),
            encode(RI, op=AluOp.ADD, rd=8, rs1=0, imm=0),
            encode(BR, target=loop),
            1,
        ],
        loop: [
            encode(RM, rd=9, rs1=6, imm=4, update=1),
            encode(RI, op=AluOp.SUB, rd=7, rs1=7, imm=1, flags=1),
            encode(BR, cond=6, target=loop),  # ne
            0xC0000000 | 8 << 23 | 8 << 18 | 9 << 11,  # add %r8, %r9, %r8
            encode(RM, store=1, rd=8, rs1=0, imm=0x240, pre=1),
            encode(BR, target=STOP),
            1,
        ],
        0x200: [n * n for n in range(1, 11)],
        STOP: [0xFFFFFFFF],
    }


@cocotb.test()
async def program_runs(dut):
    memory = await start(dut, summing())
    assert await stopped(dut) == (TrapCause.UNDEFINED, STOP)
    assert memory.words[0x240 // 4] == sum(n * n for n in range(1, 11))


@cocotb.test()
async def program_runs_among_random_takers(dut):
    rng = random.Random(7)
    memory = await start(dut, summing(), taken=lambda slot: rng.random() < 0.6)
    assert await stopped(dut) == (TrapCause.UNDEFINED, STOP)
    assert memory.words[0x240 // 4] == sum(n * n for n in range(1, 11))


@cocotb.test()
async def held_core_asks_for_nothing(dut):
    await start(dut, summing())
    dut.run.value = 0
    for _ in range(4):
        await FallingEdge(dut.clk)
    for _ in range(50):
        await FallingEdge(dut.clk)
        assert not dut.lbus__request.value
        assert dut.idle.value
