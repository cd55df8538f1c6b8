"""Packets that hold parts of a rank's messages, and may be for several nodes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .base import Vocabulary


class SeenFragment(NamedTuple):
    """A packet, as read from its first words. `targets`: node, clients there (a bit for each) and number of the
    packet, of those that it is for. `begins`, `ends`: a message of `rank`. `envelope`: context and tag of one that
    begins; None if the words do not reach so far, or no message of the program begins. `expects`: of an
    acknowledgement: the number of the first packet that has not come."""

    source: int  # node
    type: int
    targets: tuple[tuple[int, int, int], ...] = ()
    rank: int = -1
    begins: bool = False
    ends: bool = False
    envelope: tuple[int, int] | None = None
    expects: int | None = None


@dataclass(frozen=True)
class Fragments(Vocabulary):
    """Packets hold the parts of a rank's messages, one message after the other, and may be for several nodes. What is
    sent again has its number.

    Attributes:
        see: a packet by its first words.
    """

    see: Callable[[Sequence[int]], SeenFragment]

    def text(self, words: Sequence[int]) -> str:
        if not words:
            return "packet"
        seen = self.see(words)
        rest = "".join(f"_to{node}_no{number}" for node, _, number in seen.targets)
        return f"{self.type_name(seen.type)}_from{seen.source}{rest}"
