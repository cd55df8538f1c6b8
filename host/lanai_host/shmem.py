"""SHMEM for programs: put, get, swap, fetch-and-increment, fence, quiet, barrier, on NICs of the device `t3d`.

    from lanai_host import shmem

    with shmem.start(heap=65_536) as heap:
        flag = heap.allocate(4)
        heap.put_bytes(1 - heap.rank, flag, b"...!")
        heap.barrier()

Start such a program with `lanai run --device t3d`. A process uses either this or MPI.
"""

import os
from collections.abc import Callable
from types import TracebackType
from typing import Self

from lanai_firmware.programs.put.layout import BODY, COUNTERS, RING, Kind

from .bus.base import PAGE_SIZE, Bus, HostBuffer, Watched
from .config import HostConfig, HostCost, HostCosts
from .errors import UserError
from .host_model.meter import Meter
from .operation import DeviceError, Wait
from .plain import restored
from .simulator.client import SimulatorClient
from .simulator.protocol import ENV_DEVICE
from .simulator.rank_bus import RankBus
from .stacks.t3d.attachments import AnyAttachment, attachment_of
from .stacks.t3d.by_firmware import Barriers, FirmwarePuts
from .stacks.t3d.heap import WORD
from .stacks.t3d.puts import Put, Question, Remote

# A symmetric heap without MPI: what SHMEM offers, over the same puts that the device uses (T3-01, T3-02).
#
# One rank's part of the heap holds the NIC's counters, flags of barriers, one word for answers,
# staging for puts, and then what `allocate` gives, which is at the same offset at all ranks.
#
# Barriers in a row use two sets of flags in turn. A network that does not keep the order of puts could
# otherwise bring the flag of a barrier after that of the next, and a rank would wait for it for ever. The
# next barrier but one cannot begin before all flags of the first have arrived.


