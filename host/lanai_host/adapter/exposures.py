"""The part of a process's memory that the adapter may access: entries of its page table, and exposures, which name runs
of them (MB-03).
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lanai_hdl.errors import UserError
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.packets import word
from lanai_hdl.remote.tables import (
    DIRECTORY_PAGES,
    EXPOSURES,
    DirectoryWord,
    InUseWord,
    PlaceWord,
    Rights,
    exposure_at,
    in_use_at,
    page_at,
)

from ..bus.base import PAGE_SIZE, Bus, BusError, HostBuffer
from ..remote import Access
from .operation import Token

# Directories of walked exposures: pages of this process's memory that name the exposures' pages.


class Directories:
    """Memory for them. What was given back is used again, once no access can read it any more."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._free: list[HostBuffer] = []
        self._left: list[HostBuffer] = []  # given back, and an access that was allowed before may read them

    def fill(self, pages: Sequence[int]) -> tuple[HostBuffer, ...]:
        """Directories of pages with these bus addresses. Raises BusError if there is no memory for
        them."""
        filled: list[HostBuffer] = []
        for first in range(0, len(pages), DIRECTORY_PAGES):
            try:
                directory = self._free.pop() if self._free else self._bus.allocate(PAGE_SIZE)
            except (UserError, BusError, OSError) as error:
                self._free += filled
                count = directories_of(len(pages))
                raise BusError(
                    f"no memory for the {count} directories of {len(pages)} exposed pages: {error}"
                ) from error
            words = [
                word(DirectoryWord, page=page // PAGE_SIZE, valid=1) for page in pages[first : first + DIRECTORY_PAGES]
            ]
            directory.view[:] = b"".join(one.to_bytes(4, "big") for one in words).ljust(PAGE_SIZE, b"\0")
            filled.append(directory)
        return tuple(filled)

    def give_back(self, directories: Sequence[HostBuffer]) -> None:
        self._left += directories

    def reuse(self) -> None:
        """No access reads any more what was given back."""
        self._free += self._left
        self._left.clear()


def directories_of(pages: int) -> int:
    """Return how many directories name so many pages."""
    return -(-pages // DIRECTORY_PAGES)


# Entries of a process's page table at the adapter: which are taken.


class PageTable:
    """Runs of entries, first fit."""

    def __init__(self, entries: int) -> None:
        self.entries = entries
        self._taken = [False] * entries

    def take(self, count: int) -> int:
        """The first of `count` free entries in a row."""
        first = self._find(count)
        if first is None:
            raise self._full(count)
        self._taken[first : first + count] = [True] * count
        return first

    def check_room(self, count: int) -> None:
        """Raise UserError if there are no `count` free entries in a row."""
        if not self.has_room(count):
            raise self._full(count)

    def has_room(self, count: int) -> bool:
        """Return whether there are `count` free entries in a row."""
        return self._find(count) is not None

    def _find(self, count: int) -> int | None:
        run = 0
        for index, taken in enumerate(self._taken):
            run = 0 if taken else run + 1
            if run == count:
                return index + 1 - count
        return None

    def _full(self, count: int) -> UserError:
        return UserError(
            f"{count} entries do not fit into the adapter's page table: {self._taken.count(False)} of "
            f"{self.entries} entries"
            " (Remote.pages) are free; expose less at a time"
        )

    def give_back(self, first: int, count: int) -> None:
        self._taken[first : first + count] = [False] * count


LAST = (1 << 32) - 1  # of a word of an exposure that names a byte


@dataclass(frozen=True)
class Exposure:
    """Memory that others may access, with its `token`; or, with no access, that this process may
    name in its own commands.

    `pages` are the bus addresses of its pages, `first_page` the entry of the page table that has
    the first, or the first of the `directories` if it is walked.
    """

    number: int
    address: int
    size: int
    token: Token
    first_page: int
    pages: tuple[int, ...]
    again: bool = False  # its entries of the page table are another exposure's
    directories: tuple[HostBuffer, ...] = ()

    @property
    def walked(self) -> bool:
        return bool(self.directories)

    @property
    def entries(self) -> int:
        """The number of page table entries that it uses."""
        return len(self.directories or self.pages)

    def covers(self, address: int, size: int) -> bool:
        return self.address <= address and address + size <= self.address + self.size

    def offset(self, address: int) -> int:
        """Return the offset of a byte in the exposure's pages, as commands name it."""
        return self.token.first + address - self.address


class Exposures:
    """The exposures of process `process` of NIC `node`, and its page table. `key`: of all exposures; unless it is
    given, each has one of its own."""

    def __init__(self, bus: Bus, config: Remote, node: int, process: int, key: int | None = None) -> None:
        self._bus = bus
        self._node = node
        self._process = process
        self._pages = PageTable(config.pages)
        self._directories = Directories(bus)
        self._used: dict[int, Exposure] = {}
        self._key = key
        self._keys = random.Random(f"keys of process {process} of node {node}")

    def map_flags(self, bus_address: int) -> None:
        """Entry 0 of the page table is the page for flags. Before all else."""
        self._map(self._pages.take(1), [bus_address])

    def holding(self, address: int, size: int) -> Exposure | None:
        """One that holds all of these bytes."""
        for one in self._used.values():
            if one.covers(address, size):
                return one
        return None

    @property
    def most_pages(self) -> int:
        """The most pages that the page table could hold, if it were empty."""
        return self._pages.entries

    def fits(self, address: int, size: int) -> bool:
        """Return whether the page table has space for this memory's pages. If not, it can only be walked."""
        return self._pages.has_room(pages_of(address, size))

    def check_room(self, address: int, size: int, *, walked: bool = False) -> None:
        """Raise UserError if this memory cannot be exposed, or `walked`, beside what is."""
        if size < 1:
            raise UserError(f"size={size!r} must be at least 1: there is nothing to expose")
        if len(self._used) == EXPOSURES:
            raise UserError(f"a process has {EXPOSURES} exposures at most; conceal one first")
        if address % PAGE_SIZE + size > LAST:
            raise UserError(f"size={size!r}: an exposure ends before byte 2**32 - 1 of its pages")
        pages = pages_of(address, size)
        self._pages.check_room(directories_of(pages) if walked else pages)

    def add(
        self,
        address: int,
        size: int,
        pages: Sequence[int],
        access: Access,
        *,
        key: int | None = None,
        little: bool = True,
        walked: bool = False,
    ) -> Exposure:
        """Expose memory whose pages have these bus addresses. `key`: what must be shown; one is
        drawn unless given. `walked`: the pages stand in directories in this process's memory.

        Raises BusError if there is no memory for directories.
        """
        self.check_room(address, size, walked=walked)
        number = self._free_number()
        directories = self._directories.fill(pages) if walked else ()
        entries = [one.bus_address for one in directories] if walked else pages
        index = self._pages.take(len(entries))
        self._map(index, entries)
        if key is None:
            key = self._draw_key()
        first = address % PAGE_SIZE
        token = Token(self._node, self._process * EXPOSURES + number, key, first, size)
        exposure = Exposure(number, address, size, token, index, tuple(pages), directories=directories)
        self._write(exposure, access, little=little)
        self._used[number] = exposure
        return exposure

    def again(self, exposure: Exposure, access: Access, *, key: int | None = None) -> Exposure:
        """The same memory under another number, with a key and access of its own; no longer than
        `exposure` lasts. `key` as in `add`."""
        number = self._free_number()
        if key is None:
            key = self._draw_key()
        token = replace(exposure.token, exposure=self._process * EXPOSURES + number, key=key)
        second = replace(exposure, number=number, token=token, again=True)
        self._write(second, access, little=True)
        self._used[number] = second
        return second

    def remove(self, exposure: Exposure) -> None:
        """Accesses that come later fail. One that has been allowed may be under way: see
        `settle_accesses`."""
        if self._used.get(exposure.number) is not exposure:
            raise UserError(
                f"exposure {exposure.number} of {exposure.size} bytes at {exposure.address:#x} is not (any "
                "more) exposed"
            )
        self._bus.write(exposure_at(self._process, exposure.number) + 12, word(Rights, valid=0))
        del self._used[exposure.number]
        if not exposure.again:
            self._pages.give_back(exposure.first_page, exposure.entries)
            self._directories.give_back(exposure.directories)

    def settle_accesses(self) -> None:
        """Until no access uses what a lookup has allowed before."""
        offset = in_use_at(self._process)
        before = in_use(self._bus.read(offset))
        now = before
        while any(now[part] == before[part] and now[part][0] for part in range(2)):
            now = in_use(self._bus.read(offset))
        self._directories.reuse()

    def _free_number(self) -> int:
        number = next((n for n in range(EXPOSURES) if n not in self._used), None)
        if number is None:
            raise UserError(f"a process has {EXPOSURES} exposures at most; conceal one first")
        return number

    def _draw_key(self) -> int:
        return self._keys.randrange(1, 1 << 16) if self._key is None else self._key

    def _map(self, index: int, pages: Sequence[int]) -> None:
        data = b"".join((page // PAGE_SIZE).to_bytes(4, "big") for page in pages)
        self._bus.write_block(page_at(self._process, index), data)

    def _write(self, exposure: Exposure, access: Access, *, little: bool) -> None:
        token = exposure.token
        place = word(PlaceWord, key=token.key, page=exposure.first_page, walked=exposure.walked)
        rights = word(
            Rights,
            valid=1,
            read=Access.READ in access,
            write=Access.WRITE in access,
            atomic=Access.ATOMIC in access,
            append=Access.APPEND in access,
            signal=Access.SIGNAL in access,
            messages=Access.MESSAGES in access,
            little=little,
        )
        fields = (token.first, token.first + token.size, place, rights)
        data = b"".join(one.to_bytes(4, "big") for one in fields)
        self._bus.write_block(exposure_at(self._process, exposure.number), data)


def pages_of(address: int, size: int) -> int:
    """Return how many pages a range touches."""
    return (address % PAGE_SIZE + size - 1) // PAGE_SIZE + 1


def in_use(value: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """(busy, count) of the two parts of the adapter that access memory."""
    fields = InUseWord.from_bits(value)
    return (fields.server_busy, fields.server_count), (fields.sender_busy, fields.sender_count)
