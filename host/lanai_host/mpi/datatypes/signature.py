"""Type signatures: the sequence of basic types behind a datatype, kept as a tree so that repeats
cost nothing."""

import enum
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np


class Basic(NamedTuple):
    """A basic type.

    Attributes:
        name: as MPI names it.
        kind: which reductions take it: "integer", "logical", "floating", "complex", "byte", "pair"
            or "" (none).
        size: bytes.
        external: bytes in the external32 representation.
        dtype: numpy's type for the same bytes, or None where numpy has none.
    """

    name: str
    kind: str
    size: int
    external: int
    dtype: "np.dtype[np.generic] | None"

    @property
    def shared_name(self) -> str:
        """The name of all types that hold the same kind of number of the same size, whatever their language calls
        them."""
        plain = self.name.removeprefix("MPI_")
        if plain in ("BYTE", "PACKED") or self.dtype is None or self.dtype.kind not in "iufc":
            return plain
        return f"{self.dtype.kind}{self.size}"


class Signature:
    """`parts` is a sequence of (basic type or signature, count)."""

    __slots__ = ("elements", "external", "parts", "single", "size")

    def __init__(self, parts: "tuple[tuple[Basic | Signature, int], ...]") -> None:
        if len(parts) == 1 and parts[0][1] == 1 and isinstance(parts[0][0], Signature):
            parts = parts[0][0].parts
        self.parts: tuple[tuple[Basic | Signature, int], ...] = parts
        self.size: int = sum(part.size * count for part, count in parts)
        self.external: int = sum(part.external * count for part, count in parts)
        self.elements: int = sum((part.elements if isinstance(part, Signature) else 1) * count for part, count in parts)
        singles = {part.single if isinstance(part, Signature) else part for part, _ in parts}
        self.single: Basic | None = singles.pop() if len(singles) == 1 else None

    def repeated(self, count: int) -> "Signature":
        return self if count == 1 else Signature(((self, count),) if count and self.elements else ())

    def whole_elements(self, size: int) -> int | None:
        """Return how many basic elements `size` bytes hold; None if they end inside an element."""
        elements, inside = 0, self
        while inside.single is None and size:
            if inside.size == 0:
                return None
            full, size = divmod(size, inside.size)
            elements += full * inside.elements
            cut: Basic | Signature | None = None
            for part, count in inside.parts if size else ():
                taken = min(count, size // part.size)
                elements += taken * (part.elements if isinstance(part, Signature) else 1)
                size -= taken * part.size
                if taken < count:
                    cut = part
                    break
            if size == 0:
                return elements
            if not isinstance(cut, Signature):
                return None
            inside = cut
        if inside.single is None:
            return elements
        full, rest = divmod(size, inside.single.size)
        return None if rest else elements + full

    def runs(self, count: int = 1) -> Iterator[tuple[Basic, int]]:
        """(basic type, how many) in order."""
        pending: list[tuple[Basic | Signature, int]] = [(self, count)]  # the next one last
        while pending:
            part, repeat = pending.pop()
            if isinstance(part, Basic):
                yield part, repeat
            elif part.single is not None:
                yield part.single, part.elements * repeat
            elif repeat:
                pending.append((part, repeat - 1))
                pending.extend(reversed(part.parts))


def signature_of(basic: Basic) -> Signature:
    return Signature(((basic, 1),))


# The constructors of datatypes, and the choices among their arguments.


class Combiner(enum.IntEnum):
    """Constructors, numbered as MPICH numbers them."""

    NAMED = 1
    DUP = 2
    CONTIGUOUS = 3
    VECTOR = 4
    HVECTOR = 6
    INDEXED = 7
    HINDEXED = 9
    INDEXED_BLOCK = 10
    STRUCT = 12
    SUBARRAY = 13
    DARRAY = 14
    F90_REAL = 15
    F90_COMPLEX = 16
    F90_INTEGER = 17
    RESIZED = 18
    HINDEXED_BLOCK = 19
    VALUE_INDEX = 20


class Order(enum.IntEnum):
    """The index of an array that varies fastest."""

    C = 56
    FORTRAN = 57


class Distribution(enum.IntEnum):
    """The way in which a dimension of a distributed array is dealt out."""

    BLOCK = 121
    CYCLIC = 122
    NONE = 123


DEFAULT_ARGUMENT = -49767  # MPI_DISTRIBUTE_DFLT_DARG