FLAGS = WORD.size * int(COUNTERS)  # of barriers: two sets, one word a round
ROUNDS = 16
ANSWER = FLAGS + 2 * WORD.size * ROUNDS
STAGING = ANSWER + WORD.size
BIT = 0  # of the barrier tree
BEGIN = -(-(STAGING + int(RING) * int(BODY)) // PAGE_SIZE) * PAGE_SIZE


class SymmetricError(Exception):
    """The NIC met a failure, after which nothing can be trusted."""

    def __init__(self, error: DeviceError) -> None:
        super().__init__(error.text)
        self.error = error


class Memory:
    """This rank's part."""

    def __init__(self, memory: HostBuffer) -> None:
        self.memory = memory
        self.view = memory.view

    def word(self, offset: int) -> int:
        found: int = WORD.unpack_from(self.view, offset)[0]
        return found


class Symmetric:
    """The symmetric heap as one rank sees it.

    Offsets count from the start of the heap; `size` bytes can be allocated.
    """

    def __init__(self, bus: Bus, attachment: AnyAttachment, costs: HostCosts, size: int) -> None:
        self.rank = attachment.rank
        self.count = attachment.ranks
        self._bus = bus
        self._meter = meter = Meter(costs, bus.elapse)
        self._adaptive = bool(attachment.chosen.adaptive)
        self._puts = puts = attachment.puts(bus, meter, BEGIN + size, lambda n: STAGING + n % int(RING) * int(BODY))
        self.heap = Memory(puts.memory)
        self._next, self._end = BEGIN, BEGIN + size
        self._put_to: set[int] = set()  # ranks, since the last fence or quiet
        self._barriers = 0
        self._tree = Barriers(bus, puts, self.rank) if isinstance(puts, FirmwarePuts) and attachment.tree else None

    def open(self) -> None:
        self._puts.open()

    def close(self) -> None:
        """All ranks must call it: what others still ask of this one is answered before."""
        self.barrier()
        self._puts.close()

    def allocate(self, size: int) -> int:
        """The offset of `size` bytes, the same at all ranks if all allocate the same in the same order."""
        offset = self._next
        end = offset + -(-size // 8) * 8
        if size < 0 or end > self._end:
            left = self._end - offset
            raise UserError(f"cannot allocate {size} bytes: the symmetric heap has {left} left; open a larger one")
        self._next = end
        return offset

    def put(self, rank: int, target: int, source: int, size: int) -> None:
        """Copy from `source` here to `target` there. Returns when the bytes have been read: they may change."""
        self._call(rank, target, size)
        self._check(source, size)
        self._put_to.add(rank)
        number = 0
        piece = self._puts.longest_put
        for at in range(0, size, piece):
            here = self.heap.memory.bus_address + source + at
            number = self._puts.put(Put(Remote(rank, target + at), source=here, size=min(piece, size - at)))
        self._until(lambda: self._puts.completed(number), "put")

    def put_bytes(self, rank: int, target: int, data: bytes) -> None:
        """The same with bytes that are not in the heap."""
        self._call(rank, target, len(data))
        self._put_to.add(rank)
        for at in range(0, len(data), int(BODY)):
            self._puts.put(Put(Remote(rank, target + at), data[at : at + int(BODY)]))
        self._puts.push()

    def get(self, rank: int, source: int, target: int, size: int) -> None:
        """Copy from `source` there to `target` here. Returns when the bytes are here."""
        self._call(rank, source, size)
        self._check(target, size)
        piece = self._puts.longest_get
        for at in range(0, size, piece):
            here = self.heap.memory.bus_address + target + at
            self._puts.ask(Question(Kind.GET, Remote(rank, source + at), here, min(piece, size - at)))
        self._until(lambda: not self._puts.unanswered, "get")

    def swap(self, rank: int, target: int, value: int) -> int:
        """Replace a word there; what it was."""
        return self._change(Kind.SWAP, rank, target, value)

    def fetch_add(self, rank: int, target: int, value: int = 1) -> int:
        """Add to a word there; what it was."""
        return self._change(Kind.ADD, rank, target, value)

    def fence(self) -> None:
        """Order puts: those behind the fence arrive at a rank behind those before it.

        On the T3D nothing needs to be done.
        """
        if self._adaptive:
            self._fence_all()
            self._puts.push()

    def quiet(self) -> None:
        """Return when all that was put is in memory there."""
        self._fence_all()
        self._until(lambda: not self._puts.unanswered, "quiet")

    def barrier(self) -> None:
        """Return when all ranks have called it, and all that they have put before is there.

        By the barrier tree if the NICs have it; else a round doubles whom a rank knows of.
        """
        self.quiet()
        if self._tree is not None:
            operation = self._tree.begin(BIT)
            self._until(lambda: operation.done, "barrier")
            return
        self._barriers += 1
        distance, number = 1, self._barriers % 2 * ROUNDS
        while distance < self.count:
            flag = FLAGS + WORD.size * number
            self._puts.put(Put(Remote((self.rank + distance) % self.count, flag), WORD.pack(self._barriers)))
            self._until(lambda place=flag: self.heap.word(place) >= self._barriers, "barrier", flag)  # type: ignore[misc]
            distance, number = 2 * distance, number + 1

    def wait_until(self, offset: int, value: int) -> None:
        """Return when a word here, which another rank writes, has a value."""
        self._check(offset, WORD.size)
        self._until(lambda: self.heap.word(offset) == value, "wait_until", offset)

    def _change(self, kind: Kind, rank: int, target: int, value: int) -> int:
        self._call(rank, target, WORD.size)
        result = self.heap.memory.bus_address + ANSWER
        self._puts.ask(Question(kind, Remote(rank, target), result, operand=value))
        self._until(lambda: not self._puts.unanswered, kind.name.lower())
        return self.heap.word(ANSWER)

    def _fence_all(self) -> None:
        for rank in sorted(self._put_to):
            self._puts.fence(rank, self.heap.memory.bus_address + ANSWER)
        self._put_to.clear()

    def _call(self, rank: int, offset: int, size: int) -> None:
        if not 0 <= rank < self.count:
            raise UserError(f"rank {rank} is not there; there are {self.count}, from 0")
        self._check(offset, size)
        self._meter.spend(HostCost.ADDRESS_CHECK, 2)  # of the place there and of that here: no entry to MPI

    def _check(self, offset: int, size: int) -> None:
        if offset < BEGIN or size < 0 or offset + size > self._end:
            raise UserError(f"{size} bytes at offset {offset} are not in the symmetric heap, {BEGIN} to {self._end}")

    def _until(self, done: Callable[[], bool], what: str, place: int = ANSWER) -> None:
        """Wait, and let requests that had no room in the NIC leave meanwhile. `place`: of the word that a peer is to
        write."""
        self._bus.catch_up()
        begin = place - place % WORD.size
        while True:
            word = Watched(self.heap.memory, begin, bytes(self.heap.view[begin : begin + WORD.size]))
            self._puts.look(lambda word=word: [word])  # type: ignore[misc]
            if failure := self._puts.failure:
                text = f"the NIC of rank {self.rank} met {failure.text}"
                raise SymmetricError(DeviceError(failure.kind, text))
            self._puts.push()
            self._meter.spend(HostCost.POLL)
            if self._tree is not None:
                self._tree.look()
            if done():
                return
            self._bus.wait_any(self._puts.watched(lambda word=word: [word]), Wait(f"shmem {what}"))  # type: ignore[misc]


__all__ = ["Shmem", "SymmetricError", "start"]


class Shmem:
    """One rank's symmetric heap. `rank` of `count`; offsets are those that `allocate` gives.

    Methods return when the memory here may be used again. `put` says nothing of when the bytes are there: `quiet` and
    `barrier` do.
    """

    def __init__(self, client: SimulatorClient, size: int) -> None:
        costs = restored(HostConfig, client.config.get("host", {}))
        self._client = client
        self._heap = Symmetric(RankBus(client, costs), attachment_of(client.config["nic"]), costs, size)
        self.rank, self.count = self._heap.rank, self._heap.count
        self._heap.open()
        self.barrier()

    def allocate(self, size: int) -> int:
        """Memory of the heap: its offset, the same at all ranks if all allocate the same in the same order."""
        return self._heap.allocate(size)

    def view(self, offset: int, size: int) -> memoryview:
        """Bytes of this rank's part."""
        return self._heap.heap.view[offset : offset + size]

    def put(self, rank: int, target: int, source: int, size: int) -> None:
        """Copy bytes of the heap to another rank's."""
        self._heap.put(rank, target, source, size)

    def put_bytes(self, rank: int, target: int, data: bytes) -> None:
        """Copy bytes to another rank's heap."""
        self._heap.put_bytes(rank, target, data)

    def get(self, rank: int, source: int, target: int, size: int) -> None:
        """Copy bytes of another rank's heap to this one's."""
        self._heap.get(rank, source, target, size)

    def swap(self, rank: int, target: int, value: int) -> int:
        """Replace a word of 32 bits there in one step; what it was."""
        return self._heap.swap(rank, target, value)

    def fetch_add(self, rank: int, target: int, value: int) -> int:
        """Add to a word of 32 bits there in one step; what it was."""
        return self._heap.fetch_add(rank, target, value)

    def fetch_increment(self, rank: int, target: int) -> int:
        """Add one to a word of 32 bits there in one step; what it was."""
        return self._heap.fetch_add(rank, target)

    def fence(self) -> None:
        """Order: what is put to a rank later does not arrive before what was put there."""
        self._heap.fence()

    def quiet(self) -> None:
        """Wait until all that was put is there."""
        self._heap.quiet()

    def barrier(self) -> None:
        """Wait for all ranks, and for what they have put."""
        self._heap.barrier()

    def wait_until(self, offset: int, value: int) -> None:
        """Wait until a word of 32 bits here has a value."""
        self._heap.wait_until(offset, value)

    def now(self) -> float:
        """Simulated seconds."""
        return self._client.clock / 1e12

    def close(self) -> None:
        """Leave, with all other ranks."""
        self._heap.close()
        self._client.finalize()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self.close()


def start(heap: int = 1 << 20) -> Shmem:
    """Open the symmetric heap with `heap` bytes to allocate. All ranks must call it alike."""
    client = SimulatorClient.from_environment()
    if client is None:
        raise UserError("shmem needs NICs; start the program with: lanai run --device t3d -n RANKS PROGRAM")
    if (device := os.environ.get(ENV_DEVICE, "ideal")) != "t3d":
        raise UserError(
            f"shmem runs on the device t3d, not on {device!r}; start the program with: lanai run --device t3d"
        )
    return Shmem(client, heap)
