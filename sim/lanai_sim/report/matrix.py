"""The communication matrix: messages and bytes from each rank to each, sizes, protocols."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..trace import Trace
from .messages import protocol_name


@dataclass
class Matrix:
    """`messages[i, j]` and `bytes[i, j]` went from rank i to rank j. `sizes`: messages by power of
    two (0: empty, 1: one byte, 2: 2 to 3, ...)."""

    messages: Any
    bytes: Any
    protocols: dict[tuple[int, int], Counter[str]]
    sizes: Counter[int]

    @property
    def all_protocols(self) -> Counter[str]:
        """Messages by protocol, all pairs together."""
        total: Counter[str] = Counter()
        for counts in self.protocols.values():
            total += counts
        return total


def matrix(trace: Trace) -> Matrix:
    ranks = trace.ranks
    made = Matrix(np.zeros((ranks, ranks), np.int64), np.zeros((ranks, ranks), np.int64), {}, Counter())
    for row in trace.messages:
        pair = int(row["source"]), int(row["target"])
        made.messages[pair] += 1
        made.bytes[pair] += row["bytes"]
        made.protocols.setdefault(pair, Counter())[protocol_name(row)] += 1
        made.sizes[int(row["bytes"]).bit_length()] += 1
    return made


def size_class(bits: int) -> str:
    """The sizes that a key of `Matrix.sizes` stands for."""
    if bits < 2:
        return str(bits)
    return f"{1 << (bits - 1):,} to {(1 << bits) - 1:,}"
