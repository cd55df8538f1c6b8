"""The counters of the NIC, read by MPI's tool interface, as a user's program would."""

import ctypes
from ctypes import byref


def read_all() -> dict[str, int]:
    """All performance variables by name."""
    mpi = ctypes.CDLL("libmpi.so.12")  # the library that mpi4py has loaded
    number, session = ctypes.c_int(), ctypes.c_void_p()
    _check(mpi.MPI_T_init_thread(0, byref(number)))
    _check(mpi.MPI_T_pvar_session_create(byref(session)))
    _check(mpi.MPI_T_pvar_get_num(byref(number)))
    found = {_name(mpi, index): _value(mpi, session, index) for index in range(number.value)}
    _check(mpi.MPI_T_pvar_session_free(byref(session)))
    _check(mpi.MPI_T_finalize())
    return found


def _name(mpi: ctypes.CDLL, index: int) -> str:
    text, length, ignored = ctypes.create_string_buffer(128), ctypes.c_int(128), ctypes.c_int()
    kind, handle = ctypes.c_int(), ctypes.c_int()
    flags = [byref(ctypes.c_int()) for _ in range(4)]
    described = (byref(ignored), byref(kind), byref(handle), None, None, None, *flags)
    _check(mpi.MPI_T_pvar_get_info(index, text, byref(length), *described))
    return text.value.decode()


def _value(mpi: ctypes.CDLL, session: ctypes.c_void_p, index: int) -> int:
    handle, count, value = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_uint64()
    _check(mpi.MPI_T_pvar_handle_alloc(session, index, None, byref(handle), byref(count)))
    _check(mpi.MPI_T_pvar_read(session, handle, byref(value)))
    _check(mpi.MPI_T_pvar_handle_free(session, byref(handle)))
    return value.value


def _check(code: int) -> None:
    if code:
        raise OSError(f"MPI's tool interface answers with code {code}")
