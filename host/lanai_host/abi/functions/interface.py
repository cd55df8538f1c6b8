"""The description of this binary interface: sizes of C's integers, and Fortran's types and logical values.

The size of LOGICAL and its values are fixed when the library is built, as MPICH's are: a program may ask for them, and
is refused with MPI_ERR_ABI when it sets them.
"""

import ctypes
import sys
from typing import Any

from ...mpi.added_codes import byte_length, c_text, decode
from ...mpi.attributes import Errhandler, Info
from ...mpi.constants import MAX_INFO_VALUE, ThreadLevel
from ...mpi.datatypes import PREDEFINED
from ...mpi.errors import ErrorClass, MpiError
from ...mpi.session import Session
from .. import callbacks, runtime
from ..binding import always, bind, binding
from ..context import Phase, abi

_LOGICAL = PREDEFINED["MPI_LOGICAL"]
_DEFAULT = ("logical", "integer", "real", "double_precision")
# Types of Fortran that a library may leave out, by the bytes in their names.
_OPTIONAL = {
    "logical": (1, 2, 4, 8, 16),
    "integer": (1, 2, 4, 8, 16),
    "real": (2, 4, 8, 16),
    "complex": (4, 8, 16, 32),
    "double_complex": ("",),
}


@always
def MPI_Abi_get_info() -> Info:
    return Info(_sizes("aint", "count", "offset"))


@always
def MPI_Abi_get_fortran_info() -> Info | None:
    """Return the info that says which optional types of Fortran there are. It is null under the MPICH ABI: the
    Fortran bindings of the distribution are not known here."""
    if "MPICH_NUMVERSION" in abi.constants:
        return None
    names = [f"{name}{size}" for name, sizes in _OPTIONAL.items() for size in sizes]
    supported = [(f"mpi_{name}_supported", str(f"MPI_{name.upper()}" in PREDEFINED).lower()) for name in names]
    return Info([*_sizes(*_DEFAULT), *supported])


def _sizes(*names: str) -> list[tuple[str, str]]:
    return [(f"mpi_{name}_size", str(PREDEFINED[f"MPI_{name.upper()}"].size)) for name in names]


@always
def MPI_Abi_set_fortran_info(info: Info | None) -> None:
    raise MpiError(ErrorClass.ABI, "MPI_Abi_set_fortran_info: the library has its Fortran types since it was built")


def _check_size(call: str, logical_size: int) -> None:
    if logical_size != _LOGICAL.size:
        raise MpiError(
            ErrorClass.ABI,
            f"{call}: logical_size is {logical_size}; a LOGICAL of this library has {_LOGICAL.size} bytes",
        )


@always
def MPI_Abi_get_fortran_booleans(logical_size: int, logical_true: int, logical_false: int) -> bool:
    _check_size("MPI_Abi_get_fortran_booleans", logical_size)
    for address, value in ((logical_true, 1), (logical_false, 0)):
        ctypes.memmove(address, value.to_bytes(_LOGICAL.size, "little"), _LOGICAL.size)
    return True


@always
def MPI_Abi_set_fortran_booleans(logical_size: int, logical_true: int, logical_false: int) -> None:
    call = "MPI_Abi_set_fortran_booleans"
    _check_size(call, logical_size)
    raise MpiError(ErrorClass.ABI, f"{call}: .true. is 1 and .false. is 0 since the library was built")


# Info objects.


def _real(call: str, info: Info | None) -> Info:
    if info is None:
        raise MpiError(ErrorClass.INFO, f"{call}: info is MPI_INFO_NULL")
    return info


bind("MPI_Info_create", lambda: Info(), always=True)
bind("MPI_Info_dup", lambda info: _real("MPI_Info_dup", info).duplicate(), always=True)
bind("MPI_Info_set", lambda info, key, value: _real("MPI_Info_set", info).set(key, value), always=True)
bind("MPI_Info_delete", lambda info, key: _real("MPI_Info_delete", info).delete(key), always=True)
bind("MPI_Info_get_nkeys", lambda info: _real("MPI_Info_get_nkeys", info).nkeys(), always=True)
bind("MPI_Info_get_nthkey", lambda info, n: _real("MPI_Info_get_nthkey", info).nthkey(n), always=True)


@always
def MPI_Info_free(info: Any) -> None:
    value = _real("MPI_Info_free", abi.infos[info[0]])
    if abi.infos.is_predefined(value):
        raise MpiError(ErrorClass.INFO, "MPI_Info_free: MPI_INFO_ENV cannot be freed")
    abi.infos.remove(info[0])
    info[0] = abi.infos.null


@always
def MPI_Info_get(info: Info | None, key: str, valuelen: int, value: Any) -> bool:
    if valuelen < 0:
        raise MpiError(ErrorClass.ARG, f"MPI_Info_get: valuelen is {valuelen}; it must not be negative")
    found = _real("MPI_Info_get", info).get(key)
    if found is not None:
        abi.put_text(value, found, valuelen + 1)
    return found is not None


@always
def MPI_Info_get_string(info: Info | None, key: str, buflen: Any, value: Any) -> bool:
    found = _real("MPI_Info_get_string", info).get(key)
    if found is not None:
        room = buflen[0]
        if room > 0:
            abi.put_text(value, found, room)
        buflen[0] = byte_length(found) + 1
    return found is not None


@always
def MPI_Info_get_valuelen(info: Info | None, key: str) -> tuple[int, bool]:
    found = _real("MPI_Info_get_valuelen", info).get(key)
    return (0, False) if found is None else (byte_length(found), True)


@always
def MPI_Info_create_env(argc: int, argv: int) -> Info:
    pairs = [("command", decode(c_text(sys.argv[0], MAX_INFO_VALUE)[:-1]))] if sys.argv and sys.argv[0] else []
    return Info([*pairs, ("thread_level", "MPI_THREAD_MULTIPLE")])


# Sessions.


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
