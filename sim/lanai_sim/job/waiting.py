"""The waits of ranks in words, for the report of a run that has stopped, and for the progress line."""

from collections.abc import Sequence
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
