"""A core with SRAM on a bench: a program in, retire records out, slots taken by others on the
way."""

from dataclasses import dataclass, field

from amaranth import Module

from lanai_hdl.bfm import Bench
from lanai_hdl.bfm.kept import SIMULATIONS
from lanai_hdl.config import NicConfig
from lanai_hdl.core.core import Core
from lanai_hdl.isa import NOP, TrapCause, encode
from lanai_hdl.isa.formats import BR, BY_NAME
from lanai_hdl.sram.memory import MemorySram

SRAM = 4096


def asm(name, **fields):
    """The word of one instruction."""
    return encode(BY_NAME[name], **fields)


def jump(target):
    return encode(BR, target=target)


def words_of(program):
    """Lays a mapping of byte addresses to instruction lists out as SRAM words, NOPs elsewhere."""
    words = [NOP] * (SRAM // 4)
    for address, code in program.items():
        words[address // 4 : address // 4 + len(code)] = code
    return words


@dataclass
class Ran:
    """The events of a run: (slot, pc, result) of each retired instruction, registers written, trap,
    idle by slot, register accesses."""

    retired: list = field(default_factory=list)
    registers: dict = field(default_factory=dict)
    trap: tuple | None = None
    idle: list = field(default_factory=list)
    accesses: list = field(default_factory=list)
    memory: list = field(default_factory=list)
    requests: list = field(default_factory=list)

    @property
    def pcs(self):
        return [pc for _, pc, _ in self.retired]


class Simulated:
    """A core and its SRAM on a bench."""

    def __init__(self):
        self.core = core = Core(SRAM)
        self.sram = sram = MemorySram(NicConfig(sram_size=SRAM))
        top = Module()
        top.submodules.core, top.submodules.sram = core, sram
        top.d.comb += [
            sram.port.enable.eq(core.lbus.grant),
            sram.port.write.eq(core.lbus.write & core.lbus.grant),
            sram.port.addr.eq(core.lbus.addr >> 2),
            sram.port.wdata.eq(core.lbus.wdata),
            sram.port.be.eq(core.lbus.be),
            core.lbus.rdata.eq(sram.port.rdata),
        ]
        self.bench = Bench(top)


def run(program, slots=200, taken=lambda slot: False, wait=lambda slot, ran: False, register_value=0):
    """Run `program` (see `words_of`) for that many slots; `taken(slot)` says that another master has
    the slot."""
    simulated = SIMULATIONS.take("core", slots + 2, Simulated)
    core, sram = simulated.core, simulated.sram
    simulated.bench.load(sram.memory, words_of(program))
    ran = Ran()

    async def bench(ctx):
        ctx.set(core.run, 1)
        for slot in range(slots):
            ctx.set(core.wait, wait(slot, ran))
            ctx.set(core.odd, slot & 1)
            requested = ctx.get(core.lbus.request)
            ctx.set(core.lbus.grant, requested and not taken(slot))
            ran.requests.append(requested)
            ran.idle.append(ctx.get(core.idle))
            retire = core.retire
            if ctx.get(retire.valid):
                ran.retired.append((slot, ctx.get(retire.pc), ctx.get(retire.result)))
                for enable, index, value in (
                    (retire.rd_we, retire.rd, retire.result),
                    (retire.base_we, retire.base, retire.moved),
                ):
                    if ctx.get(enable):
                        ran.registers[ctx.get(index)] = ctx.get(value)
            if ctx.get(core.regs.write) or ctx.get(core.regs.read):
                kind = "write" if ctx.get(core.regs.write) else "read"
                ran.accesses.append((slot, kind, ctx.get(core.regs.addr), ctx.get(core.regs.wdata)))
            await ctx.tick()
            ctx.set(core.regs.rdata, register_value)
        if ctx.get(core.trap.valid):
            ran.trap = (TrapCause(ctx.get(core.trap.cause)), ctx.get(core.trap.pc))
        ran.memory = [ctx.get(sram.memory.data[i]) for i in range(SRAM // 4)]

    simulated.bench.add(bench)
    simulated.bench.run()
    return ran
