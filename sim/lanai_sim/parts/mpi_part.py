"""A part of a machine in a process of an MPI job."""

import os
import time
from collections.abc import Callable
from typing import Any

from lanai_firmware import building
from lanai_host.errors import UserError

from ..engines.cut import Part
from ..job.result import Exit
from . import ending, segments, watcher
from .links import Mailboxes, Messages, PartLinks, apart

OF_MPIEXEC = ("PMI_", "PMIX_", "HYDI_", "MPI_LOCAL", "GFORTRAN_UNBUFFERED_PRECONNECTED")
GRACE = 10.0  # seconds
PAUSE = 0.2  # seconds until the watcher is gone: mpiexec reports a crash if a part's standard error stays open


class MpiPart(Part):
    """This process among those of an MPI job.

    Attributes:
        apart: some part has ended, and all go on alone to their end.
    """

    def __init__(self, world: Any, mpi: Any) -> None:
        self.comm = world.Dup()
        self.number: int = world.rank
        self.count: int = world.size
        self.units = frozenset()
        self.apart = False
        self._watched = watcher.Watched(self.number, self.comm.bcast(self.number or watcher.start(self.count)))
        ending.tell(self._watched.descriptor)
        self.comm.Barrier()  # the watcher knows all parts from here on, and all have mapped MPICH's memory
        segments.unlink()
        self._links: PartLinks = Messages(world, mpi) if apart(world, mpi) else Mailboxes(world, mpi)

    @property
    def links(self) -> PartLinks:
        return self._links

    def gather(self, found: Any) -> list[Any]:
        """Return what each part has found, by part."""
        answers: list[Any] = self.comm.allgather(found)
        return answers

    def leave(self) -> None:
        """Tell the others that this part goes on alone to its end."""
        if not self.apart:
            self.apart = True
            self.links.leave()

    def abort(self, code: int, reason: Callable[[], None]) -> None:
        """End all parts. `reason` prints why, in one of those that call this. An interrupted part just exits, and
        mpiexec ends with its code: to an abort mpiexec adds a line, and may take it for a crash."""
        if self._watched.may_say_why():
            reason()
        elif code == Exit.INTERRUPTED:
            ending.leave()  # the one that says why may be a bit later
        else:
            time.sleep(GRACE)  # the one that has said why ends this one
        if code == Exit.INTERRUPTED:
            time.sleep(PAUSE)
            os._exit(code)
        self.comm.Abort(code)


def joined() -> MpiPart:
    """Return this process's part. Raises UserError if it is not one of several processes of an MPI job.

    A signal that ends a run ends the process at once here (`ending`): it waits in MPI's C code for the other parts, and
    one of them may have ended before it came to MPI, which MPI does not see.
    """
    with ending.in_mpi():
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
