"""Buffers of collectives: one block, the same block for each process, or blocks of each process's
own size and place."""

from collections.abc import Sequence
from typing import NamedTuple

from ..buffers import copy_elements
from ..constants import IN_PLACE
from ..datatypes import Datatype
from . import checks
from .link import Link


class Part(NamedTuple):
    """One block: what goes to, or comes from, one process."""

    address: int
    elements: int
    datatype: Datatype

    @property
    def size(self) -> int:
        """Bytes of data."""
        return self.elements * self.datatype.size

    @property
    def in_place(self) -> bool:
        return self.address == IN_PLACE

    def at(self, index: int) -> "Part":
        """The block `index` places further on."""
        return self._replace(address=self.address + index * self.elements * self.datatype.extent)

    def repeated(self, count: int) -> list["Part"]:
        """This block and those that follow it, one for each process."""
        return [self.at(index) for index in range(count)]


def copy_own(link: Link, send: Part, receive: Part) -> None:
    """The block that a process sends to itself."""
    link.check_own(send.size, receive.size)
    copy_elements(*send, *receive)


class Spread(NamedTuple):
    """The blocks of a v form: displacements count elements."""

    address: int
    counts: Sequence[int]
    displacements: Sequence[int]
    datatype: Datatype

    @property
    def in_place(self) -> bool:
        return self.address == IN_PLACE

    def parts(self, link: Link, name: str) -> list[Part]:
        """A part for each process. `name` is the counts' argument, for the error when one is
        negative."""
        buffer = name.replace("counts", "buf")
        checks.no_in_place(link, self.address, buffer)
        checks.counts(link, name, self.counts, self.datatype)
        parts = [
            Part(self.address + displacement * self.datatype.extent, count, self.datatype)
            for count, displacement in zip(self.counts, self.displacements, strict=True)
        ]
        if self.address <= 0:
            for part in parts:
                checks.buffer(link, *part, buffer)
        return parts


class Mixed(NamedTuple):
    """The blocks of a w form: displacements count bytes, each block has a datatype of its own."""

    address: int
    counts: Sequence[int]
    displacements: Sequence[int]
    datatypes: Sequence[Datatype]

    @property
    def in_place(self) -> bool:
        return self.address == IN_PLACE

    def parts(self, link: Link, name: str) -> list[Part]:
        """A part for each process, checked. `name` is the buffer's argument."""
        checks.no_in_place(link, self.address, name)
        parts = [
            Part(self.address + displacement, count, datatype)
            for count, displacement, datatype in zip(self.counts, self.displacements, self.datatypes, strict=True)
        ]
        for part in parts:
            checks.buffer(link, *part, name)
        return parts


Buffer = Part | Spread | Mixed
