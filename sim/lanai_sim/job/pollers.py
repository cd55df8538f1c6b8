"""Ranks that poll in vain: told once, and the end of a run in which nothing else happens because a
rank has failed."""

import sys
from collections.abc import Callable

from lanai_host.mpi.polling import SECONDS
from lanai_host.simulator.protocol import unpack_wait
from lanai_host.source_lines import place_of

from ..kernel.kernel import Kernel
from .rank import Rank
from .ranks import Ranks
from .waiting import describe_wait, ranks_text

ERASE = "\r\x1b[K"  # the line of a terminal


class Hopeless(Exception):
    """A rank has failed, and the others wait or poll for what it will not do."""


class Pollers:
    """Hears what ranks say of their polls. `runs(rank)`: it runs code; `failed(rank)`: it has ended by
    an error, or without MPI_Finalize."""

    def __init__(self, kernel: Kernel, runs: Callable[[Rank], bool], failed: Callable[[Rank], bool]) -> None:
        self._kernel = kernel
        self._runs = runs
        self._failed = failed
        self._told = False
        self.on_terminal = False  # a line of progress is to be erased

    def heard(self, ranks: Ranks, rank: Rank) -> None:
        """A rank polls in vain, does not do so any more, or comes to its end."""
        if rank.polls and not self._told:
            self._told = True
            print(f"{ERASE if self.on_terminal else ''}lanai: hint: {_hint(ranks, rank)}", file=sys.stderr, flush=True)
        if rank.polls and self._is_hopeless(ranks):
            self._kernel.over = Hopeless()

    def _is_hopeless(self, ranks: Ranks) -> bool:
        others = [rank for rank in ranks if not (self._failed(rank) or rank.finalized or rank.gone)]
        failed = any(self._failed(rank) for rank in ranks)
        return failed and all(rank.polls or not self._runs(rank) for rank in others)


def _hint(ranks: Ranks, rank: Rank) -> str:
    """Return a text that names what the rank polls for, and which ranks will do nothing more."""
    why = unpack_wait(rank.polls)
    assert why is not None
    polls = describe_wait(why, place_of(rank.pid, why.site), "polls")
    ended = [one.number for one in ranks if one.gone or one.finalized or one.leaves is not None]
    text = f"rank {rank.number} {polls}; nothing has come for {SECONDS:g} s of real time"
    return text + (f"; {ranks_text(ended)} {'has' if len(ended) == 1 else 'have'} ended" if ended else "")
