"""Data representations: how data lies in the file, and the way between that and memory."""

from collections.abc import Callable
from typing import NamedTuple

from ..datatypes import Datatype, matching
from ..datatypes.arrays import external, with_extents
from ..errors import ErrorClass, MpiError
from ..memory import Scratch

# (address of the data in memory, datatype, count, address of the file's bytes, position in the
# user's buffer in elements)
Conversion = Callable[[int, Datatype, int, int, int], None]


class Representation:
    """The bytes in the file are those in memory: "native" and "internal"."""

    converts = False

    def __init__(self, name: str) -> None:
        self.name = name

    def in_file(self, datatype: Datatype) -> Datatype:
        """The datatype as it lies in the file."""
        return datatype

    def size(self, count: int, datatype: Datatype) -> int:
        """Bytes of the stream that `count` elements take."""
        return count * self.in_file(datatype).size

    def encode(self, address: int, count: int, datatype: Datatype, target: int) -> None:
        """Write the stream's bytes to `target`."""
        datatype.pack(address, count, target)

    def decode(self, source: int, size: int, address: int, count: int, datatype: Datatype) -> int:
        """Put `size` bytes of the stream into a buffer; how many bytes of data in memory that
        makes."""
        return datatype.unpack(source, address, count, 0, size)


NATIVE = Representation("native")


class External32(Representation):
    """Big-endian, with the sizes that MPI fixes."""

    converts = True

    def in_file(self, datatype: Datatype) -> Datatype:
        return external(datatype)

    def size(self, count: int, datatype: Datatype) -> int:
        return matching.size(count, datatype)

    def encode(self, address: int, count: int, datatype: Datatype, target: int) -> None:
        matching.pack(address, count, datatype, target)

    def decode(self, source: int, size: int, address: int, count: int, datatype: Datatype) -> int:
        return matching.unpack_part(source, size, address, count, datatype)


class Registered(Representation):
    """One of the program's own (MPI_Register_datarep). Without a conversion function data is copied
    as it is."""

    converts = True

    def __init__(
        self, name: str, read: Conversion | None, write: Conversion | None, extent: Callable[[Datatype], int]
    ) -> None:
        super().__init__(name)
        self._read, self._write, self._extent = read, write, extent

    def in_file(self, datatype: Datatype) -> Datatype:
        return with_extents(datatype, self._extent)

    def encode(self, address: int, count: int, datatype: Datatype, target: int) -> None:
        if self._write is None:
            datatype.pack(address, count, target)
        else:
            self._write(address, datatype, count, target, 0)

    def decode(self, source: int, size: int, address: int, count: int, datatype: Datatype) -> int:
        if self._read is None:
            return datatype.unpack(source, address, count, 0, size)
        whole = size // max(1, self.in_file(datatype).size)
        if whole:
            self._read(address, datatype, whole, source, 0)
        return whole * datatype.size


class Registry(NamedTuple):
    """The representations of one process, by name."""

    known: dict[str, Representation]

    def find(self, call: str, name: str) -> Representation:
        if name not in self.known:
            raise MpiError(
                ErrorClass.UNSUPPORTED_DATAREP,
                f"{call}: datarep is {name!r}; there are {', '.join(sorted(self.known))}",
            )
        return self.known[name]

    def add(self, representation: Representation, longest: int) -> None:
        """MPI_Register_datarep."""
        name = representation.name
        if name in self.known:
            raise MpiError(ErrorClass.DUP_DATAREP, f"MPI_Register_datarep: datarep {name!r} is there already")
        if not 0 < len(name.encode(errors="surrogateescape")) < longest:
            raise MpiError(
                ErrorClass.ARG, f"MPI_Register_datarep: datarep is {name!r}; it must have 1 to {longest - 1} bytes"
            )
        self.known[name] = representation


def registry() -> Registry:
    """The three that MPI defines."""
    return Registry({one.name: one for one in (NATIVE, Representation("internal"), External32("external32"))})


def encoded(representation: Representation, address: int, count: int, datatype: Datatype) -> Scratch:
    """The stream's bytes of a buffer."""
    scratch = Scratch(representation.size(count, datatype))
    representation.encode(address, count, datatype, scratch.address)
    return scratch
