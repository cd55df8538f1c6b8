"""The reason why nothing can happen any more: the graph of who waits for whom, and the wait that closed its
circle."""

import re
from collections.abc import Mapping, Sequence

from lanai_host.operation import Wait

from ..units import format_time
from .waiting import RankState, ranks_text

_COLLECTIVE = re.compile(r"collective (\d+) on ")  # how the note of a wait in a blocking one begins


def explain(ranks: Sequence[RankState], deadlock: bool = True) -> list[str]:
    """Lines on who waits for whom: the circle of waits and which of them came last; or whom the
    ranks wait for in vain.

    In a deadlock nothing is on its way and no rank runs code. Where a run was ended by a limit or a
    signal, only waits count that no rank which may still go on could end: not one in a collective for a rank
    that has passed it, as what that has sent is on its way. No wait has closed a circle then.
    """
    by_rank = {one.rank: one for one in ranks}
    circle = circle_of(ranks, deadlock)
    if circle:
        certain = deadlock or all(by_rank[rank].coming is False for rank in circle)
        return _circle([by_rank[rank] for rank in circle], len(stuck_behind(circle, by_rank)), certain, deadlock)
    return _in_vain(by_rank, deadlock)


def circle_of(ranks: Sequence[RankState], deadlock: bool) -> list[int]:
    """Return ranks of which each waits for the next, as in `explain`; empty if there is no circle."""
    stuck = {one.rank for one in ranks} if deadlock else find_stuck(ranks)
    by_rank = {} if deadlock else {one.rank: one for one in ranks}
    return find_circle(
        {one.rank: [rank for rank in _awaited(one, by_rank) if rank in stuck] for one in ranks if one.rank in stuck}
    )


def find_stuck(ranks: Sequence[RankState]) -> set[int]:
    """Ranks that wait for what only ranks could do that wait themselves, or are over; unless
    something unknown is on its way."""
    by_rank = {one.rank: one for one in ranks}
    free = {one.rank for one in ranks if one.coming or (one.wait is None and not one.over)}
    while True:
        waiting = [one for one in ranks if one.wait is not None and one.rank not in free]
        more = {one.rank for one in waiting if _may_end(one, by_rank, free)}
        if not more:
            return {one.rank for one in ranks} - free
        free |= more


def _awaited(one: RankState, by_rank: Mapping[int, RankState]) -> list[int]:
    """Return the ranks that a rank awaits, but for those that have passed the collective for which it does."""
    mine = _collective(one.wait)
    theirs = {rank: _collective(by_rank[rank].wait) for rank in one.awaits if rank in by_rank} if mine else {}
    return [rank for rank in one.awaits if not _passed(mine, theirs.get(rank))]


def _collective(wait: Wait | None) -> tuple[int | None, int] | None:
    """Return the communicator's context and the number of the blocking collective that a rank waits in, if any."""
    if wait is None or wait.call.startswith("MPI_I") or (found := _COLLECTIVE.match(wait.note)) is None:
        return None
    return wait.context, int(found[1])


def _passed(mine: tuple[int | None, int] | None, theirs: tuple[int | None, int] | None) -> bool:
    return mine is not None and theirs is not None and mine[0] == theirs[0] and mine[1] < theirs[1]


def _may_end(one: RankState, by_rank: Mapping[int, RankState], free: set[int]) -> bool:
    """Could these ranks end the wait?"""
    assert one.wait is not None
    awaited = set(_awaited(one, by_rank))
    return not awaited or (awaited <= free if one.wait.every else bool(awaited & free))


def find_circle(awaits: Mapping[int, Sequence[int]]) -> list[int]:
    """The first circle of waits, each for the next and the last for the first; empty if there is
    none."""
    finished: set[int] = set()
    for start in sorted(awaits):
        path: list[int] = []
        choices = [iter((start,))]
        while choices:
            rank = next(choices[-1], None)
            if rank is None:
                choices.pop()
                if path:
                    finished.add(path.pop())
            elif rank in path:
                return path[path.index(rank) :]
            elif rank not in finished and rank in awaits:
                path.append(rank)
                choices.append(iter(awaits[rank]))
    return []


def stuck_behind(circle: Sequence[int], ranks: Mapping[int, RankState]) -> set[int]:
    """Ranks outside the circle that wait for it, directly or not."""
    found: set[int] = set()
    while True:
        blocked = found | set(circle)
        more = {one.rank for one in ranks.values() if one.rank not in blocked and blocked & set(one.awaits)}
        if not more:
            return found
        found |= more


def _edge(one: RankState, target: int) -> str:
    assert one.wait is not None
    place = f" at {one.place}" if one.place else ""
    whom = "itself" if target == one.rank else f"rank {target}"
    return f"rank {one.rank} waits for {whom} in {one.wait.call}{place}"


def _circle(circle: Sequence[RankState], behind: int, certain: bool, deadlock: bool) -> list[str]:
    edges = [_edge(one, circle[(place + 1) % len(circle)].rank) for place, one in enumerate(circle)]
    last = max(circle, key=lambda one: (one.clock, one.rank))
    heading = "circle of waits" if certain else "circle of waits, unless a message is on its way"
    lines = [f"  {heading}:", *(f"    {edge}" for edge in edges)]
    if len(circle) > 1 and deadlock:
        closing = edges[circle.index(last)]
        lines.append(f"  the last of them, which closed the circle at {format_time(last.clock)}: {closing}")
    if behind:
        lines.append(f"  {behind} more {'rank waits' if behind == 1 else 'ranks wait'} for ranks of the circle")
    return lines


def _in_vain(ranks: Mapping[int, RankState], deadlock: bool) -> list[str]:
    lines = []
    for one in ranks.values():
        awaited = [ranks[rank] for rank in one.awaits if rank in ranks]
        over = [other.rank for other in awaited if not other.failed and (other.over or (deadlock and not other.wait))]
        if over:
            states = sorted({ranks[rank].state for rank in over})
            lines.append(f"  rank {one.rank} waits in vain for {ranks_text(over)}: {', '.join(states)}")
    return lines
