"""A part of a machine in a process of an MPI job."""

import contextlib
import json
import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from lanai_firmware import building
from lanai_host.c_module import load
from lanai_host.errors import UserError

from ..engines.cut import Part
from ..job.result import Exit
from ..signals import CODE, interrupted, signals_to, speaks
from . import watcher
from .links import Mailboxes, Messages, PartLinks, apart
from .watcher import ENDS, PATIENCE, SAYS

# Ctrl-C while a part is in MPI's code, where no handler of Python's runs: ending.c ends the process with the line and
# the exit code that an interrupted command has.


DECLARED = """
void ending_take(int32_t number, uint32_t may_speak);
void ending_tells(int32_t descriptor);
"""


MANAGER = "PMI_FD"  # holds the descriptor of the connection to mpiexec, if MPICH's has started this process
LEAVES = b"cmd=finalize\n"  # in the words of PMI, its protocol
_manager: list[int] = []


@cache
def native() -> Any:
    """Return the module with the code, compiled."""
    return load(__package__, "ending", DECLARED, header=header())


def header() -> str:
    """Return what ending.c must know."""
    words = {"ENDS": ENDS[0], "SAYS": SAYS[0], "CODE": CODE}
    line = f"static const char LINE[] = {json.dumps(interrupted('lanai').decode())};\n"
    return line + "".join(f"enum {{ {name} = {value} }};\n" for name, value in words.items())


@contextlib.contextmanager
def in_mpi() -> Iterator[None]:
    """Signals that end a run end this process at once. The first part says so."""
    library = native().lib
    _manager[:] = map(int, filter(str.isdecimal, [os.environ.get(MANAGER, "")]))
    with signals_to(signal.SIG_DFL) as taken:
        for number in taken:
            library.ending_take(number, speaks())
        yield


def leave() -> None:
    """Tell mpiexec that this process ends as it should. Else it kills the others at the end of this one, and may report
    that as a crash."""
    with contextlib.suppress(OSError):
        for manager in _manager:
            os.write(manager, LEAVES)
            select.select([manager], [], [], PATIENCE)  # for its answer


def tell(descriptor: int) -> None:
    """From here on the watcher at this socket is told when a signal ends the process."""
    native().lib.ending_tells(descriptor)


# The file of the memory by which MPICH joins the processes of one computer. MPICH removes it in MPI_Finalize, so that
# it was left in /dev/shm by each job that ended otherwise, with some megabytes.


FOLDER, NAME = "/dev/shm", "mpich_shm_*"


def unlink() -> None:
    """Remove the names of the segments that this process has mapped. All processes of the job must have: their memory
    stays until the last of them ends, however it ends, and nobody else can find it."""
    for line in Path("/proc/self/maps").read_text(errors="surrogateescape").splitlines():
        path = Path(line[line.find("/") :])
        if str(path.parent) == FOLDER and path.match(NAME):
            with contextlib.suppress(OSError):  # another process was faster, and MPICH's own attempt fails likewise
                path.unlink()


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
        tell(self._watched.descriptor)
        self.comm.Barrier()  # the watcher knows all parts from here on, and all have mapped MPICH's memory
        unlink()
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
            leave()  # the one that says why may be a bit later
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
    with in_mpi():
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
