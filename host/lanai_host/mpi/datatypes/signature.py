"""Type signatures: the sequence of basic types behind a datatype, kept as a tree so that repeats cost nothing."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np


class Basic(NamedTuple):
    """A basic type.

    Attributes:
        name: as MPI names it.
        kind: which reductions take it: "integer", "logical", "floating", "complex", "byte", "pair" or "" (none).
        size: bytes.
        external: bytes in the external32 representation.
        dtype: numpy's type for the same bytes, or None where numpy has none.
    """

    name: str
    kind: str
    size: int
    external: int
    dtype: "np.dtype[np.generic] | None"


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
        """How many basic elements `size` bytes hold; None if they end inside an element."""
        if self.single is not None:
            full, rest = divmod(size, self.single.size)
            return None if rest else full
        if self.size == 0:
            return None if size else 0
        full, size = divmod(size, self.size)
        elements = full * self.elements
        for part, count in self.parts:
            if size == 0:
                break
            taken = min(count, size // part.size)
            elements += taken * (part.elements if isinstance(part, Signature) else 1)
            size -= taken * part.size
            if taken < count and size:
                inner = part.whole_elements(size) if isinstance(part, Signature) else None
                return None if inner is None else elements + inner
        return elements

    def runs(self, count: int = 1) -> Iterator[tuple[Basic, int]]:
        """(basic type, how many) in order."""
        if self.single is not None:
            yield self.single, self.elements * count
            return
        for _ in range(count):
            for part, repeat in self.parts:
                if isinstance(part, Signature):
                    yield from part.runs(repeat)
                else:
                    yield part, repeat


def signature_of(basic: Basic) -> Signature:
    return Signature(((basic, 1),))
