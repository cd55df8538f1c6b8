"""A rank process's bus: the NIC through the portal. Nothing here suspends, so `bus.run_now` drives the driver over it."""

import json
import mmap
import os
import struct
from collections.abc import Mapping

from ..call_site import located
from ..config import HostConfig
from ..simulator.client import Portal, PortalError
from ..simulator.protocol import CHANGE, Op, pack_wait
from . import reach
from .base import PAGE_SIZE, Bus, BusError, HostBuffer, Pinned, Wait

_OFFSET = struct.Struct("<I")
_READ = struct.Struct("<II")
_PIN = struct.Struct("<QQI")


class RankBus(Bus):
    """PIO writes and unpinning are posted, everything else blocks. Allocated memory is shared with the simulator, pinned memory is
    reached in place, at the simulated moment."""

    def __init__(self, portal: Portal, host: HostConfig) -> None:
        self.portal = portal
        self.host = host
        self._buffers: list[mmap.mmap] = []

    @property
    def now(self) -> int:
        return self.portal.clock

    async def read(self, offset: int) -> int:
        return int.from_bytes(await self.read_block(offset, 4), "big")

    async def write(self, offset: int, value: int) -> None:
        self.portal.charge(self.host.pio_write)
        self.portal.post(Op.PIO_WRITE, _OFFSET.pack(offset) + (value & 0xFFFFFFFF).to_bytes(4, "big"))

    async def write_block(self, offset: int, data: bytes) -> None:
        self.portal.charge(self.host.pio_write)
        self.portal.post(Op.PIO_WRITE, _OFFSET.pack(offset) + bytes(data))

    async def read_block(self, offset: int, size: int) -> bytes:
        self.portal.charge(self.host.pio_read)
        return self._call(Op.PIO_READ, _READ.pack(offset, size))

    def allocate(self, size: int) -> HostBuffer:
        size = max(1, -(-size // PAGE_SIZE)) * PAGE_SIZE
        handle = os.memfd_create("lanai", os.MFD_CLOEXEC)
        try:
            os.ftruncate(handle, size)
            memory = mmap.mmap(handle, size)
            first = int.from_bytes(self._call(Op.ALLOC, _READ.pack(handle, size)), "little")
        finally:
            os.close(handle)
        self._buffers.append(memory)
        return HostBuffer(first, memoryview(memory))

    async def pin(self, address: int, size: int, writable: bool) -> Pinned:
        if not reach.claim(address, size, writable):
            raise BusError(f"cannot pin {size} bytes at {address:#x}: not all {'writable' if writable else 'readable'}")
        answer = self._call(Op.PIN, _PIN.pack(address, size, writable))
        token, *pages = struct.unpack(f"<{len(answer) // 4}I", answer)
        return Pinned(address, size, writable, tuple(pages), token)

    async def unpin(self, pinned: Pinned) -> None:
        self.portal.post(Op.UNPIN, _OFFSET.pack(pinned.token))

    async def wait_change(
        self, buffer: HostBuffer, offset: int, seen: int, why: Wait | None = None, patience: int = 0
    ) -> int:
        located_why = None if why is None else located(why)
        request = CHANGE.pack(buffer.bus_address + offset, seen, patience) + pack_wait(located_why)
        return int.from_bytes(self._call(Op.WAIT_CHANGE, request), "little")

    async def elapse(self, picoseconds: int) -> None:
        """Time passes for this process; others see it at its next blocking request."""
        self.portal.charge(picoseconds)

    async def catch_up(self) -> None:
        self.portal.catch_up()

    async def report_lost(self, rank: int, text: str) -> None:
        self._call(Op.REPORT_LOST, text.encode())

    async def lost(self) -> Mapping[int, str]:
        return {int(rank): text for rank, text in json.loads(self._call(Op.LOST, b"")).items()}

    async def examine(self) -> str | None:
        """Have the simulator, which is the driver's trusted half, check the NIC: what is wrong with it, or None."""
        return self._call(Op.EXAMINE, b"").decode() or None

    def _call(self, op: Op, payload: bytes) -> bytes:
        try:
            return self.portal.call(op, payload)
        except PortalError as error:
            raise BusError(str(error)) from error
