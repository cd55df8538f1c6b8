"""Adapters on a bench: a host that sets one up by PIO, and gives it commands."""

from lanai_hdl.config import NicConfig
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.csr import ENABLE, NUMBER_SHIFT, WINDOW_VALID
from lanai_hdl.remote.packets import Atomic, Op, Status, word
from lanai_hdl.remote.tables import (
    FLAG_AT,
    FLAG_BYTES,
    CommandWord,
    PlaceWord,
    Rights,
    command_at,
    exposure_at,
    page_at,
)

SMALL = Remote(processes=2, peers=4, pages=8, payload=64, answers=2)
CONFIG = NicConfig(sram_size=4096, blocks=(SMALL,))
TIMEOUT = 1200  # slots
RETRIES = 3
ALL = {"read": 1, "write": 1, "atomic": 1}
PAGE = 4096


class Process:
    """A process of the host of `world`: its pages are those at the start of its bus window, page 0 for flags."""

    def __init__(self, world, process=0, *, pages=SMALL.pages):
        self.world, self.process = world, process
        self.base = (process + 1) << 28
        self.pages = pages
        self._tag = 0

    async def begin(self):
        write = self.world.host.write_register
        await write("REMOTE_PROCESS", self.process)
        await write("REMOTE_WINDOW", WINDOW_VALID | (self.base >> 28))
        for index in range(self.pages):
            await self.map(index, self.base // PAGE + index)

    async def map(self, index, page):
        await self.world.host.write(page_at(self.process, index), page)

    async def expose(self, number, first, end, key=0, *, page=1, **rights):
        """Bytes [first, end) counted from the start of page table entry `page`."""
        words = (first, end, word(PlaceWord, key=key, page=page), word(Rights, valid=1, **rights))
        await self.world.host.write_words(exposure_at(self.process, number), words)

    async def conceal(self, number):
        await self.world.host.write(exposure_at(self.process, number) + 12, 0)

    def address(self, offset, page=1):
        """Bus address of a byte of an exposure that begins at `page`."""
        return self.base + page * PAGE + offset

    async def start(
        self, op, peer, exposure, key, offset, length, local=0, local_offset=0, *,
        atomic=Atomic.SWAP, operand=0, comparand=0, buffer=0,
    ):  # fmt: skip
        """Start a command; gives the tag to wait for."""
        self._tag += 1
        head = word(CommandWord, exposure=exposure, local=local, op=op, atomic=atomic, peer=peer)
        words = (head, key, offset, length, local_offset, operand, comparand, self._tag)
        await self.world.host.write_words(command_at(self.process, buffer), words)
        return self._tag

    async def end(self, context, tag, buffer=0):
        """Wait for a command's flag; gives its status."""
        while True:
            flag = int.from_bytes(self.world.memory.dump(self.base + FLAG_BYTES * buffer + FLAG_AT, 4), "big")
            if flag >> 8 == tag:
                return Status(flag & 0xFF)
            await context.tick()

    def result(self, buffer=0):
        """What the last ATOMIC of this buffer found."""
        return int.from_bytes(self.world.memory.dump(self.base + FLAG_BYTES * buffer, 4), "big")

    async def command(self, context, *args, buffer=0, **options):
        return await self.end(context, await self.start(*args, buffer=buffer, **options), buffer)


async def set_up(world, number, routes=None, *, timeout=TIMEOUT, retries=RETRIES):
    """What the boot does: the NIC's own number, and a route to each peer."""
    write = world.host.write_register
    for peer, route in (routes or dict.fromkeys(range(SMALL.peers), 0)).items():
        await write("REMOTE_PEER", peer)
        await write("REMOTE_ROUTE", route)
    await write("REMOTE_TIMEOUT", timeout | retries << 24)
    await write("REMOTE_CONTROL", ENABLE | number << NUMBER_SHIFT)


__all__ = ["ALL", "CONFIG", "SMALL", "Atomic", "Op", "Process", "Status", "set_up"]
