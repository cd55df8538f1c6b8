"""The host's programmed I/O."""

from collections.abc import Iterable

from .. import machine
from ..csr.machine import Machine
from .pins import Pins


class PioHost:
    """Reads and writes the NIC's window, over the pins of a `PioPort`.

    A write is posted: it returns when the NIC has taken it, and acts some slots later, when it has
    passed the host bus. It acts before the next access. So a read that has returned, of any address,
    says that all writes before it have acted.
    """

    def __init__(self, pins: Pins, registers: Machine = machine.MACHINE) -> None:
        self.registers = registers
        self.pins = pins

    async def write(self, offset: int, value: int, be: int = 0b1111) -> None:
        """Write the word at `offset`; returns when the NIC has taken it, and acts later."""
        self.pins.set(valid=1, write=1, addr=offset, wdata=value, be=be)
        await self.pins.handshake()
        self.pins.set(valid=0)

    async def read(self, offset: int) -> int:
        self.pins.set(valid=1, write=0, addr=offset, be=0b1111)
        await self.pins.handshake()
        self.pins.set(valid=0)
        while True:
            rvalid, rdata = await self.pins.step("rvalid", "rdata")
            if rvalid:
                return rdata

    async def write_words(self, offset: int, words: Iterable[int]) -> None:
        """Write consecutive words with no pause between, as a host that combines its writes
        does."""
        self.pins.set(valid=1, write=1, be=0b1111)
        for index, word in enumerate(words):
            self.pins.set(addr=offset + 4 * index, wdata=word)
            await self.pins.handshake()
        self.pins.set(valid=0)

    async def read_words(self, offset: int, count: int) -> list[int]:
        return [await self.read(offset + 4 * index) for index in range(count)]

    async def write_register(self, name: str, value: int) -> None:
        """Write a register; returns when the NIC has taken the access. The block sees it later:
        `pio_write_setup` and one host bus clocks, the slots until its grant, and one. A read behind
        it sees what it did."""
        await self.write(machine.REGISTERS_HOST + self.registers.offset(name), value)

    async def read_register(self, name: str) -> int:
        return await self.read(machine.REGISTERS_HOST + self.registers.offset(name))
