"""The driver's bus in a bench: over the models of `lanai_hdl.bfm`, hence under cocotb and in
benches for Amaranth's simulator."""

import ctypes
import mmap
from collections.abc import Sequence

from lanai_hdl.bfm import HostMemory, PioHost
from lanai_hdl.bfm.pins import Pins

from ..operation import Wait
from .base import PAGE_SIZE, Bus, HostBuffer, Pinned, Watched, changed, words_of
from .greenlets import wait_for


class BusMemory(HostMemory):
    """Host memory that is this process's own: pages that were allocated or pinned. The NIC is
    refused all else."""

    def __init__(self, pins: Pins) -> None:
        super().__init__(pins)
        self.mapped: dict[int, memoryview] = {}

    def page(self, number: int) -> memoryview:  # type: ignore[override]  # as good as a bytearray for the one who asks
        return self.mapped[number]

    def _beat(self, write: int, address: int, wdata: int, be: int) -> tuple[int, int]:
        page = self.mapped.get(address // PAGE_SIZE)
        if page is None or (write and page.readonly):
            return 0xDEADDEAD, 1
        return super()._beat(write, address, wdata, be)


class BenchBus(Bus):
    """One process's access to one NIC.

    The program runs by `run_in_greenlet`, and `await bus.memory.serve()` beside it as a background task
    of the simulator. Time is counted in slots.

    Args:
        pio, memory: pins of the NIC's `pio` and `mem`.
        slot_khz: slots in a millisecond.
        first_page: bus page of the first allocation; the process's window begins there.
    """

    def __init__(self, pio: Pins, memory: Pins, slot_khz: int, first_page: int) -> None:
        self.pins = pio
        self.pio = PioHost(pio)
        self.memory = BusMemory(memory)
        self.slot_khz = slot_khz
        self._next = first_page
        self._kept: list[mmap.mmap] = []

    @property
    def now(self) -> int:
        return int(self.memory.slot * 1_000_000_000 // self.slot_khz)

    def read(self, offset: int) -> int:
        return int(wait_for(self.pio.read(offset)))

    def write(self, offset: int, value: int) -> None:
        wait_for(self.pio.write(offset, value & 0xFFFFFFFF))

    def write_block(self, offset: int, data: bytes) -> None:
        lead = offset % 4
        padded = bytes(lead) + data + bytes(-(lead + len(data)) % 4)
        for at in range(0, len(padded), 4):
            lanes = [lead <= at + lane < lead + len(data) for lane in range(4)]
            enables = sum(8 >> lane for lane in range(4) if lanes[lane])
            wait_for(self.pio.write(offset - lead + at, int.from_bytes(padded[at : at + 4], "big"), enables))

    def read_block(self, offset: int, size: int) -> bytes:
        first = offset - offset % 4
        words = [self.read(at).to_bytes(4, "big") for at in range(first, offset + size, 4)]
        return b"".join(words)[offset - first :][:size]

    def allocate(self, size: int, shared: bool = False) -> HostBuffer:
        memory = mmap.mmap(-1, -(-size // PAGE_SIZE) * PAGE_SIZE)
        self._kept.append(memory)
        view = memoryview(memory)
        return HostBuffer(self._map(view)[0], view)

    def pin(self, address: int, size: int, writable: bool) -> Pinned:
        first = address & -PAGE_SIZE
        whole = -(-(address + size - first) // PAGE_SIZE) * PAGE_SIZE
        view = memoryview((ctypes.c_ubyte * whole).from_address(first)).cast("B")
        return Pinned(address, size, writable, tuple(self._map(view if writable else view.toreadonly())))

    def unpin(self, pinned: Pinned) -> None:
        for address in pinned.pages:
            del self.memory.mapped[address // PAGE_SIZE]

    def wait_any(self, watched: Sequence[Watched], why: Wait | None = None, timeout: int = 0) -> int | None:
        words_of(watched)
        until = self.now + timeout
        while (place := changed(watched)) is None and not (timeout and self.now >= until):
            wait_for(self.pins.step())
        return place

    def elapse(self, picoseconds: int) -> None:
        until = self.now + picoseconds
        while self.now < until:
            wait_for(self.pins.step())

    def _map(self, view: memoryview) -> list[int]:
        """Give each page a bus address, in a row."""
        addresses = []
        for at in range(0, view.nbytes, PAGE_SIZE):
            self.memory.mapped[self._next] = view[at : at + PAGE_SIZE]
            addresses.append(self._next * PAGE_SIZE)
            self._next += 1
        return addresses
