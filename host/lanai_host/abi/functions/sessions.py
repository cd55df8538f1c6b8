"""Sessions."""

from typing import Any

from ...mpi.constants import ThreadLevel
from ...mpi.errhandler import Errhandler
from ...mpi.errors import ErrorClass, MpiError
from ...mpi.info import Info
from ...mpi.session import Session
from ...mpi.text import byte_length
from .. import callbacks, runtime
from ..binding import always, bind, binding
from ..context import Phase, abi


@always
def MPI_Session_init(info: Info | None, errhandler: Errhandler) -> Session:
    if abi.phase is Phase.AFTER:  # of Python: a compiled program that names this function does not come here
        raise MpiError(
            ErrorClass.UNSUPPORTED_OPERATION,
            "MPI_Session_init: MPI_Finalize has ended MPI in this process, which had no session before; begin one "
            "before MPI_Finalize",
        )
    runtime.begin(_thread_level(info))
    abi.had_sessions = True
    return Session(abi.world, info, errhandler)


def _thread_level(info: Info | None) -> ThreadLevel:
    """Return the thread level that the hint `thread_level` asks for."""
    wanted = None if info is None else info.get("thread_level")
    if wanted is None:
        return ThreadLevel.MULTIPLE
    levels = {f"MPI_THREAD_{level.name}": level for level in ThreadLevel}
    if wanted not in levels:
        raise MpiError(
            ErrorClass.INFO_VALUE,
            f"MPI_Session_init: thread_level is {wanted!r}; it must be one of {', '.join(levels)}",
        )
    return levels[wanted]


@always
def MPI_Session_finalize(session: Any) -> None:
    """Once MPI has ended, sessions only give back their handles."""
    abi.sessions.remove(_known(session[0]))
    session[0] = abi.sessions.null
    in_use = abi.initialized and not abi.finalized
    if abi.phase is Phase.RUNNING and not in_use and not abi.sessions.made():  # nothing else keeps MPI going
        runtime.process.pause()


def _known(handle: int) -> int:
    abi.sessions[handle]  # raises if there is none
    return handle


bind("MPI_Session_get_info", lambda session: session.info.duplicate())
bind("MPI_Session_get_num_psets", lambda session: len(session.set_names()))
bind("MPI_Session_get_pset_info", lambda session, pset_name: session.set_info(pset_name))
bind("MPI_Group_from_session_pset", lambda session, pset_name: session.group(pset_name))


@binding
def MPI_Session_get_nth_pset(session: Session, n: int, pset_len: Any, pset_name: Any) -> None:
    """A length of 0 asks for the length needed."""
    name = session.nth_set(n)
    if pset_len[0] > 0:
        abi.put_text(pset_name, name, pset_len[0])
    pset_len[0] = byte_length(name) + 1


# Error handlers


bind(
    "MPI_Session_create_errhandler",
    lambda session_errhandler_fn: callbacks.errhandler(session_errhandler_fn, abi.sessions),
    always=True,
)


@binding
def MPI_Session_set_errhandler(session: Session, errhandler: Errhandler) -> None:
    session.errhandler = errhandler


bind("MPI_Session_get_errhandler", lambda session: session.errhandler)


@binding
def MPI_Session_call_errhandler(session: Session, errorcode: int) -> None:
    abi.world.report(callbacks.with_code(errorcode), session)
