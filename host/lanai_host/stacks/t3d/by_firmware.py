"""Puts by firmware: this rank's requests to the ring of its NIC, in order (T3-01)."""

import struct
from collections import deque
from collections.abc import Callable, Sequence

from lanai_firmware.lang import offset_of, sizeof
from lanai_firmware.programs.put.layout import BUS, CLOSED, FLAG, INLINE_WORDS, KIND_AT, RING, Border, Counter, Request
from lanai_firmware.programs.put_barrier.layout import BARRIER, LOST
from lanai_hdl.barrier.csr import BITS
from lanai_hdl.machine import SRAM_HOST, host_offset

from ...bus.base import PAGE_SIZE, Bus, HostBuffer, KnownPoll, Pinned, Watched
from ...config import HostCost
from ...host_model.meter import Meter, fail
from ...operation import DeviceError, ErrorKind, Operation
from ..pinning import pieces_of
from .heap import WORD
from .puts import Put, Puts, Question, Remote, Window, Words, never

DOORBELL = host_offset("DOORBELL")
FIELDS = struct.Struct(">5I")  # of a request, behind its inline words
ASK = struct.Struct(">II")  # result, operand
LOOK = 1_000_000  # picoseconds between two looks whether the NIC has let go of the heap
REQUEST = int(sizeof(Request))
INLINE = 4 * int(INLINE_WORDS)


class FirmwarePuts(Puts):
    """Requests to the firmware. What the NIC has no room for waits here.

    `memory`, the heap, has the NIC's counters at its start. `staging` is memory for a request that is written:
    its offset there, by number. The NIC knows the routes.
    """

    longest_put = 32_768  # a length has 16 bits
    longest_get = 832  # chosen: a put moves twice as much in the same time, as t3d.s2.put_vs_get has it

    def __init__(
        self,
        bus: Bus,
        memory: HostBuffer,
        staging: Callable[[int], int],
        border: int,
        meter: Meter,
        most_pages: int = 1,
    ) -> None:
        self.memory = memory
        self.most_pages = most_pages
        self.news = 0  # the counters' sum
        self._bus = bus
        self._staging = staging
        self._border = SRAM_HOST + border
        self._meter = meter
        self._waiting: deque[Put | Question] = deque()
        self.asked = 0
        self._questions = 0
        self._written = 0  # requests written to the NIC

    def open(self) -> None:
        """Tell the NIC where this rank's heap is. Packets may wait for it."""
        self._bus.write(self._border + int(offset_of(Border, "heap")), self.memory.bus_address)
        self._bus.write(DOORBELL, 1)

    def close(self, orderly: bool = True, lost: Callable[[], bool] = never) -> None:
        """Returns when the NIC will not reach the memory any more. It drops what arrives from now on."""
        released = self._border + int(offset_of(Border, "released"))
        self._bus.write(self._border + int(offset_of(Border, "heap")), int(CLOSED))
        self._bus.write(DOORBELL, 1)
        while not self._bus.read(released) and not lost():
            self._bus.elapse(LOOK)

    def abandon(self) -> None:
        self._waiting.clear()

    @property
    def failure(self) -> DeviceError | None:
        faults = self._counter(Counter.FAULTS)
        return DeviceError(ErrorKind.NIC_LOST, f"{faults} packets or accesses that failed") if faults else None

    def put(self, put: Put) -> int:
        self._waiting.append(put)
        self.asked += 1
        return self.asked

    def put_runs(self, rank: int, names: Sequence[int], pinned: Pinned, runs: Sequence[tuple[int, int]]) -> None:
        """Each put ends where a page does, here or there."""
        pages = iter(names)
        name = room = 0  # the place of the next part, and what is left of its page
        for address, size in runs:
            while size:
                if not room:
                    name = next(pages)
                    room = PAGE_SIZE - name % PAGE_SIZE
                here = min(room, size)
                for source, part in pieces_of(pinned, address, here):
                    self.put(Put(Remote(rank, name, named=True), source=source, size=part))
                    name += part
                address, size, room = address + here, size - here, room - here

    def ask(self, question: Question) -> None:
        self._waiting.append(question)
        self._questions += 1
        self.asked += 1

    def share(self, memory: HostBuffer) -> int:
        """All memory has a name: its bus address."""
        return memory.bus_address

    def window(self, pinned: Pinned, address: int, size: int) -> Window:
        return Window([name for name, _ in pieces_of(pinned, address, size)])

    def close_window(self, window: Window) -> None:
        """Nothing is protected within a job."""

    def barrier(self, rank: int, bits: int, result: int) -> None:
        """Queue a change of this NIC's barrier bits (`put_barrier.layout`), asked by `rank` itself. The
        switch's go to the bus address `result` of this host. `push` sends it on."""
        self._waiting.append(Question(int(BARRIER), Remote(rank, 0), result, size=0, operand=bits))
        self.asked += 1

    @property
    def unanswered(self) -> int:
        return (self._questions - self._counter(Counter.ANSWERED)) & 0xFFFF_FFFF

    def completed(self, number: int) -> bool:
        left = self.asked - self._done
        return number <= self.asked - left

    @property
    def _done(self) -> int:
        """Puts completed. The NIC counts with 32 bits."""
        unfinished = (self._written - self._counter(Counter.COMPLETED)) & 0xFFFF_FFFF
        return self._written - unfinished

    def look(self, words: Words) -> None:
        self.news = self._counter(Counter.SUM)

    def watched(self, words: Words) -> list[Watched]:
        """The counters' sum: it changes with whatever comes or ends."""
        return [Watched(self.memory, WORD.size * Counter.SUM, WORD.pack(self.news))]

    def known_poll(self, watched: Sequence[Watched], words: Sequence[Watched], picoseconds: int) -> KnownPoll | None:
        if self._waiting:
            return None
        faults = Watched(self.memory, WORD.size * Counter.FAULTS, WORD.pack(0))
        return KnownPoll(picoseconds, decisive=[*words, faults])

    def push(self) -> None:
        rung = False
        while self._waiting and self._written - self._done < int(RING):
            self._write(self._waiting.popleft())
            rung = True
        if rung:
            self._bus.write(DOORBELL, 1)

    def _counter(self, which: Counter) -> int:
        found: int = WORD.unpack_from(self.memory.view, WORD.size * which)[0]
        return found

    def _write(self, one: Put | Question) -> None:
        slot = self._written % int(RING)
        self._written += 1
        inline, source, length = self._question(one) if isinstance(one, Question) else self._put(one)
        length |= int(BUS) * one.there.named
        fields = FIELDS.pack(one.there.rank, one.there.address, length, source, self._written & 0xFFFF_FFFF)
        end = self._border + (slot + 1) * REQUEST
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
        self.memory.view[place : place + len(data)] = data
        return self.memory.bus_address + place


