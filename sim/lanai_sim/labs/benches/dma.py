"""Lab 1: the student's send DMA beside the other masters of the real LBUS, and a link that may refuse flits."""

import random
from pathlib import Path
from typing import Any

from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from lanai_hdl.bfm import Bench
from lanai_hdl.config import NicConfig
from lanai_hdl.control.control import SlotCounter
from lanai_hdl.lbus.lbus import Lbus, LbusMaster
from lanai_hdl.link.flit import Flit, Kind
from lanai_hdl.send_dma.engine import SendDescriptor
from lanai_hdl.sram.memory import MemorySram

from ..task import Values, Wrong
from ._gateware import ENDLESS as ENDLESS
from ._gateware import PERCENT, addresses, check_ports, loaded

CONFIG = NicConfig(sram_size=4096)
FIRST, GAP = 0x100, 64
REST = 12  # slots after the last word in which nothing more may happen
PORTS = {
    "post": In(stream.Signature(SendDescriptor)),
    "lbus": Out(LbusMaster()),
    "o": Out(stream.Signature(Flit)),
    "done": Out(1),
    "idle": Out(1),
}


def load(folder: Path) -> Any:
    return loaded(folder, "dma.py", "SendDma")


def word(address: int) -> int:
    """Return what is in the SRAM."""
    return 0x5A00_0000 | address


def run(design: Any, values: Values) -> int:
    """Send pieces of `lengths` bytes. In `pause` of 100 slots the link takes no flit, in `busy` of 100 the receive
    DMA has the odd slot."""
    return Play(design, values).run()


class Play:
    """One case."""

    def __init__(self, design: Any, values: Values) -> None:
        self.values = values
        self.dma = design(CONFIG)
        check_ports(self.dma, PORTS)
        self.lengths = values["lengths"]
        self.pieces = list(zip(addresses(self.lengths, FIRST, GAP), self.lengths, strict=True))
        self.expected = [(at + 4 * n) for at, length in self.pieces for n in range((length + 3) // 4)]
        self.slot = self.ended = self.done = self.reads = 0
        self.taken: list[int] = []
        self.top = Module()
        self.lbus, sram = Lbus(CONFIG), MemorySram(CONFIG, [word(4 * n) for n in range(1024)])
        self.top.submodules.lbus, self.top.submodules.sram = self.lbus, sram
        self.top.submodules.dma = self.dma
        self.top.submodules.slots = slots = SlotCounter()
        self.top.d.comb += self.lbus.odd.eq(slots.now[0])
        wiring.connect(self.top, self.lbus.sram, sram.port)
        wiring.connect(self.top, self.dma.lbus, self.lbus.send)

    def run(self) -> int:
        limit = 200 + 40 * len(self.expected) + 20 * len(self.pieces)
        bench = Bench(self.top, limit)
        bench.add_background(self.watch)
        bench.add_background(self.receive)
        bench.add_background(self.take)
        bench.add(self.post)
        bench.add(self.end)
        try:
            bench.run()
        except TimeoutError:
            raise Wrong(self._stuck(limit)) from None
        return self.ended

    def _stuck(self, limit: int) -> str:
        now = f"after {limit} slots {len(self.taken)} of {len(self.expected)} words have come"
        return f"{now}, and done was high in {self.done} slots for {len(self.pieces)} pieces"

    async def post(self, context: Any) -> None:
        """Queue the descriptors."""
        for pointer, length in self.pieces:
            context.set(self.dma.post.payload, {"pointer": pointer, "length": length})
            context.set(self.dma.post.valid, 1)
            while not (await context.tick().sample(self.dma.post.ready))[2]:
                pass
        context.set(self.dma.post.valid, 0)

    async def receive(self, context: Any) -> None:
        """Ask for the LBUS as the receive DMA would."""
        chance = random.Random(len(self.lengths))
        while True:
            context.set(self.lbus.recv.request, chance.randrange(PERCENT) < self.values["busy"])
            await context.tick()
            await context.tick()

    async def take(self, context: Any) -> None:
        """Take flits as the link would, and hold the stream to its rules."""
        o, chance = self.dma.o, random.Random(len(self.expected))
        held = None
        while True:
            ready = chance.randrange(PERCENT) >= self.values["pause"]
            context.set(o.ready, ready)
            _, _, valid, flit = await context.tick().sample(o.valid, o.payload)
            if held is not None and (not valid or flit != held):
                raise Wrong(f"o was valid and not taken, and has {'changed' if valid else 'gone'}: a flit is lost")
            held = flit if valid and not ready else None
            if valid and ready:
                self._check(flit)

    def _check(self, flit: Any) -> None:
        place = len(self.taken)
        if place == len(self.expected):
            raise Wrong(f"a flit too many: {flit.data:#010x} after all {place} words")
        if flit.kind.value != Kind.DATA.value:
            raise Wrong(f"flit {place} is of kind {flit.kind.name}, expected DATA")
        at = self.expected[place]
        if flit.data != word(at):
            known = f", the word of address {flit.data & 0xFFF:#x}" if flit.data >> 12 == word(0) >> 12 else ""
            raise Wrong(f"word {place} is {flit.data:#010x}{known}; expected {word(at):#010x} of address {at:#x}")
        self.taken.append(at)

    async def watch(self, context: Any) -> None:
        """Count slots, reads and what is done."""
        port = self.dma.lbus
        async for *_, grant, write, addr, done in context.tick().sample(
            port.grant, port.write, port.addr, self.dma.done
        ):
            self.slot += 1
            self.done += done
            if grant:
                if write:
                    raise Wrong(f"slot {self.slot}: it writes to address {addr:#x} of the SRAM; a send DMA only reads")
                self.reads += 1
                if self.reads > len(self.expected):
                    raise Wrong(f"slot {self.slot}: it reads address {addr:#x} beyond the last piece")

    async def end(self, context: Any) -> None:
        """Wait for all words and the ends of all pieces."""
        while len(self.taken) < len(self.expected) or self.done < len(self.pieces):
            await context.tick()
        self.ended = self.slot
        await context.tick().repeat(REST)
        if self.done != len(self.pieces):
            raise Wrong(
                f"done was high in {self.done} slots for {len(self.pieces)} pieces; it is high in one slot each"
            )
        if not context.get(self.dma.idle):
            raise Wrong(f"idle is low {REST} slots after all words have gone")
