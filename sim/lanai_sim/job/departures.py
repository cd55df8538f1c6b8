"""Ranks whose programs have ended while the others still need them: what they ended by, and with
which exit code."""

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from .processes import Process, signal_name
from .rank import Rank
from .sessions import await_exit
from .system_calls import OwnTime
from .wait_graph import stuck_behind
from .waiting import MOST_RANKS, RankState, ranks_text

SECONDS = 2.0  # of their own in which the processes may end


@dataclass(frozen=True)
class Departure:
    """The end of one rank's program.

    It has `failed` by its exit code; an error that did not end the program does not count.

    Members:
        error: by which the program ended; empty if none is known.
        code: what its process returned; None if that has not ended.
        called: it called MPI_Finalize itself, before its end.
    """

    rank: int
    error: str
    code: int | None
    called: bool = False

    @property
    def failed(self) -> bool:
        return bool(self.code) or (self.code is None and bool(self.error))

    @property
    def told(self) -> str:
        """Return how the rank left."""
        if self.error:
            return f"left by {self.error}"
        if self.code is not None and self.code < 0:
            return f"was killed by {signal_name(-self.code)}"
        return f"left with exit code {self.code}"

    @property
    def headline(self) -> str:
        """Return the same with the call of MPI_Finalize, in the order of the two."""
        return f"finalized and {self.told}" if self.called else f"{self.told} and finalized"

    def state(self, waited: str) -> str:
        """Return the same for the rank's line of a report, where it `waited` until the end."""
        if self.called:
            return f"{waited}, and then {self.told}"
        code = f" with exit code {self.code}" if self.error and self.code else ""
        return f"has {self.told}{code} and waits in MPI_Finalize"


def release(pairs: Sequence[tuple[Process, Rank]], finalizing: Container[int] = ()) -> dict[int, Departure]:
    """Let ranks go on whose programs had ended, and those that are `finalizing`, and see how they end. The
    run is over, and they wait."""
    leaving = [
        (process, rank)
        for process, rank in pairs
        if (rank.leaves is not None or rank.number in finalizing) and not (rank.finalized or rank.running)
    ]
    for _, rank in leaving:
        rank.release()
    patience = {rank.number: OwnTime(process.popen.pid) for process, rank in leaving}
    found = {}
    for process, rank in leaving:
        await_exit(process.popen, patience[rank.number], SECONDS)
        found[rank.number] = Departure(rank.number, rank.leaves or "", process.popen.poll(), rank.leaves is None)
    return found


def failed(departures: Sequence[Departure]) -> list[Departure]:
    return sorted((one for one in departures if one.failed), key=lambda one: one.rank)


def departed(one: RankState, departure: Departure | None) -> RankState:
    """Return the state of a rank, corrected by the way in which it left, if that is known."""
    if departure is None or not departure.failed:
        return one
    return replace(one, state=departure.state(one.state), wait=None, over=True, failed=True)


def headline(departures: Sequence[Departure], ranks: Sequence[RankState]) -> str:
    """Return the ranks that failed, and those that wait for them; empty if none failed."""
    over = failed(departures)
    behind = sorted(stuck_behind([one.rank for one in over], {one.rank: one for one in ranks}))
    parts = [f"rank {one.rank} {one.headline}" for one in over[:MOST_RANKS]]
    if len(over) > MOST_RANKS:
        parts.append(f"so did {len(over) - MOST_RANKS} more")
    if over and behind:
        whom = "it" if len(over) == 1 else "them"
        parts.append(f"{ranks_text(behind)} {'waits' if len(behind) == 1 else 'wait'} for {whom}")
    return "; ".join(parts)
