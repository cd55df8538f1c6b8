"""Groups: ordered sets of processes, named by their world ranks."""

from collections.abc import Iterable, Sequence
from typing import Any

from .constants import PROC_NULL, UNDEFINED, Comparison
from .errors import ErrorClass, MpiError


class Group:
    """MPI_Group: immutable. `members[rank]` is a world rank; `rank` is this process's own, or
    UNDEFINED; `session` the session that it came from, if it came from one."""

    __slots__ = ("_positions", "me", "members", "rank", "session", "size")

    def __init__(self, members: Iterable[int], me: int, session: Any = None) -> None:
        self.members = tuple(members)
        self.session = session
        self.me = me
        self.size = len(self.members)
        self._positions = {world: rank for rank, world in enumerate(self.members)}
        self.rank = self._positions.get(me, UNDEFINED)

    def position(self, world: int) -> int:
        """The rank in this group of a world rank, or UNDEFINED."""
        return self._positions.get(world, UNDEFINED)

    def compare(self, other: "Group") -> Comparison:
        """MPI_Group_compare."""
        if self.members == other.members:
            return Comparison.IDENT
        if self.size == other.size and self._positions.keys() == other._positions.keys():
            return Comparison.SIMILAR
        return Comparison.UNEQUAL

    def translate(self, ranks: Sequence[int], other: "Group") -> list[int]:
        """MPI_Group_translate_ranks."""
        translated = []
        for rank in ranks:
            if rank == PROC_NULL:
                translated.append(PROC_NULL)
            else:
                self._check_rank("MPI_Group_translate_ranks", rank)
                translated.append(other.position(self.members[rank]))
        return translated

    def union(self, other: "Group") -> "Group":
        """MPI_Group_union."""
        return Group((*self.members, *(w for w in other.members if w not in self._positions)), self.me, self.session)

    def intersection(self, other: "Group") -> "Group":
        """MPI_Group_intersection."""
        return Group((w for w in self.members if w in other._positions), self.me, self.session)

    def difference(self, other: "Group") -> "Group":
        """MPI_Group_difference."""
        return Group((w for w in self.members if w not in other._positions), self.me, self.session)

    def include(self, ranks: Sequence[int]) -> "Group":
        """MPI_Group_incl."""
        self._check_ranks("MPI_Group_incl", ranks)
        return Group((self.members[rank] for rank in ranks), self.me, self.session)

    def exclude(self, ranks: Sequence[int]) -> "Group":
        """MPI_Group_excl."""
        self._check_ranks("MPI_Group_excl", ranks)
        left_out = set(ranks)
        return Group((w for rank, w in enumerate(self.members) if rank not in left_out), self.me, self.session)

    def include_ranges(self, ranges: Sequence[tuple[int, int, int]]) -> "Group":
        """MPI_Group_range_incl."""
        return self.include(self._expand("MPI_Group_range_incl", ranges))

    def exclude_ranges(self, ranges: Sequence[tuple[int, int, int]]) -> "Group":
        """MPI_Group_range_excl."""
        return self.exclude(self._expand("MPI_Group_range_excl", ranges))

    def first(self, count: int) -> "Group":
        """The first `count` processes."""
        return Group(self.members[:count], self.me, self.session)

    def _check_rank(self, call: str, rank: int) -> None:
        if not 0 <= rank < self.size:
            raise MpiError(ErrorClass.RANK, f"{call}: rank is {rank}, but the group has {self.size} processes")

    def _check_ranks(self, call: str, ranks: Sequence[int]) -> None:
        for rank in ranks:
            self._check_rank(call, rank)
        if len(set(ranks)) != len(ranks):
            twice = next(rank for rank in ranks if list(ranks).count(rank) > 1)
            raise MpiError(ErrorClass.RANK, f"{call}: rank {twice} is given more than once")

    def _expand(self, call: str, ranges: Sequence[tuple[int, int, int]]) -> list[int]:
        ranks: list[int] = []
        for first, last, stride in ranges:
            if stride == 0:
                raise MpiError(ErrorClass.ARG, f"{call}: the range ({first}, {last}, 0) has stride 0")
            if (last - first) * stride < 0:
                raise MpiError(ErrorClass.ARG, f"{call}: the range ({first}, {last}, {stride}) never reaches its end")
            count = abs(last - first) // abs(stride) + 1
            for rank in (first, first + (count - 1) * stride):
                self._check_rank(call, rank)
            ranks.extend(first + step * stride for step in range(count))
        return ranks
