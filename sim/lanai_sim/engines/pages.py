"""Host memory as a NIC's accesses reach it, page by page, for engines in Python."""

import ctypes
import os
from typing import Protocol

from lanai_hdl.machine import PAGE_SIZE


class Page(Protocol):
    """A page of some process. `read` and `write` raise OSError if it is gone."""

    @property
    def writable(self) -> bool: ...

    def read(self, offset: int) -> bytes:
        """Return the word at an offset."""

    def write(self, offset: int, data: bytes) -> None: ...


class _Local:
    """A page of this process's memory."""

    def __init__(self, address: int, writable: bool) -> None:
        self.address, self.writable = address, writable

    def read(self, offset: int) -> bytes:
        return ctypes.string_at(self.address + offset, 4)

    def write(self, offset: int, data: bytes) -> None:
        ctypes.memmove(self.address + offset, data, len(data))


class _Remote:
    """A page of another process's memory. `file` is its /proc/PID/mem."""

    def __init__(self, file: int, address: int, writable: bool) -> None:
        self.file, self.address, self.writable = file, address, writable

    def read(self, offset: int) -> bytes:
        data = os.pread(self.file, 4, self.address + offset)
        if len(data) < 4:
            raise OSError(f"{len(data)} of 4 bytes at {self.address + offset:#x}")
        return data

    def write(self, offset: int, data: bytes) -> None:
        os.pwrite(self.file, data, self.address + offset)


class HostPages:
    """The bus pages of one NIC."""

    def __init__(self) -> None:
        self._pages: dict[int, Page] = {}
        self._memories: dict[int, int] = {}  # pid -> its /proc/PID/mem

    def map_local(self, page: int, address: int, writable: bool) -> None:
        self._pages[page] = _Local(address, writable)

    def map_remote(self, page: int, pid: int, address: int, writable: bool) -> None:
        if pid not in self._memories:
            try:
                self._memories[pid] = os.open(f"/proc/{pid}/mem", os.O_RDWR | os.O_CLOEXEC)
            except OSError:  # every access is refused, as for a page that is not mapped
                self._pages.pop(page, None)
                return
        self._pages[page] = _Remote(self._memories[pid], address, writable)

    def unmap(self, page: int) -> None:
        self._pages.pop(page, None)

    def read(self, address: int) -> int:
        """Return the word at an aligned bus address. Raises OSError if there is none."""
        return int.from_bytes(self._page(address).read(address % PAGE_SIZE), "big")

    def write(self, address: int, data: int, be: int) -> int:
        """Write the enabled bytes of a word. Return what the word is then. Raises OSError if it cannot be written."""
        page, offset = self._page(address), address % PAGE_SIZE
        if not page.writable:
            raise OSError(f"page {address // PAGE_SIZE} may not be written")
        octets = data.to_bytes(4, "big")
        if be == 0b1111:
            page.write(offset, octets)
            return data
        for lane in range(4):
            if be >> (3 - lane) & 1:
                page.write(offset + lane, octets[lane : lane + 1])
        return int.from_bytes(page.read(offset), "big")

    def _page(self, address: int) -> Page:
        page = self._pages.get(address // PAGE_SIZE)
        if page is None:
            raise OSError(f"page {address // PAGE_SIZE} is not there")
        return page

    def close(self) -> None:
        for file in self._memories.values():
            os.close(file)
        self._memories.clear()
