"""Simulated time passes without ranks whose processes wait or sleep outside of the simulation."""

import time

from lanai_host.saying import say

from .rank import POLL_SECONDS
from .ranks import ASIDE_SECONDS, Ranks
from .system_calls import Watch, unseen
from .world import World

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
