"""SHMEM for programs: put, get, swap, fetch-and-increment, fence, quiet, barrier, on NICs of the device `t3d`.

    from lanai_host import shmem

    with shmem.start(heap=65_536) as heap:
        flag = heap.allocate(4)
        heap.put_bytes(1 - heap.rank, flag, b"...!")
        heap.barrier()

Start such a program with `lanai run --device t3d`. A process uses either this or MPI.
"""

import os
from types import TracebackType
from typing import Self

from .config import HostConfig
from .errors import UserError
from .plain import restored
from .simulator.client import SimulatorClient
from .simulator.protocol import ENV_DEVICE
from .simulator.rank_bus import RankBus
from .stacks.t3d.attachments import attachment_of
from .stacks.t3d.symmetric import Symmetric, SymmetricError

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
