"""Why nothing can happen any more: the graph of who waits for whom, and the wait that closed its circle."""

from collections.abc import Mapping, Sequence

from ..units import format_time
from .waiting import Doing, ranks_text


def explain(ranks: Sequence[Doing]) -> list[str]:
    """Lines on a deadlock: the circle of waits and which of them came last; or whom the ranks wait for in vain."""
    by_rank = {one.rank: one for one in ranks}
    circle = find_circle({one.rank: one.awaits for one in ranks})
    if circle:
        return _circle([by_rank[rank] for rank in circle], len(stuck_behind(circle, by_rank)))
    return _in_vain(by_rank)


def find_circle(awaits: Mapping[int, Sequence[int]]) -> list[int]:
    """The first circle of waits, each for the next and the last for the first; empty if there is none."""
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


def stuck_behind(circle: Sequence[int], ranks: Mapping[int, Doing]) -> set[int]:
    """Ranks outside the circle that wait for it, directly or not."""
    found: set[int] = set()
    while True:
        blocked = found | set(circle)
        more = {one.rank for one in ranks.values() if one.rank not in blocked and blocked & set(one.awaits)}
        if not more:
            return found
        found |= more


def _edge(one: Doing, target: int) -> str:
    assert one.wait is not None
    place = f" at {one.place}" if one.place else ""
    whom = "itself" if target == one.rank else f"rank {target}"
    return f"rank {one.rank} waits for {whom} in {one.wait.call}{place}"


def _circle(circle: Sequence[Doing], behind: int) -> list[str]:
    edges = [_edge(one, circle[(place + 1) % len(circle)].rank) for place, one in enumerate(circle)]
    last = max(circle, key=lambda one: (one.clock, one.rank))
    lines = ["  circle of waits:", *(f"    {edge}" for edge in edges)]
    if len(circle) > 1:
        closing = edges[circle.index(last)]
        lines.append(f"  the last of them, which closed the circle at {format_time(last.clock)}: {closing}")
    if behind:
        lines.append(f"  {behind} more {'rank waits' if behind == 1 else 'ranks wait'} for ranks of the circle")
    return lines


def _in_vain(ranks: Mapping[int, Doing]) -> list[str]:
    lines = []
    for one in ranks.values():
        over = [rank for rank in one.awaits if rank in ranks and ranks[rank].wait is None]
        if over:
            states = sorted({ranks[rank].state for rank in over})
            lines.append(f"  rank {one.rank} waits in vain for {ranks_text(over)}: {', '.join(states)}")
    return lines
