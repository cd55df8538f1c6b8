"""The return value of a call that raised, and the error handler that it calls."""

import os
import traceback
from typing import Any

from .. import source_lines
from ..errors import DeadlockError, UserError, say
from ..mpi.constants import ThreadLevel
from ..mpi.errors import ErrorClass, ErrorTable, MpiError, ThreadLevelError
from ..mpi.threads import TwoThreads
from ..simulator.protocol import ENV_CHECK, ENV_RANK
from ..source_lines import place_of
from . import places
from .context import Phase, abi
from .tables import BadHandle, NullPointer

ENV_TRACEBACK = "LANAI_TRACEBACK"  # set: internal errors come with their Python traceback

ERRORS = ErrorTable()  # of this process: error classes may be added before MPI_Init


def outside(name: str) -> int:
    """A call before MPI_Init or after MPI_Finalize. No communicator has an error handler then: the
    process ends."""
    site = place_of(os.getpid(), source_lines.here())
    text = f"{name}: called {Phase.AFTER.value if abi.finalized else abi.phase.value}" + (f" at {site}" if site else "")
    say(f"lanai: error: {text}")
    if directory := os.environ.get(ENV_CHECK):
        from .checking.journal import Journal

        journal = Journal(directory, int(os.environ.get(ENV_RANK, "0")))
        journal.put("error", 0, c=name, s=site, **{"class": "OUTSIDE"}, text=text, fatal=True)
    end_process(1, text)
    return abi.code_out(ErrorClass.OTHER)


def elsewhere(name: str, find_place: places.Find, *arguments: Any) -> int:
    """A call from another thread than the one that called MPI_Init, at a level that allows that one
    only."""
    level = ThreadLevel(abi.world.thread_level).name
    text = (
        f"{name}: called from another thread than the one that called MPI_Init, which MPI_THREAD_{level} does "
        "not allow; "
        "ask MPI_Init_thread for MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE"
    )
    return failed(name, ThreadLevelError(text), find_place, *arguments)


def end_process(code: int, text: str) -> None:
    """Ends the job; `runtime` replaces this by the way that fits how the process was started."""
    raise SystemExit(code)


def failed(name: str, error: Exception, find_place: places.Find | None = None, *arguments: Any) -> int:
    """Call the error handler of the communicator of a call that raised, and return the call's error code.
    `find_place(*arguments)` gives the object whose handler that is, unless the error names it.
    """
    told = _as_mpi_error(name, error)
    if abi.phase is Phase.BEFORE:
        say(f"lanai: error: {told}")
        return abi.code_out(ERRORS.encode(told))
    place = told.place
    if place is None and find_place is not None:
        place = find_place(*arguments)
    return abi.code_out(abi.world.report(told, place))


class ToolError(Exception):
    """An error of the tools interface: the call returns MPI_T_ERR_ and this name."""


def tool_failed(name: str, error: Exception) -> int:
    """The code of a call of the tools interface that raised. It never calls an error handler."""
    if isinstance(error, ToolError):
        code: int = abi.constants[f"MPI_T_ERR_{error.args[0]}"]
        return code
    return abi.code_out(ERRORS.encode(_as_mpi_error(name, error)))


def _as_mpi_error(name: str, error: Exception) -> MpiError:
    if isinstance(error, MpiError):
        return error
    if isinstance(error, BadHandle | NullPointer | TwoThreads):
        return error.named(name)
    if isinstance(error, DeadlockError | UserError):
        return MpiError(ErrorClass.OTHER, f"{name}: {error}")
    if isinstance(error, OverflowError):
        return MpiError(ErrorClass.VALUE_TOO_LARGE, f"{name}: {error}")
    if os.environ.get(ENV_TRACEBACK):
        say("".join(traceback.format_exception(error)).rstrip("\n"))
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = "".join(f" at {frame.filename}:{frame.lineno}" for frame in last)
    text = f"{name}: internal error{where}: {type(error).__name__}: {error}; {ENV_TRACEBACK}=1 shows how it came about"
    return MpiError(ErrorClass.INTERN, text)
