"""Puts: this rank's requests to its NIC, in order (T3-01)."""

import struct
from collections import deque
from typing import NamedTuple

from lanai_firmware.lang import offset_of, sizeof
from lanai_firmware.programs.put.layout import BUS, CLOSED, FLAG, INLINE_WORDS, RING, Border, Counter, Request
from lanai_hdl.machine import SRAM_HOST, host_offset

from ...bus.base import Bus
from ...config import HostCost, HostCosts
from .heap import Heap

DOORBELL = host_offset("DOORBELL")
FIELDS = struct.Struct(">6I")  # of a request, behind its inline words
LOOK = 1_000_000  # picoseconds between two looks whether the NIC has let go of the heap
INLINE = 4 * int(INLINE_WORDS)


class Remote(NamedTuple):
    """A place in the memory of another rank: an offset in its heap or, with `on_bus`, an address on
    its host's bus."""

    rank: int
    address: int
    on_bus: bool = False


class Put(NamedTuple):
    """`data`, or `size` bytes at the bus address `source` of this host.

    A `flag` arrives when all that was put before it is there, and not at all if something failed.
    """

    there: Remote
    data: bytes = b""
    source: int = 0
    size: int = 0
    flag: bool = False


class Puts:
    """A queue of puts. What the NIC has no room for waits here. None overtakes another."""

    def __init__(self, bus: Bus, heap: Heap, routes: tuple[int, ...], border: int, costs: HostCosts) -> None:
        self._bus = bus
        self._heap = heap
        self._routes = routes
        self._border = SRAM_HOST + border
        self._costs = costs
        self._waiting: deque[Put] = deque()
        self.asked = 0  # puts asked for; a put's number is what this is after it
        self._written = 0  # requests written to the NIC

    async def open(self) -> None:
        """Tell the NIC where this rank's heap is. Packets may wait for it."""
        await self._bus.write(self._border + int(offset_of(Border, "heap")), self._heap.memory.bus_address)
        await self._bus.write(DOORBELL, 1)

    async def close(self) -> None:
        """Take this host's memory away from the NIC, which drops what arrives from now on.

        Returns when the NIC will not reach the memory any more.
        """
        released = self._border + int(offset_of(Border, "released"))
        await self._bus.write(self._border + int(offset_of(Border, "heap")), int(CLOSED))
        await self._bus.write(DOORBELL, 1)
        while not await self._bus.read(released):
            await self._bus.elapse(LOOK)

    def put(self, put: Put) -> int:
        """Queue a put; its number. `push` sends it on."""
        self._waiting.append(put)
        self.asked += 1
        return self.asked

    def completed(self, number: int) -> bool:
        """Whether the put of that number, and all before it, have been read: their memory may
        change."""
        left = self.asked - self._done
        return number <= self.asked - left

    @property
    def _done(self) -> int:
        """Puts completed. The NIC counts with 32 bits."""
        unfinished = (self._written - self._heap.counter(Counter.COMPLETED)) & 0xFFFF_FFFF
        return self._written - unfinished

    async def push(self) -> None:
        """Write as many requests as the NIC has room for."""
        rung = False
        while self._waiting and self._written - self._done < int(RING):
            await self._write(self._waiting.popleft())
            rung = True
        if rung:
            await self._bus.write(DOORBELL, 1)

    async def _write(self, put: Put) -> None:
        slot = self._written % int(RING)
        self._written += 1
        inline, source, size = b"", put.source, put.size or len(put.data)
        if put.data and size <= INLINE and size % 4 == 0:
            inline = put.data
        elif put.data:
            source = self._stage(put.data)
        length = size | int(BUS) * put.there.on_bus | int(FLAG) * put.flag
        route = self._routes[put.there.rank]
        fields = FIELDS.pack(route, put.there.rank, put.there.address, length, source, self._written & 0xFFFF_FFFF)
        end = self._border + (slot + 1) * int(sizeof(Request))
        await self._bus.elapse(self._costs.price(HostCost.POST))
        await self._bus.write_block(end - len(fields) - len(inline), inline + fields)

    def _stage(self, data: bytes) -> int:
        """Copy to the memory of the request that is being written; its bus address."""
        place = self._heap.layout.staging(self._written - 1)
        self._heap.view[place : place + len(data)] = data
        return self._heap.memory.bus_address + place
