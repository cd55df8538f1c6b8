"""Ctrl-C while a part is in MPI's code, where no handler of Python's runs: ending.c ends the process with the line and
the exit code that an interrupted command has."""

import contextlib
import json
import os
import select
import signal
from collections.abc import Iterator
from functools import cache
from typing import Any

from lanai_host.c_module import load

from ..signals import CODE, interrupted, signals_to, speaks
from .watcher import ENDS, PATIENCE, SAYS

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
