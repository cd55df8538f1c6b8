"""Ranks whose programs have ended while the others still need them: what they ended by, and with
which exit code."""

import contextlib
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .processes import Process, exit_code
from .rank import Rank
from .wait_graph import stuck_behind
from .waiting import MOST_RANKS, Doing, ranks_text

SECONDS = 2.0  # of real time in which the processes may end


@dataclass(frozen=True)
class Departure:
    """One rank's. `error` is empty if none is known; `code` is None if the process does not end.

    It has `failed` by its exit code; an error that did not end the program does not count."""

    rank: int
    error: str
    code: int | None

    @property
    def failed(self) -> bool:
        return bool(self.code) or (self.code is None and bool(self.error))

    @property
    def told(self) -> str:
        """How the rank left."""
        return f"left by {self.error}" if self.error else f"left with exit code {self.code}"

    @property
    def state(self) -> str:
        """The same in the rank's line of a report."""
        code = f" with exit code {self.code}" if self.error and self.code else ""
        return f"has {self.told}{code} and waits in MPI_Finalize"


def release(pairs: Sequence[tuple[Process, Rank]]) -> dict[int, Departure]:
    """Let ranks go on whose programs had ended, and see how. The run is over, and they wait."""
    leaving = [
        (process, rank) for process, rank in pairs if rank.leaves is not None and not (rank.finalized or rank.running)
    ]
    for _, rank in leaving:
        rank.release()
    give_up = time.monotonic() + SECONDS
    found = {}
    for process, rank in leaving:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.popen.wait(max(0.0, give_up - time.monotonic()))
        code = process.popen.poll()
        found[rank.number] = Departure(rank.number, rank.leaves or "", None if code is None else exit_code(code))
    return found


def failed(departures: Sequence[Departure]) -> list[Departure]:
    return sorted((one for one in departures if one.failed), key=lambda one: one.rank)


def departed(one: Doing, departure: Departure | None) -> Doing:
    """What a rank is doing, when it is known how it left."""
    if departure is None or not departure.failed:
        return one
    return replace(one, state=departure.state, wait=None, over=True, failed=True)


def headline(departures: Sequence[Departure], ranks: Sequence[Doing]) -> str:
    """Which ranks failed, and which wait for them; empty if none failed."""
    over = failed(departures)
    behind = sorted(stuck_behind([one.rank for one in over], {one.rank: one for one in ranks}))
    parts = [f"rank {one.rank} {one.told} and finalized" for one in over[:MOST_RANKS]]
    if len(over) > MOST_RANKS:
        parts.append(f"so did {len(over) - MOST_RANKS} more")
    if over and behind:
        whom = "it" if len(over) == 1 else "them"
        parts.append(f"{ranks_text(behind)} {'waits' if len(behind) == 1 else 'wait'} for {whom}")
    return "; ".join(parts)
