"""A rank's NIC where the rank is kept restartable: its process may be replaced while the NIC goes
on."""

import ctypes
import mmap
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lanai_hdl.machine import PAGE_SIZE
from lanai_host.simulator.protocol import Op
from lanai_host.simulator.requests import ALLOCATE

from ..nic_service import RankAccess
from ..rank_service import Refused
from ..request import Request
from .log import Write

# Pages of a rank's own memory that its NIC may reach, mirrored in this process.
#
# A NIC reaches the mirror only, so a rank that dies does not take away what its NIC reads and writes; and what the
# NIC has written is found by comparison, so that it can be written again. Rank and NIC take turns: the mirror is
# loaded when the rank begins to wait, and what changed goes to the rank before it runs.


CHUNK = 64  # pages that are allocated together
MOST_AT_ONCE = 512  # pages in one system call
APART = 16  # equal bytes between two changes that are told apart

Bytes = npt.NDArray[np.uint8]


class Change(NamedTuple):
    address: int
    data: bytes


def changes(before: Bytes, now: Bytes, address: int) -> Iterator[Change]:
    """Yield where two arrays differ. `address` is that of their first byte."""
    found = np.flatnonzero(before != now)
    if found.size:
        for run in np.split(found, np.flatnonzero(np.diff(found) > APART) + 1):
            first, last = int(run[0]), int(run[-1])
            yield Change(address + first, now[first : last + 1].tobytes())


class Held(NamedTuple):
    """A mirrored page, and what it was when it was loaded."""

    now: Bytes
    before: Bytes


class Mirror:
    """The pages of one process, by their addresses there."""

    def __init__(self) -> None:
        self._pages: dict[int, Held] = {}
        self._users: dict[int, int] = {}
        self._free: list[Held] = []
        self._runs: list[list[int]] | None = None  # pages in a row

    def hold(self, address: int, file: int) -> int:
        """Mirror a page. Where the mirror lies. `file` is the process's memory."""
        if address not in self._pages:
            if not self._free:
                self._allocate()
            self._pages[address] = self._free.pop()
            self._runs = None
            self._load_run([address], file)
        self._users[address] = self._users.get(address, 0) + 1
        return ctypes.addressof(ctypes.c_char.from_buffer(self._pages[address].now.data))

    def release(self, address: int) -> None:
        """One user less. The page stays until its changes have been taken."""
        self._users[address] -= 1

    def load(self, file: int) -> bool:
        """Take what the process has there now. False if some of it cannot be read."""
        if self._runs is None:
            addresses = sorted(self._pages)
            numbered = groupby(enumerate(addresses), lambda entry: entry[1] - PAGE_SIZE * entry[0])
            self._runs = [[address for _, address in run] for _, run in numbered]
        return self._load_runs(self._runs, file)

    def take_changes(self) -> list[Change]:
        """Return the differences from the contents that were loaded, and drop pages without users."""
        found = [
            change
            for address, held in sorted(self._pages.items())
            if not np.array_equal(held.now, held.before)
            for change in changes(held.before, held.now, address)
        ]
        for address in [address for address, users in self._users.items() if not users]:
            del self._users[address]
            self._free.append(self._pages.pop(address))
            self._runs = None
        return found

    def _load_runs(self, runs: list[list[int]], file: int) -> bool:
        """All of them, though some cannot be read."""
        sound = True
        for run in runs:
            sound &= self._load_run(run, file)
        return sound

    def _load_run(self, run: list[int], file: int) -> bool:
        sound = True
        for begin in range(0, len(run), MOST_AT_ONCE):
            part = run[begin : begin + MOST_AT_ONCE]
            views = [self._pages[address].now.data for address in part]
            try:
                got = os.preadv(file, views, part[0])
            except OSError:
                got = 0
            if got < PAGE_SIZE * len(part):
                if len(part) > 1:  # a page of them has been unmapped since it was pinned
                    sound &= self._load_runs([[address] for address in part], file)
                    continue
                sound = False
            for address in part:
                self._pages[address].before[:] = self._pages[address].now
        return sound

    def _allocate(self) -> None:
        memory = np.frombuffer(mmap.mmap(-1, CHUNK * PAGE_SIZE), np.uint8).reshape(CHUNK, PAGE_SIZE)
        before = np.zeros((CHUNK, PAGE_SIZE), np.uint8)
        self._free += [Held(memory[i], before[i]) for i in range(CHUNK)]


OWN = -1  # the rank's own memory, in a `Write`
FAILED = 2**64 - 1  # answer of mmap(2)


