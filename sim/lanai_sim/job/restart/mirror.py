"""Pages of a rank's own memory that its NIC may reach, mirrored in this process.

A NIC reaches the mirror only, so a rank that dies does not take away what its NIC reads and writes;
and what the NIC has written is found by comparison, so that it can be written again. Rank and NIC
take turns: the mirror is loaded when the rank begins to wait, and what changed goes to the rank
before it runs.
"""

import ctypes
import mmap
import os
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lanai_hdl.machine import PAGE_SIZE

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
