"""A model of an adapter's tables and of its host's memory: what `Lookup` and `MatchStage` keep, in plain Python."""

from dataclasses import dataclass, field

from ..machine import PAGE_SIZE
from .lookup_port import Need
from .messages import receipt_at
from .packets import Status, boot_code
from .parameters import RemoteParameters
from .reference_messages import ReferenceMatching
from .tables import DIRECTORY_PAGES, NIBBLE, PAGE_BITS, DirectoryWord

WORD = 4  # bytes


@dataclass
class ReferenceExposure:
    """The four words of an exposure."""

    first: int = 0
    end: int = 0
    key: int = 0
    page: int = 0
    valid: bool = False
    read: bool = False
    write: bool = False
    atomic: bool = False
    little: bool = False
    append: bool = False
    signal: bool = False
    messages: bool = False
    walked: bool = False

    def allows(self, need: Need) -> bool:
        return {
            Need.READ: self.read,
            Need.WRITE: self.write,
            Need.ATOMIC: self.atomic,
            Need.APPEND: self.append,
            Need.SEND: self.messages,
        }[need]


@dataclass(frozen=True)
class ReferenceMap:
    """The map of a page of the aperture."""

    peer: int
    exposure: int
    key: int
    page: int


@dataclass
class ReferenceNic:
    """One NIC's tables, and its host's memory: `memory` has a bytearray for each bus page that the
    host lets the NIC reach."""

    config: RemoteParameters
    memory: dict[int, bytearray] = field(default_factory=dict)
    windows: dict[int, int] = field(default_factory=dict)  # the upper bits of a process's bus addresses
    exposures: dict[tuple[int, int], ReferenceExposure] = field(default_factory=dict)
    pages: dict[tuple[int, int], int] = field(default_factory=dict)
    maps: dict[tuple[int, int], ReferenceMap] = field(default_factory=dict)  # of the aperture's pages
    stored: dict[int, Status] = field(default_factory=dict)  # a failure since a process's last NOP
    marked: set[tuple[int, int]] = field(default_factory=set)  # NICs and processes of which a BOUND write was refused
    matching: dict[int, ReferenceMatching] = field(default_factory=dict)  # of each process
    barred: set[tuple[int, int, int]] = field(default_factory=set)  # NICs and processes, and to which process
    signals: int = 0  # records that interrupt the host
    lost: set[int] = field(default_factory=set)  # NICs with which no session is open
    boot: int = boot_code(1)  # as packets to this NIC name it

    def lookup(
        self, owner: int, number: int, need: Need, key: int, offset: int, length: int
    ) -> tuple[Status, int, bool]:
        """(status, bus address, little) as `Lookup` answers."""
        exposure = self.exposures.get((owner, number), ReferenceExposure())
        status = self._judge(owner, exposure, need, key, offset, length)
        page = 0
        if status is Status.OK:
            find = self._walk if exposure.walked else self._entry
            status, page = find(owner, exposure.page, offset // PAGE_SIZE)
        return status, page * PAGE_SIZE + offset % PAGE_SIZE, exposure.little

    def _entry(self, owner: int, first: int, page: int) -> tuple[Status, int]:
        """Look a page of a run that begins at `first` up in the page table of a process."""
        return self._inside(owner, self.pages.get((owner, (first + page) % self.config.pages), 0))

    def _inside(self, owner: int, page: int) -> tuple[Status, int]:
        inside = self.windows.get(owner) == page >> (PAGE_BITS - NIBBLE)
        return (Status.OK if inside else Status.PAGE), page

    def _walk(self, owner: int, first: int, page: int) -> tuple[Status, int]:
        """Look a page up in the directories of an exposure, the first of which is entry `first`."""
        status, directory = self._entry(owner, first, page // DIRECTORY_PAGES)
        if status is not Status.OK:
            return status, 0
        found = self.read(directory * PAGE_SIZE + page % DIRECTORY_PAGES * WORD, WORD)
        if found is None:
            return Status.BUS, 0
        entry = DirectoryWord.from_bits(int.from_bytes(found, "big"))
        return self._inside(owner, entry.page) if entry.valid else (Status.PAGE, 0)

    def _judge(self, owner: int, exposure: ReferenceExposure, need: Need, key: int, offset: int, length: int) -> Status:
        if owner >= self.config.processes or not exposure.valid:
            return Status.EXPOSURE
        if need is not Need.OWN:
            if key != exposure.key:
                return Status.KEY
            if not exposure.allows(need):
                return Status.RIGHT
        inside = exposure.first <= offset and offset + length <= exposure.end
        return Status.OK if inside and offset % PAGE_SIZE + length <= PAGE_SIZE else Status.RANGE

    def read(self, address: int, length: int) -> bytes | None:
        """None if the host refuses."""
        page = self.memory.get(address // PAGE_SIZE)
        return None if page is None else bytes(page[address % PAGE_SIZE :][:length])

    def tell(self, owner: int, slot: int, receipt: bytes) -> None:
        """Write the receipt of a slot."""
        self.tell_at(owner, receipt_at(slot), receipt)

    def tell_at(self, owner: int, at: int, receipt: bytes) -> None:
        """Write a receipt to page 0 of a process's page table."""
        status, page = self._entry(owner, 0, 0)
        if status is Status.OK:
            self.write(page * PAGE_SIZE + at, receipt)

    def write(self, address: int, data: bytes) -> bool:
        page = self.memory.get(address // PAGE_SIZE)
        if page is not None:
            page[address % PAGE_SIZE : address % PAGE_SIZE + len(data)] = data
        return page is not None
