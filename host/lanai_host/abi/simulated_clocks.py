"""The clocks and the sleep of a rank where these are simulated (`clocks`)."""

import _thread
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..clocks.library import NOT_YOURS, Answer
from ..mpi.constants import ThreadLevel
from ..mpi.progress import Timed
from ..mpi.world import World
from ..simulator.client import SimulatorClient
from .observe import Observer

MPI = World.__module__.rpartition(".")[0]  # the package that every MPI call goes through


class SimulatedClocks:
    """A rank's time, for `clocks.bridge`. In a traced run `observer` notes sleeps as calls."""

    def __init__(self, world: World, client: SimulatorClient, observer: Observer | None) -> None:
        self._world, self._client, self._observer = world, client, observer

    def _is_foreign(self) -> bool:
        """This thread may not call MPI, so the rank's time is not at its disposal."""
        return self._world.thread_level < ThreadLevel.MULTIPLE and not self._world.is_main_thread()

    def read(self) -> int:
        if self._is_foreign():
            return NOT_YOURS
        return self._world.clock.read(alone=not _is_in_a_call())

    def now(self) -> int:
        return self._world.process.device.now()

    def wait(self, until: int, ready: Callable[[], bool] | None) -> Answer:
        if self._is_foreign():
            return Answer.CANNOT
        try:
            with self._noted("sleep"):
                return self._wait(until, ready)
        except KeyboardInterrupt:
            _thread.interrupt_main()
            return Answer.INTERRUPTED

    def _wait(self, until: int, ready: Callable[[], bool] | None) -> Answer:
        progress = self._world.process.progress
        if progress.order is not None and progress.order.mine:  # a callback of the program's, inside an MPI call
            self._client.charge(max(0, until - self._client.clock))
            return Answer.TIME_IS_UP
        target = Timed(self.now, until, ready)
        progress.sleep(target)
        return Answer.IS_READY if target.was_ready else Answer.TIME_IS_UP

    def leave(self) -> None:
        self._client.leave()

    @contextmanager
    def _noted(self, name: str) -> Iterator[None]:
        if self._observer is None or self._observer.inside:
            yield
            return
        call = self._observer.enter(name)
        try:
            yield
        finally:
            self._observer.leave(call)


def _is_in_a_call() -> bool:
    """Is an MPI call of this thread under way, so that a profiler or a callback of the program reads the clock?"""
    frame = sys._getframe(1).f_back
    while frame is not None:
        if str(frame.f_globals.get("__package__")).startswith(MPI):
            return True
        frame = frame.f_back
    return False
