"""Info objects."""

import sys
from typing import Any

from ...mpi.constants import MAX_INFO_VALUE
from ...mpi.errors import ErrorClass, MpiError
from ...mpi.info import Info
from ...mpi.text import byte_length, c_text, decode
from ..binding import always, bind
from ..context import abi


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
