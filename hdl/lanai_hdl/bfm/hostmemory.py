"""Host memory, as the NIC's bus master sees it."""

import random
from collections import deque

from ..machine import PAGE_SIZE
from .pins import Pins


class HostMemory:
    """Answers the beats of a `HostMemoryPort`; all memory exists and is zero until written.

    `refused` holds page numbers whose beats are answered with an error and change nothing.
    `latency` slots pass between a beat and its answer. With `pause`, a chance, slots come in which
    no beat is taken. `log` keeps (slot, write, address) of every beat.
    """

    def __init__(self, pins: Pins, *, latency: int = 1, pause: float = 0.0, seed: int = 0) -> None:
        if latency < 1:
            raise ValueError(f"latency={latency!r}: an answer comes at least one slot after its beat")
        self.pins = pins
        self.latency = latency
        self.pause = pause
        self.chance = random.Random(seed)
        self.pages: dict[int, bytearray] = {}
        self.refused: set[int] = set()
        self.log: list[tuple[int, bool, int]] = []
        self.slot = 0

    def page(self, number: int) -> bytearray:
        return self.pages.setdefault(number, bytearray(PAGE_SIZE))

    def load(self, address: int, data: bytes) -> None:
        for index, byte in enumerate(data, address):
            self.page(index // PAGE_SIZE)[index % PAGE_SIZE] = byte

    def dump(self, address: int, size: int) -> bytes:
        return bytes(self.page(a // PAGE_SIZE)[a % PAGE_SIZE] for a in range(address, address + size))

    def _beat(self, write: int, address: int, wdata: int, be: int) -> tuple[int, int]:
        """Performs a beat; gives (rdata, rerror)."""
        self.log.append((self.slot, bool(write), address))
        if address // PAGE_SIZE in self.refused:
            return 0xDEADDEAD, 1
        page, at = self.page(address // PAGE_SIZE), address % PAGE_SIZE
        if not write:
            return int.from_bytes(page[at : at + 4], "big"), 0
        for lane, byte in enumerate(wdata.to_bytes(4, "big")):
            if be >> (3 - lane) & 1:
                page[at + lane] = byte
        return 0, 0

    async def serve(self) -> None:
        """Serves for ever."""
        pins = self.pins
        due: deque[tuple[int, int, int]] = deque()
        ready = 1
        while True:
            pins.set(ready=ready)
            valid, write, address, wdata, be = await pins.step("valid", "write", "addr", "wdata", "be")
            self.slot += 1
            if valid and ready:
                due.append((self.slot + self.latency - 1, *self._beat(write, address, wdata, be)))
            if due and due[0][0] <= self.slot:
                _, rdata, rerror = due.popleft()
                pins.set(rvalid=1, rdata=rdata, rerror=rerror)
            else:
                pins.set(rvalid=0)
            ready = int(self.chance.random() >= self.pause)
