"""The ranks of a run that does not go on: where they stand, and what that means for its end."""

from collections.abc import Sequence

from lanai_host.simulator.protocol import unpack_wait

from ..kernel.kernel import Kernel
from ..units import format_time
from . import departures
from .deaths import Deaths
from .processes import exit_code
from .rank import Rank
from .result import Ending, Exit
from .wait_graph import explain
from .waiting import RankState, doing
from .world import World


class Standstill:
    """`ranks`, `nics`: where they stood when `report` was asked for; NICs in lines."""

    def __init__(self, kernel: Kernel, world: World, deaths: Deaths) -> None:
        self._kernel = kernel
        self._world = world
        self._deaths = deaths
        self.ranks: tuple[RankState, ...] = ()
        self.nics: Sequence[str] = ()
        self._departures: list[departures.Departure] = []  # of ranks that the others wait for

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
        over = departures.failed(self._departures)
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
        left = departures.release(self._deaths.pairs, finalizing)
        everywhere = world.gathered((found, left))
        found = [one for states, _ in everywhere for one in states]
        left = {rank: one for _, departed in everywhere for rank, one in departed.items()}
        self._departures = list(left.values())
        self.ranks = tuple(departures.departed(one, left.get(one.rank)) for one in found)
        head = departures.headline(self._departures, found)
        self.nics = world.describe_nics()
        return "\n".join([*filter(None, [head]), states_text(self.ranks, self.nics, deadlock)])


def states_text(ranks: Sequence[RankState], nics: Sequence[str], deadlock: bool = False) -> str:
    """Return lines on ranks, on why their waits never end, and on NICs. No rank: none has begun."""
    lines = [line for one in ranks for line in one.lines()] if ranks else ["no rank has begun: the NICs are booting"]
    return "\n".join([*lines, *explain(ranks, deadlock), *nics])