class RestartableRankAccess(RankAccess):
    """Pinned pages are mirrored; what the rank has allocated for its NIC is shared with it, and
    compared with what it was when the rank began to wait."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.revive: Callable[[], bool] = lambda: False  # has the rank's process ended, and been restarted?
        self._mirror = Mirror()
        self._addresses: dict[int, int] = {}  # of mirrored pages, by bus page
        self._file = -1  # the process's memory
        self._before: list[Bytes] = []  # the allocated buffers when the rank began to wait
        self._waits = False
        self._undelivered: list[Write] = []
        self._repeated = 0  # buffers that the restarted rank has

    async def connect(self, pid: int) -> None:
        await super().connect(pid)
        self._open(pid)

    # Turns of rank and NIC

    def arrived(self) -> bool:
        self._before = [buffer.copy() for buffer in self._arrays()]
        self._waits = True
        return self._file < 0 or self._mirror.load(self._file)

    async def come_to(self, clock: int) -> None:
        await self.cluster.kernel.until(clock, self.number)

    def delivered(self) -> tuple[Sequence[Write], int]:
        own = [Write(OWN, *change) for change in self._mirror.take_changes()]
        for write in own:
            self._write_own(write)
        writes = own + self._shared_changes()
        self._waits = False
        return writes, sum(len(write.data) for write in writes)

    def _shared_changes(self) -> list[Write]:
        arrays = self._arrays()
        return [
            Write(number, *change)
            for number, (before, now) in enumerate(zip(self._before, arrays, strict=True))
            for change in changes(before, now, 0)
        ]

    def _arrays(self) -> list[Bytes]:
        return [np.frombuffer(memory, np.uint8) for _, memory in self._buffers]

    # Restart

    def kept(self) -> object:
        return [before.copy() for before in self._before]

    def lost(self) -> None:
        self._undelivered = self._shared_changes() if self._waits else []

    def restore(self, kept: object, pid: int) -> None:
        assert isinstance(kept, list)
        self._pid = pid
        self._open(pid)
        for number, buffer in enumerate(self._arrays()):
            buffer[:] = kept[number] if number < len(kept) else 0
        self._repeated = len(kept)

    def apply(self, writes: Sequence[Write]) -> None:
        arrays = self._arrays()
        for write in writes:
            if write.buffer == OWN:
                self._write_own(write)
            else:
                arrays[write.buffer][write.address : write.address + len(write.data)] = np.frombuffer(
                    write.data, np.uint8
                )

    def repeated(self, request: Request) -> None:
        """The rank has allocated a buffer again: it takes the place of the one before, which NIC
        and simulator know."""
        if request.op == Op.ALLOC and self._repeated < len(self._buffers):
            handle = ALLOCATE.unpack(request.payload).file
            _, memory = self._buffers[self._repeated]
            file = os.open(f"/proc/{self._pid}/fd/{handle}", os.O_RDWR | os.O_CLOEXEC)
            try:
                _map_at(ctypes.addressof(ctypes.c_char.from_buffer(memory)), len(memory), file)
            finally:
                os.close(file)
            self._repeated += 1

    def restored(self) -> None:
        self.apply(self._undelivered)
        self._undelivered = []

    def _open(self, pid: int) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = os.open(f"/proc/{pid}/mem", os.O_RDWR | os.O_CLOEXEC)

    def _write_own(self, write: Write) -> None:
        with suppress(OSError):  # it has died, and this is written again; or the program has unmapped it
            os.pwrite(self._file, write.data, write.address)

    # Bus pages

    async def _serve(self, op: int, payload: bytes, clock: int) -> tuple[int, bytes]:
        while True:
            try:
                return await super()._serve(op, payload, clock)
            except (Refused, OSError):
                if op not in (Op.PIN, Op.ALLOC) or not self.revive():
                    raise

    def _map_pinned(self, page: int, address: int, writable: bool) -> None:
        self._addresses[page] = address
        local = self._mirror.hold(address, self._file)
        self.node.engine.map_local(self.node.number, page, local, writable)

    def _unmap_pinned(self, page: int) -> None:
        self._mirror.release(self._addresses.pop(page))
        super()._unmap_pinned(page)

    def _allocate(self, handle: int, size: int, shared: int) -> int:
        address = super()._allocate(handle, size, shared)
        self._before.append(self._arrays()[-1].copy())
        return address

    def _free_buffers(self) -> None:
        """They stay as long as the rank may have to be restarted."""

    def free(self) -> None:
        """The run is over."""
        super()._free_buffers()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _map_at(address: int, size: int, file: int) -> None:
    """Map a file where something is mapped already, which goes."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_size_t
    libc.mmap.argtypes = [ctypes.c_size_t, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    fixed = mmap.MAP_SHARED | 0x10  # MAP_FIXED
    if libc.mmap(address, size, mmap.PROT_READ | mmap.PROT_WRITE, fixed, file, 0) == FAILED:
        raise OSError(ctypes.get_errno(), "cannot map a restarted rank's memory")


assert PAGE_SIZE == mmap.PAGESIZE
