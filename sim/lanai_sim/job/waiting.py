"""Who waits for what, in words: for the report of a run that has stopped, and for the progress line."""

from collections.abc import Sequence
from dataclasses import dataclass

from lanai_host.bus.base import Wait
from lanai_host.simulator.protocol import unpack_wait

from ..units import format_time
from .ranks import Rank
from .source_lines import place_of

MOST_RANKS = 8  # that a line names


@dataclass(frozen=True)
class Doing:
    """What one rank is doing at `clock`. `wait` is None unless it waits and has said why; `state` is for the others."""

    rank: int
    clock: int
    state: str
    wait: Wait | None = None
    place: str = ""

    @property
    def awaits(self) -> tuple[int, ...]:
        return () if self.wait is None else self.wait.awaits

    def line(self) -> str:
        return f"  rank {self.rank} at {format_time(self.clock)}: {self.state}"


def doing(rank: Rank, clock: int, runs: bool, why: bytes) -> Doing:
    """What a rank is doing, from its last word."""
    if rank.finalized:
        return Doing(rank.number, clock, "has finalized")
    if runs:
        text = "runs code" if rank.connected else "runs code and has not called MPI_Init"
        return Doing(rank.number, clock, text)
    if rank.gone:
        return Doing(rank.number, clock, "has ended")
    wait = unpack_wait(why)
    place = place_of(rank.pid, wait.site) if wait is not None else ""
    return Doing(rank.number, clock, describe_wait(wait, place), wait, place)


def describe_wait(why: Wait | None, place: str = "") -> str:
    if why is None:
        return "waits inside a call that gave no reason"
    parts = [f"waits in {why.call}" + (f" at {place}" if place else "")]
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
