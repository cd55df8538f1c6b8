"""A line on the terminal that tells how a run is getting on."""

import shutil
import sys
import threading
import time
from collections.abc import Callable

from lanai_host.errors import say
from lanai_host.mpi.polling import VAIN
from lanai_host.simulator.protocol import unpack_wait
from lanai_host.source_lines import place_of

from ..kernel.kernel import Kernel
from ..units import format_time
from .rank import POLL_SECONDS, Rank
from .ranks import ASIDE_SECONDS, Ranks
from .system_calls import Watch, unseen
from .waiting import describe_wait, ranks_text
from .world import World

PERIOD = 0.5  # seconds
AFTER = 2.0  # seconds in which a run tells nothing: most are over by then


def pace(simulated: int, limit: int | None, seconds: float) -> str:
    """Return how far a run has come after so many seconds of real time, how fast it is, and how long it takes at most
    if it has a limit, both in picoseconds."""
    speed = simulated / max(seconds, 1e-9)
    told = f"{format_time(simulated)} simulated in {seconds:.0f} s: {format_time(round(speed))} a second"
    if limit is None or not simulated:
        return told
    return f"{told}; at most {(limit - simulated) / speed:,.0f} s more"


class Progress:
    """Rewrites one line of standard error from two seconds on until finished. A reader of it sees a moment of another
    thread's work, no more."""

    def __init__(self, status: Callable[[], str]) -> None:
        self._status = status
        self.shown = False
        self._finished = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lanai progress", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        wait = AFTER
        while not self._finished.wait(wait):
            wait = PERIOD
            self.shown = True
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write("\r\x1b[K" + self._status()[:width])
            sys.stderr.flush()

    def finish(self) -> None:
        """Stop, and leave the line empty."""
        self._finished.set()
        self._thread.join()
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


# Ranks that poll in vain: told once, and the end of a run in which nothing else happens because a rank has failed.


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
    text = f"rank {rank.number} {polls}; nothing has come in {VAIN:,} polls"
    return text + (f"; {ranks_text(ended)} {'has' if len(ended) == 1 else 'have'} ended" if ended else "")


# Simulated time passes without ranks whose processes wait or sleep outside of the simulation.


UNSEEN_LOOKS = 5  # in a row, about ten a second
REMEDY = "which may be for ever; `lanai doctor` says how to let it be seen"


class Passing:
    """Looks at the ranks that run code, while nothing comes from them."""

    def __init__(self, world: World, ranks: Ranks) -> None:
        self.world, self.ranks = world, ranks
        self._watch = Watch()
        self._unseen = 0  # looks in a row at which a rank slept, nobody knows in what; -1: that has been told

    def look(self) -> None:
        """Let time pass without those that wait or sleep."""
        self._tell_of_unseen()
        self._set_sleepers_aside()
        self._pass_for_waiters()

    def _tell_of_unseen(self) -> None:
        """Say once that waits outside of the simulation cannot be seen, if there may be one."""
        if self._unseen < 0:
            return
        why = next(filter(None, (unseen(rank.pid) for rank in self.ranks.active() if rank.connected)), "")
        self._unseen = self._unseen + 1 if why else 0
        if self._unseen >= UNSEEN_LOOKS:
            self._unseen = -1
            say(f"lanai: note: {why}; simulated time stands still while a rank waits outside of MPI, {REMEDY}")

    def _set_sleepers_aside(self) -> None:
        """Time passes without the ranks that sleep in real time, while they do."""
        for rank in self.ranks.active():
            clock, runs, _ = self.world.look(rank)
            if not (rank.connected and runs and self.ranks.sleepers.sleeps(rank.pid, clock)):
                self.world.take_back(rank)
            elif not self.world.set_aside(rank):
                self.ranks.set_aside(rank)

    def _pass_for_waiters(self) -> None:
        """Let simulated time go on for the ranks that wait for it, if all others wait in system calls for other
        processes, perhaps for those ranks."""
        give_up = time.monotonic() + POLL_SECONDS
        while time.monotonic() < give_up:
            # First who runs, then what they do: those that wait by now are not woken in between.
            running = [rank for rank in self.ranks.active() if self.world.look(rank)[1]]
            outside = [rank for rank in running if not self.world.is_aside(rank)]
            waiting = [rank.connected and self._watch.waits(rank.pid) for rank in outside]  # each is looked at
            if not outside or not all(waiting):
                return
            if self.world.let_time_pass(outside) is None:
                for rank in outside:
                    self.ranks.set_aside(rank)
                return
            time.sleep(ASIDE_SECONDS)
