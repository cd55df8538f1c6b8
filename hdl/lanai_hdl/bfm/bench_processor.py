"""A processor that a bench drives: the bench does what firmware would."""

from typing import Any

from amaranth import Module
from amaranth.lib import wiring

from ..control.register_file import RegisterPort
from ..csr.machine import Machine
from ..lbus.lbus import LbusMaster
from ..machine import MACHINE
from ..processor import Processor
from .pysim import PysimPins


class BenchProcessor(Processor):
    """Takes the place of a `Nic`'s processor. A bench drives the ports `bench_lbus` and
    `bench_regs`, which are connected to the NIC's ports `lbus` and `regs`. `actions(context)`
    returns the operations.
    """

    def __init__(self):
        super().__init__(
            {
                "bench_lbus": wiring.In(LbusMaster()),
                "bench_regs": wiring.In(RegisterPort()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        wiring.connect(m, wiring.flipped(self.bench_lbus), wiring.flipped(self.lbus))
        wiring.connect(m, wiring.flipped(self.bench_regs), wiring.flipped(self.regs))
        m.d.comb += self.idle.eq(1)
        return m

    def actions(self, context: Any, registers: Machine = MACHINE) -> "FirmwareActions":
        return FirmwareActions(context, self, registers)


class FirmwareActions:
    """Actions of firmware, as coroutines."""

    def __init__(self, context: Any, bench_processor: BenchProcessor, registers: Machine = MACHINE) -> None:
        self.machine = registers
        self.context = context
        self.bench_processor = bench_processor
        self.registers = PysimPins(context, bench_processor.bench_regs)
        self.lbus = PysimPins(context, bench_processor.bench_lbus)

    async def store(self, name: str, value: int) -> None:
        self.registers.set(addr=self.machine.offset(name), write=1, wdata=value & 0xFFFFFFFF)
        await self.registers.step()
        self.registers.set(write=0)

    async def load(self, name: str) -> int:
        self.registers.set(addr=self.machine.offset(name), read=1)
        await self.registers.step()
        self.registers.set(read=0)
        return (await self.registers.step("rdata"))[0]

    async def until(self, name: str, value: int) -> None:
        """Polls a register until it has a value."""
        while await self.load(name) != value:
            pass

    async def wait(self, mask: int) -> int:
        """WAIT; gives ISR afterwards."""
        await self.store("WAIT", mask)
        while (await self.context.tick().sample(self.bench_processor.wait))[2]:
            pass
        return await self.load("ISR")

    async def read(self, address: int) -> int:
        self.lbus.set(request=1, write=0, addr=address)
        while not (await self.lbus.step("grant"))[0]:
            pass
        self.lbus.set(request=0)
        return (await self.lbus.step("rdata"))[0]

    async def write(self, address: int, value: int, be: int = 0b1111) -> None:
        self.lbus.set(request=1, write=1, addr=address, wdata=value, be=be)
        while not (await self.lbus.step("grant"))[0]:
            pass
        self.lbus.set(request=0, write=0)

    async def host_dma(self, host: int, local: int, length: int, flags: int) -> None:
        for name, value in (("HOST", host), ("LOCAL", local), ("LENGTH", length), ("START", flags)):
            await self.store(f"HDMA_{name}", value)

    async def send(self, route: int, pointer: int, length: int, flags: int) -> None:
        for name, value in (("ROUTE", route), ("POINTER", pointer), ("LENGTH", length), ("START", flags)):
            await self.store(f"SEND_{name}", value)

    async def post(self, pointer: int, limit: int) -> None:
        await self.store("RECV_POINTER", pointer)
        await self.store("RECV_LIMIT", limit)
