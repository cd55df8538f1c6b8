"""The waits of ranks in words, for the report of a run that has stopped, and for the progress line."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lanai_host.device import Queued, Unreceived
from lanai_host.operation import Wait
from lanai_host.simulator.protocol import FinalState, unpack_wait
from lanai_host.source_lines import place_of

from ..units import format_time
from .rank import Rank
from .system_calls import is_stopped, sleeps_in, waits_in

SIMULATORS = "recvfrom"  # the system call in which a rank waits for the simulator, too
MOST_RANKS = 8  # that a line names
MOST_MESSAGES = 8  # lines on those that lie at one rank


@dataclass(frozen=True)
class RankState:
    """The activity of one rank at `clock`.

    Members:
        state: in words.
        origin: what it is, if another process started it.
        wait: None unless it waits and has said why.
        place: where the program called.
        over: it takes no more part.
        failed: its program has ended by an error.
        coming: something is on its way that lets it go on; None if that is not known.
        unreceived: messages that lie at it.
        queued: sends and receives that are not done.
        restarts: how often its process was killed and restarted.
    """

    rank: int
    clock: int
    state: str
    wait: Wait | None = None
    place: str = ""
    over: bool = False
    failed: bool = False
    coming: bool | None = None
    unreceived: tuple[Unreceived, ...] = ()
    queued: tuple[Queued, ...] = ()
    origin: str = ""
    restarts: int = 0

    @property
    def awaits(self) -> tuple[int, ...]:
        return () if self.wait is None else self.wait.awaits

    def lines(self) -> list[str]:
        return [self.heading(), *_unreceived(self.unreceived), *self._queued()]

    def heading(self) -> str:
        """The rank, its time, its state."""
        origin = f" ({self.origin})" if self.origin else ""
        if self.restarts:
            origin += f" (restarted {'once' if self.restarts == 1 else f'{self.restarts} times'})"
        return f"  rank {self.rank}{origin} at {format_time(self.clock)}: {self.state}"

    def _queued(self) -> list[str]:
        """Lines for the program's own sends and receives, where there are more than the one that it waits for."""
        own = [one for one in self.queued if not one.part]
        if len(own) < 2:
            return []
        lines = [f"    pending: {describe_queued(one)}" for one in own[:MOST_MESSAGES]]
        more = len(own) - MOST_MESSAGES
        return [*lines, f"    pending: {more} more"] if more > 0 else lines


def doing(rank: Rank, clock: int, runs: bool, why: bytes, final: FinalState | None, coming: bool | None) -> RankState:
    """Return the activity of a rank, from its last report."""
    return replace(_doing(rank, clock, runs, why, final, coming), origin=rank.origin, restarts=rank.restarts)


def _doing(rank: Rank, clock: int, runs: bool, why: bytes, final: FinalState | None, coming: bool | None) -> RankState:
    if rank.finalized:
        return RankState(rank.number, clock, "has finalized", over=True)
    if rank.polls and not rank.gone and (polled := unpack_wait(rank.polls)) is not None:
        place = place_of(rank.pid, polled.site)
        return RankState(rank.number, clock, describe_wait(polled, place, "polls"), polled, place, coming=True)
    if runs:
        call = (waits_in(rank.pid) or sleeps_in(rank.pid)) if rank.connected else ""
        outside = call and call != SIMULATORS
        text = f"waits in the system's {call}()" if outside else "runs code"
        if is_stopped(rank.pid):
            text = f"is stopped by a signal or a debugger (pid {rank.pid})"
        return RankState(rank.number, clock, text if rank.connected else f"{text} and has not called MPI_Init")
    if rank.gone:
        return RankState(rank.number, clock, "has ended", over=True)
    wait = unpack_wait(why)
    unreceived, queued = ((), ()) if final is None else (tuple(final.unreceived), tuple(final.queued))
    if wait is None:
        return RankState(rank.number, clock, _describe_call(rank.pid, final), unreceived=unreceived, queued=queued)
    place = place_of(rank.pid, wait.site)
    state = describe_wait(wait, place)
    return RankState(rank.number, clock, state, wait, place, coming=coming, unreceived=unreceived, queued=queued)


def _describe_call(pid: int, final: FinalState | None) -> str:
    if final is None or not final.call:
        return "waits inside a call that gave no reason"
    place = place_of(pid, final.site)
    return f"is in {final.call}" + (f" at {place}" if place else "")


def _unreceived(messages: Sequence[Unreceived]) -> list[str]:
    """Lines for the messages that lie at a rank."""
    lines = []
    for one in messages[:MOST_MESSAGES]:
        lines.append(f"    not received: {describe_unreceived(one)}")
    more = sum(one.times for one in messages[MOST_MESSAGES:])
    if more:
        lines.append(f"    not received: {more} more")
    return lines


def describe_unreceived(one: Unreceived) -> str:
    """Equal messages that no receive has taken."""
    what = "a message" if one.times == 1 else f"{one.times} messages"
    tag = f"tag {one.tag}" if one.tag is not None else f"for {one.part}"
    each = "" if one.times == 1 else " each"
    size = "1 byte" if one.size == 1 else f"{one.size} bytes"
    return f"{what} from rank {one.source}, {tag}, {size}{each}, on {one.where}"


def describe_queued(one: Queued) -> str:
    """A send or receive that is not done."""
    peer = "any rank" if one.peer is None else f"rank {one.peer}"
    tag = f"for {one.part}" if one.part else "any tag" if one.tag is None else f"tag {one.tag}"
    size = "1 byte" if one.size == 1 else f"{one.size} bytes"
    if one.sends:
        return f"a send to {peer}, {tag}, {size}, on {one.where}"
    return f"a receive from {peer}, {tag}, up to {size}, on {one.where}"


def describe_wait(why: Wait, place: str = "", verb: str = "waits") -> str:
    parts = [f"{verb} in {why.call}" + (f" at {place}" if place else "")]
    for name, value in (("peer", why.peer), ("tag", why.tag)):
        if value is not None:
            parts.append(f"{name} {'any' if value == -1 else value}")
    if why.note:
        parts.append(why.note)
    if len(why.awaits) > 1 or (why.awaits and why.peer is None):
        parts.append(f"for {'all' if why.every else 'one'} of {ranks_text(why.awaits)}")
    return ", ".join(parts)


def ranks_text(ranks: Sequence[int]) -> str:
    """ "rank 3", "ranks 1, 2 and 5 more"."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    named = ", ".join(map(str, ranks[:MOST_RANKS]))
    more = len(ranks) - MOST_RANKS
    return f"ranks {named} and {more} more" if more > 0 else f"ranks {named}"


# The reason why nothing can happen any more: the graph of who waits for whom, and the wait that closed its circle.


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
