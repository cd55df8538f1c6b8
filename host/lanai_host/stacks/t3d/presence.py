"""Words in each heap that tell which ranks have opened theirs, and which have left.

A rank tells all others when it opens its heap. One that is not there yet does not hear it: its own heap is not open,
and it tells the first when it comes.
"""

from collections.abc import Iterator

from ...bus.base import HostBuffer, Watched
from .heap import WORD

ABSENT, HERE, LEFT = 0, 1, 2


class Presence:
    """The state of the other ranks, as this rank has heard: absent, here, or left.

    Args:
        memory: this rank's heap.
        begin: offset of the words in it, one of each rank.

    Attributes:
        place: where this rank's word stands in the heaps of others.
    """

    def __init__(self, memory: HostBuffer, begin: int, ranks: int, rank: int) -> None:
        self._memory = memory
        self._begin = -(-begin // WORD.size) * WORD.size
        self._others = [other for other in range(ranks) if other != rank]
        self._met = {rank}  # they have heard this rank
        self.place = self._begin + WORD.size * rank

    @staticmethod
    def room(ranks: int) -> int:
        """The bytes that the words take at most."""
        return WORD.size * (ranks + 1)

    def hello(self) -> Iterator[tuple[int, bytes]]:
        """To whom to tell that this rank is here: the rank, and the word."""
        return ((rank, WORD.pack(HERE)) for rank in self._others)

    def farewell(self) -> Iterator[tuple[int, bytes]]:
        """To whom to tell that this rank has left."""
        return ((rank, WORD.pack(LEFT)) for rank in self._others if self.is_there(rank) and not self.has_left(rank))

    def meet(self, rank: int) -> None:
        """A rank has heard this one."""
        self._met.add(rank)

    def is_there(self, rank: int) -> bool:
        """Return whether a rank has opened its heap."""
        return rank in self._met or self._word(rank) != ABSENT

    def has_left(self, rank: int) -> bool:
        return self._word(rank) == LEFT

    def watched(self, rank: int) -> Watched:
        """The word that a rank writes when it comes, as it is until then."""
        return Watched(self._memory, self._begin + WORD.size * rank, WORD.pack(ABSENT))

    def _word(self, rank: int) -> int:
        found: int = WORD.unpack_from(self._memory.view, self._begin + WORD.size * rank)[0]
        return found