# Barriers of all ranks by the barrier tree: a bit of the NIC is inverted, and the switch's follows
# when those of all NICs are.


class Barriers:
    """This rank's barriers. Those of one `bit` are begun in the same order at all ranks; a bit has
    one under way at a time, and the others wait here."""

    def __init__(self, bus: Bus, puts: FirmwarePuts, rank: int) -> None:
        self._memory = bus.allocate(WORD.size)  # what the switch said last, written by the NIC
        self._puts = puts
        self._rank = rank
        self._bits = 0  # this NIC's
        self._queues: dict[int, deque[Operation]] = {bit: deque() for bit in range(BITS)}

    def begin(self, bit: int) -> Operation:
        """Queue a barrier. `Puts.push` sends it on."""
        operation = Operation()
        queue = self._queues[bit]
        queue.append(operation)
        if len(queue) == 1:
            self._ask(bit)
        return operation

    def look(self) -> None:
        """End the barriers that are passed, and begin the next ones. `Puts.push` sends them on."""
        seen = self._seen
        for bit, queue in self._queues.items():
            if queue and not (seen ^ self._bits) >> bit & 1:
                queue.popleft().done = True
                if queue:
                    self._ask(bit)

    @property
    def lost(self) -> bool:
        """The tree is lost. Nothing is passed any more."""
        return bool(self._seen & int(LOST))

    @property
    def idle(self) -> bool:
        return not any(self._queues.values())

    def fail_all(self, kind: ErrorKind, text: str) -> None:
        for queue in self._queues.values():
            for operation in queue:
                fail(operation, kind, text)
            queue.clear()

    @property
    def _seen(self) -> int:
        found: int = WORD.unpack_from(self._memory.view)[0]
        return found

    def _ask(self, bit: int) -> None:
        self._bits ^= 1 << bit
        self._puts.barrier(self._rank, 1 << bit, self._memory.bus_address)
