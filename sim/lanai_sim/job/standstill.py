"""The ranks of a run that does not go on: where they stand, and what that means for its end."""

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from lanai_host.simulator.protocol import unpack_wait

from ..kernel.kernel import Kernel
from ..units import format_time
from .deaths import Deaths
from .processes import Process, exit_code, signal_name
from .rank import Rank
from .result import Ending, Exit
from .system_calls import OwnTime, await_exit
from .waiting import MOST_RANKS, RankState, doing, explain, ranks_text, stuck_behind
from .world import World

# Ranks whose programs have ended while the others still need them: what they ended by, and with which exit code.


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
    def manner(self) -> str:
        """Return how the rank left."""
        if self.error:
            return f"left by {self.error}"
        if self.code is not None and self.code < 0:
            return f"was killed by {signal_name(-self.code)}"
        return f"left with exit code {self.code}"

    @property
    def headline(self) -> str:
        """Return the same with the call of MPI_Finalize, in the order of the two."""
        return f"finalized and {self.manner}" if self.called else f"{self.manner} and finalized"

    def state(self, waited: str) -> str:
        """Return the same for the rank's line of a report, where it `waited` until the end."""
        if self.called:
            return f"{waited}, and then {self.manner}"
        code = f" with exit code {self.code}" if self.error and self.code else ""
        return f"has {self.manner}{code} and waits in MPI_Finalize"


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


class Standstill:
    """`ranks`, `nics`: where they stood when `report` was asked for; NICs in lines."""

    def __init__(self, kernel: Kernel, world: World, deaths: Deaths) -> None:
        self._kernel = kernel
        self._world = world
        self._deaths = deaths
        self.ranks: tuple[RankState, ...] = ()
        self.nics: Sequence[str] = ()
        self._departures: list[Departure] = []  # of ranks that the others wait for

    def has_failed(self, rank: Rank) -> bool:
        """Has the rank's program ended by an error that is known, or without MPI_Finalize?"""
        return bool(rank.leaves) or any(process.rank == rank.number for process in self._deaths.unfinished)

    def ends_without_some(self) -> bool:
        """Do all that wait do so in MPI_Finalize, for ranks that ended well and did not call it? These
        owe nothing, and the others end without them."""
        waiting = [rank for rank in self._deaths.ranks or () if not (rank.finalized or rank.gone)]
        waits = [unpack_wait(self._world.look(rank)[2]) for rank in waiting]
        all_end = all(why is not None and why.call == "MPI_Finalize" for why in waits)
        everywhere = self._world.gathered((bool(self._deaths.unfinished), all_end))
        if not any(some for some, _ in everywhere) or not all(end for _, end in everywhere):
            return False
        for rank in waiting:
            rank.release()
        return True

    def verdict(self, deadlock: bool) -> tuple[int, str, Ending]:
        """The exit code and the report of a run in which nothing can happen any more, and why: some
        ranks have failed, or it is a deadlock."""
        now = max((self._world.look(rank)[0] for rank in self._deaths.ranks or ()), default=self._kernel.now)
        now = max(self._world.gathered(now))
        report = self.report(deadlock, go_on=True)
        over = failed(self._departures)
        if over:
            return exit_code(over[0].code or 1), report, Ending.RANK_FAILED
        if missing := next(filter(None, self._world.gathered(self._deaths.not_finalized())), ""):
            return Exit.NOT_FINALIZED, f"{missing}\n{report}", Ending.RANK_FAILED
        what = f"deadlock at {format_time(now)}: all ranks wait and nothing can happen any more"
        return Exit.DEADLOCK, f"{what}\n{report}", Ending.DEADLOCK

    def report(self, deadlock: bool = False, go_on: bool = False) -> str:
        """Say which ranks have failed; what each rank waits for and what lies there; why that never ends;
        and for each NIC, what it does. With `go_on`, ranks that wait in MPI_Finalize go on to their end, which
        tells whether they have failed."""
        world, ranks = self._world, self._deaths.ranks
        world.stop()
        if ranks is None:
            self.nics = world.describe_nics()
            return states_text((), self.nics)
        ranks.hear_waiting(world.waits, world.transport is not None)
        final = ranks.final_states(world.on_nics())
        found = [doing(rank, *world.look(rank), final.get(rank.number), world.something_comes(rank)) for rank in ranks]
        finalizing = {one.rank for one in found if go_on and one.wait is not None and one.wait.call == "MPI_Finalize"}
        left = release(self._deaths.pairs, finalizing)
        everywhere = world.gathered((found, left))
        found = [one for states, _ in everywhere for one in states]
        left = {rank: one for _, gone in everywhere for rank, one in gone.items()}
        self._departures = list(left.values())
        self.ranks = tuple(departed(one, left.get(one.rank)) for one in found)
        head = headline(self._departures, found)
        self.nics = world.describe_nics()
        return "\n".join([*filter(None, [head]), states_text(self.ranks, self.nics, deadlock)])


def states_text(ranks: Sequence[RankState], nics: Sequence[str], deadlock: bool = False) -> str:
    """Return lines on ranks, on why their waits never end, and on NICs. No rank: none has begun."""
    lines = [line for one in ranks for line in one.lines()] if ranks else ["no rank has begun: the NICs are booting"]
    return "\n".join([*lines, *explain(ranks, deadlock), *nics])
