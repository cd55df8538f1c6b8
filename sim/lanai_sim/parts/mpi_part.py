"""A part of a machine in a process of an MPI job: messages to all other parts and back."""

import ctypes
import os
import struct
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from lanai_firmware import building
from lanai_host.errors import UserError

from ..engines.base import NEVER
from ..engines.cut import Part
from . import watcher

ROOM = 1 << 20  # bytes of a message: more than the flits of a round on all cables of a cut
TAG = 1
SPINS = 100  # looks at a message that is not there yet, before the processor is left to others
NAP = 0.0002  # seconds, after a thousand times as many
NAP_AFTER = 0.02  # seconds
_TURN = struct.Struct("<QB")
OF_MPIEXEC = ("PMI_", "PMIX_", "HYDI_", "MPI_LOCAL", "GFORTRAN_UNBUFFERED_PRECONNECTED")


class Ended(Exception):
    """Another part has ended its part of the run. It says why."""


class Turn(NamedTuple):
    """The wish of a part for its next step, or that of all together.

    Members:
        limit: the slot of the next moment; NEVER if there is none.
        done: no task is left.
        pending: something is to come at a known time.
        aside: ranks wait for something outside of the simulation.
        over: the next moment is behind the run's limit of simulated time.
    """

    limit: int = NEVER
    done: bool = False
    pending: bool = False
    aside: bool = False
    over: bool = False


class MpiPart(Part):
    """This process among those of an MPI job.

    Attributes:
        check: called while others are waited for. It may raise to end the run.
        waited: seconds spent in waiting for others.
    """

    def __init__(self, world: Any, mpi: Any) -> None:
        self._mpi = mpi
        self.comm = world.Dup()
        self._links = world.Dup()
        self.number: int = world.rank
        self.count: int = world.size
        self.units = frozenset()
        self.check: Callable[[], None] = lambda: None
        self.waited = 0.0
        self.apart = False  # some part has ended, and all go on alone to their end
        self._buffers = {other: bytearray(ROOM) for other in range(self.count) if other != self.number}
        memory = {other: ctypes.c_char.from_buffer(buffer) for other, buffer in self._buffers.items()}
        self.others = [ctypes.addressof(one) for one in memory.values()]
        self._watched = watcher.Watched(self.number, self.comm.bcast(self.number or watcher.start(self.count)))
        self.comm.Barrier()  # the watcher knows all parts from here on
        self._error: BaseException | None = None
        self._pending: list[Any] = []

    def exchange(self, address: int, size: int) -> int:
        try:
            self._swap(self._mpi.memory.fromaddress(address, size))
        except BaseException as error:
            self._error = error
            return 1
        return 0

    def fail(self) -> None:
        error, self._error = self._error, None
        assert error is not None
        raise error

    def turn(self, mine: Turn) -> Turn:
        """Tell the others what this part wants; return what all want together: the earliest limit, whether all are
        done, or all are over, and what some of them have."""
        flags = mine.done | mine.pending << 1 | mine.aside << 2 | mine.over << 3
        self._swap(bytearray(_TURN.pack(mine.limit, flags)))
        for buffer in self._buffers.values():
            limit, flags = _TURN.unpack_from(buffer)
            mine = Turn(
                min(mine.limit, limit),
                mine.done and bool(flags & 1),
                mine.pending or bool(flags & 2),
                mine.aside or bool(flags & 4),
                mine.over and bool(flags & 8),
            )
        return mine

    def gather(self, found: Any) -> list[Any]:
        """Return what each part has found, by part."""
        answers: list[Any] = self.comm.allgather(found)
        return answers

    def leave(self) -> None:
        """Tell the others that this part goes on alone to its end."""
        if self.apart:
            return
        self.apart = True
        for request in self._pending:
            request.Cancel()
            request.Wait()
        self._pending = []
        for request in [self._links.Isend(bytearray(), other, TAG) for other in self._buffers]:
            request.Wait()

    def abort(self, code: int) -> None:
        """End all parts. The reason has been printed."""
        self._watched.has_said_why()
        self.comm.Abort(code)

    def _swap(self, message: Any) -> None:
        """Send a message to all others, and wait for theirs. Raises `Ended` if one has left."""
        if len(message) > ROOM:
            raise UserError(f"{len(message)} bytes of a round on the links between parts are more than {ROOM}")
        links = self._links
        receives = [links.Irecv(buffer, other, TAG) for other, buffer in self._buffers.items()]
        sends = [links.Isend(message, other, TAG) for other in self._buffers]
        self._pending = receives
        began = time.perf_counter()
        statuses = [self._mpi.Status() for _ in receives]
        self._wait([*receives, *sends], began, [*statuses, *(self._mpi.Status() for _ in sends)])
        self._pending = []
        self.waited += time.perf_counter() - began
        for other, status in zip(self._buffers, statuses, strict=True):
            if not status.Get_count():
                raise Ended(f"part {other} has ended")

    def _wait(self, requests: list[Any], began: float, statuses: list[Any]) -> None:
        test = self._mpi.Request.Testall
        for _ in range(SPINS):
            if test(requests, statuses):
                return
        while not test(requests, statuses):
            self.check()
            os.sched_yield()
            if time.perf_counter() - began > NAP_AFTER:
                time.sleep(NAP)


def joined() -> MpiPart:
    """Return this process's part. Raises UserError if it is not one of several processes of an MPI job."""
    try:
        import mpi4py

        mpi4py.rc.thread_level = "funneled"
        from mpi4py import MPI as mpi
    except (ImportError, RuntimeError) as error:
        raise UserError(
            f"--parts needs mpi4py and an MPI library ({error}); pip install 'openlanai[mpi4py]'"
        ) from error
    for name in [name for name in os.environ if name.startswith(OF_MPIEXEC)]:
        del os.environ[name]  # ranks are no processes of this MPI job, and their environment is as without it
    part = MpiPart(mpi.COMM_WORLD, mpi)
    if part.number:
        building.say_nothing("the first part does")
    return part
