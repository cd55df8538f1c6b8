"""Computing time, the counters of the NIC, and the figures by which a kernel is measured."""

import ctypes
import json
from collections.abc import Callable
from ctypes import byref
from pathlib import Path

from mpi4py import MPI


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


WRITTEN, QUEUED = "nic_mbcf_written_bytes", "nic_mbcf_queued_bytes"


def compute(microseconds: float) -> None:
    """Keep the processor busy, outside the library except for its clock."""
    if not microseconds:
        return
    end = MPI.Wtime() + 1e-6 * microseconds
    while MPI.Wtime() < end:
        pass


def measured(world: MPI.Intracomm, file: str, kernel: Callable[[], None]) -> None:
    """Run a kernel. Rank 0 writes to `file` its time, and of the bytes that all ranks have sent to
    others the percentage that went by remote write, where the device counts them."""
    before = read_all()
    world.Barrier()
    begin = MPI.Wtime()
    kernel()
    span = MPI.Wtime() - begin
    after = read_all()
    moved = [after.get(name, 0) - before.get(name, 0) for name in (WRITTEN, QUEUED)]
    everyone = world.gather((span, *moved))
    if everyone is not None:
        spans, written, queued = zip(*everyone, strict=True)
        found = {"ms": 1e3 * max(spans), "bytes": float(sum(written) + sum(queued))}
        if found["bytes"]:
            found["written_percent"] = 100 * sum(written) / found["bytes"]
        Path(file).write_text(json.dumps(found))
