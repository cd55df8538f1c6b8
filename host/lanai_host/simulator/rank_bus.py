"""A rank process's bus: the NIC through the client. Each call blocks this process."""

import errno
import json
import mmap
import os
from collections.abc import Mapping, Sequence

from .. import process_memory
from ..bus.base import (
    PAGE_SIZE,
    Bus,
    BusError,
    HostBuffer,
    KnownPoll,
    Pinned,
    Slept,
    Watched,
    changed,
    words_of,
)
from ..config import HostCosts
from ..device import Envelope
from ..errors import UserError
from ..operation import Wait
from ..source_lines import located
from .client import SimulatorClient, SimulatorError
from .protocol import TEXT, Op, pack_wait
from .requests import (
    ALLOCATE,
    BUS_ADDRESS,
    LOOK,
    PIN,
    PINNED,
    PIO_READ,
    PIO_WRITE,
    UNPIN,
    WAITED,
    Allocate,
    BusAddress,
    Pin,
    PioRead,
    Unpin,
    pack_wait_any,
    pack_wait_word,
)


class RankBus(Bus):
    """PIO writes and unpinning are posted, everything else blocks. Allocated memory is shared with
    the simulator, pinned memory is reached in place, at the simulated moment."""

    def __init__(self, client: SimulatorClient, host: HostCosts) -> None:
        self.client = client
        self.host = host
        self._buffers: list[mmap.mmap] = []

    @property
    def now(self) -> int:
        return self.client.clock

    def read(self, offset: int) -> int:
        return int.from_bytes(self.read_block(offset, 4), "big")

    def write(self, offset: int, value: int) -> None:
        self.write_block(offset, (value & 0xFFFFFFFF).to_bytes(4, "big"))

    def write_block(self, offset: int, data: bytes) -> None:
        self.client.clock += self.host.pio_write
        self.client.post(Op.PIO_WRITE, PIO_WRITE.struct.pack(offset) + data)

    def read_block(self, offset: int, size: int) -> bytes:
        self.client.charge(self.host.pio_read)
        return self._call(Op.PIO_READ, PIO_READ.pack(PioRead(offset, size)))

    def write_then(self, offset: int, data: bytes, register: int, value: int) -> None:
        price, place = self.host.pio_write, PIO_WRITE.struct.pack
        word = (value & 0xFFFFFFFF).to_bytes(4, "big")
        self.client.clock += price
        self.client.post_two(Op.PIO_WRITE, place(offset) + data, price, place(register) + word)

    def wait_change(self, buffer: HostBuffer, offset: int, seen: int, why: Wait | None = None, timeout: int = 0) -> int:
        located_why = pack_wait(None if why is None else located(why))
        self._call(Op.WAIT_ANY, pack_wait_word(buffer.bus_address + offset, seen, timeout, located_why))
        return int.from_bytes(buffer.view[offset : offset + 4], "big")

    def allocate(self, size: int, shared: bool = False) -> HostBuffer:
        size = max(1, -(-size // PAGE_SIZE)) * PAGE_SIZE
        handle = process_memory.memory_file("lanai")
        try:
            _resize(handle, size)
            memory = mmap.mmap(handle, size)
            asked = ALLOCATE.pack(Allocate(handle, size, shared))
            first = BUS_ADDRESS.unpack(self._call(Op.ALLOC, asked)).address
        finally:
            os.close(handle)
        self._buffers.append(memory)
        return HostBuffer(first, memoryview(memory))

    def pin(self, address: int, size: int, writable: bool) -> Pinned:
        if not process_memory.claim(address, size, writable):
            raise BusError(f"cannot pin {size} bytes at {address:#x}: not all {'writable' if writable else 'readable'}")
        head, pages = PINNED.split(self._call(Op.PIN, PIN.pack(Pin(address, size, writable))))
        addresses = tuple(page for (page,) in BUS_ADDRESS.struct.iter_unpack(pages))
        return Pinned(address, size, writable, addresses, head.token)

    def unpin(self, pinned: Pinned) -> None:
        self.client.post(Op.UNPIN, UNPIN.pack(Unpin(pinned.token)))

    def wait_any(self, watched: Sequence[Watched], why: Wait | None = None, timeout: int = 0) -> int | None:
        located_why = None if why is None else located(why)
        self._call(Op.WAIT_ANY, pack_wait_any(words_of(watched), timeout, pack_wait(located_why)))
        return changed(watched)

    def look_and_wait(
        self, watched: Sequence[Watched], look: KnownPoll, why: Wait | None = None, timeout: int = 0
    ) -> Slept | None:
        """Each step is a request of its own in a traced run, and where this process's own time counts."""
        if self.client.sink is not None or self.client.watchful:
            return super().look_and_wait(watched, look, why, timeout)
        located_why = None if why is None else located(why)
        decisive = words_of(look.decisive) if look.decisive else []
        wait = pack_wait_any(words_of(watched) + decisive, timeout, pack_wait(located_why))
        place = min(look.place, 0)
        for one in watched[: max(look.place, 0)]:
            place += len(one.seen) // 4
        value = int.from_bytes(look.value, "big")
        head = LOOK.struct.pack(look.picoseconds, place, value, look.noting, look.first, len(decisive))
        noted, polls, waited = WAITED.struct.unpack(self._call(Op.LOOK_AND_WAIT, head + wait))
        others = look.decisive or ((*watched[: look.place], *watched[look.place + 1 :]) if noted else watched)
        return Slept(waited > 0, bool(noted), changed(others) is not None, polls)

    def work(self, picoseconds: int, watched: Sequence[Watched], why: Wait | None = None) -> None:
        located_why = None if why is None else located(why)
        self._call(Op.WORK, pack_wait_any(words_of(watched), picoseconds, pack_wait(located_why)))

    def store(self, bus_address: int, data: bytes) -> None:
        self._call(Op.STORE, BUS_ADDRESS.pack(BusAddress(bus_address), data))

    def elapse(self, picoseconds: int) -> None:
        """Time passes for this process; others see it at its next blocking request."""
        self.client.clock += picoseconds

    def catch_up(self) -> None:
        self.client.catch_up()

    def report_lost(self, rank: int, text: str) -> None:
        self._call(Op.REPORT_LOST, text.encode(*TEXT))

    def lost(self) -> Mapping[int, str]:
        return {int(rank): text for rank, text in json.loads(self._call(Op.LOST, b"")).items()}

    def unreceived(self) -> Sequence[Envelope]:
        """Return the messages on the NIC that no receive of this process had taken when this process last waited.
        The simulator reads them from its memory, where the firmware may be in the midst of a change."""
        return [Envelope(*one) for one in json.loads(self.client.ask(Op.UNRECEIVED))]

    def examine(self) -> str | None:
        """The simulator is the trusted half."""
        return self._call(Op.EXAMINE, b"").decode(*TEXT) or None

    def _call(self, op: Op, payload: bytes) -> bytes:
        try:
            return self.client.call(op, payload)
        except SimulatorError as error:
            raise BusError(str(error)) from error


def _resize(handle: int, size: int) -> None:
    """Give memory that rank and simulator share this size. The limit on the size of files counts for it."""
    try:
        os.ftruncate(handle, size)
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        raise UserError(f"cannot share {size:,} bytes of memory with the NIC; raise `ulimit -f`") from error
