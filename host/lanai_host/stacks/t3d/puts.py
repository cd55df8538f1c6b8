"""Puts, and questions to other ranks' memory: this rank's requests to its NIC, in order (T3-01)."""

import struct
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol

from lanai_firmware.lang import offset_of, sizeof
from lanai_firmware.programs.put.layout import (
    BUS,
    CLOSED,
    FLAG,
    INLINE_WORDS,
    KIND_AT,
    RING,
    Border,
    Counter,
    Kind,
    Request,
)
from lanai_firmware.programs.put_barrier.layout import BARRIER
from lanai_hdl.machine import SRAM_HOST, host_offset

from ...bus.base import Bus, HostBuffer
from ...config import HostCost
from ...host_model.meter import Meter
from .heap import HeapLayout

DOORBELL = host_offset("DOORBELL")
FIELDS = struct.Struct(">5I")  # of a request, behind its inline words
ASK = struct.Struct(">II")  # result, operand
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


class Memory(Protocol):
    """Memory that begins with the NIC's counters."""

    memory: HostBuffer
    view: memoryview

    def counter(self, which: Counter) -> int: ...


class Question(NamedTuple):
    """`kind` about `size` bytes there; the answer goes to the bus address `result` of this host."""

    kind: int
    there: Remote
    result: int
    size: int = 4
    operand: int = 0


class Puts:
    """A queue of puts and questions. What the NIC has no room for waits here. None overtakes
    another on its way to the NIC.

    `heap` has the NIC's counters at its start. `staging` is memory for a request that is written:
    its offset there, by number. The NIC knows the routes.
    """

    def __init__(
        self,
        bus: Bus,
        heap: Memory,
        staging: Callable[[int], int],
        border: int,
        meter: Meter,
    ) -> None:
        self._bus = bus
        self._heap = heap
        self._staging = staging
        self._border = SRAM_HOST + border
        self._meter = meter
        self._waiting: deque[Put | Question] = deque()
        self.asked = 0  # puts and questions; one's number is what this is after it
        self._questions = 0
        self._written = 0  # requests written to the NIC

    def open(self) -> None:
        """Tell the NIC where this rank's heap is. Packets may wait for it."""
        self._bus.write(self._border + int(offset_of(Border, "heap")), self._heap.memory.bus_address)
        self._bus.write(DOORBELL, 1)

    def close(self) -> None:
        """Take this host's memory away from the NIC, which drops what arrives from now on.

        Returns when the NIC will not reach the memory any more.
        """
        released = self._border + int(offset_of(Border, "released"))
        self._bus.write(self._border + int(offset_of(Border, "heap")), int(CLOSED))
        self._bus.write(DOORBELL, 1)
        while not self._bus.read(released):
            self._bus.elapse(LOOK)

    def put(self, put: Put) -> int:
        """Queue a put; its number. `push` sends it on."""
        self._waiting.append(put)
        self.asked += 1
        return self.asked

    def ask(self, question: Question) -> None:
        """Queue a question. `push` sends it on."""
        self._waiting.append(question)
        self._questions += 1
        self.asked += 1

    def barrier(self, rank: int, bits: int, result: int) -> None:
        """Queue a change of this NIC's barrier bits (`put_barrier.layout`), asked by `rank` itself. The
        switch's go to the bus address `result` of this host. `push` sends it on."""
        self._waiting.append(Question(int(BARRIER), Remote(rank, 0), result, size=0, operand=bits))
        self.asked += 1

    def fence(self, rank: int, result: int) -> None:
        """Queue a fence: puts behind it leave once all earlier puts to a rank have arrived."""
        self.ask(Question(Kind.FENCE, Remote(rank, 0), result, size=0))

    def put_last(self, end: Remote, data: bytes, fixed: bytes, layout: HeapLayout) -> None:
        """Put `data` and behind it, at `end`, `fixed`, which tells that the data are there.

        One put where puts keep their order.
        """
        before = end._replace(address=end.address - len(data))
        if not layout.options.adaptive:
            self.put(Put(before, data + fixed))
            return
        if data:
            self.put(Put(before, data))
            if layout.options.fence:
                self.fence(end.rank, self._heap.memory.bus_address + layout.nothing)
        self.put(Put(end, fixed))

    @property
    def unanswered(self) -> int:
        return (self._questions - self._heap.counter(Counter.ANSWERED)) & 0xFFFF_FFFF

    def completed(self, number: int) -> bool:
        """Return whether the put of that number and all before it have been read, so that their memory may change."""
        left = self.asked - self._done
        return number <= self.asked - left

    @property
    def _done(self) -> int:
        """Puts completed. The NIC counts with 32 bits."""
        unfinished = (self._written - self._heap.counter(Counter.COMPLETED)) & 0xFFFF_FFFF
        return self._written - unfinished

    def push(self) -> None:
        """Write as many requests as the NIC has room for."""
        rung = False
        while self._waiting and self._written - self._done < int(RING):
            self._write(self._waiting.popleft())
            rung = True
        if rung:
            self._bus.write(DOORBELL, 1)

    def _write(self, one: Put | Question) -> None:
        slot = self._written % int(RING)
        self._written += 1
        inline, source, length = self._question(one) if isinstance(one, Question) else self._put(one)
        length |= int(BUS) * one.there.on_bus
        fields = FIELDS.pack(one.there.rank, one.there.address, length, source, self._written & 0xFFFF_FFFF)
        end = self._border + (slot + 1) * int(sizeof(Request))
        self._meter.spend(HostCost.POST)
        self._bus.write_block(end - len(fields) - len(inline), inline + fields)

    def _question(self, question: Question) -> tuple[bytes, int, int]:
        inline = ASK.pack(question.result, question.operand & 0xFFFF_FFFF)
        return inline, 0, question.size | question.kind << int(KIND_AT)

    def _put(self, put: Put) -> tuple[bytes, int, int]:
        """Bytes in the request, else the bus address of them; and the word `length`."""
        inline, source, size = b"", put.source, put.size or len(put.data)
        if put.data and size <= INLINE and size % 4 == 0:
            inline = put.data
        elif put.data:
            source = self._stage(put.data)
        return inline, source, size | int(FLAG) * put.flag

    def _stage(self, data: bytes) -> int:
        """Copy to the memory of the request that is being written; its bus address."""
        place = self._staging(self._written - 1)
        self._heap.view[place : place + len(data)] = data
        return self._heap.memory.bus_address + place
