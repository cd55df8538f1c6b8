"""The `concurrent.futures.Executor` of a place."""

import importlib
import os
import shlex
import sys
from concurrent.futures import Executor
from typing import Any

from lanai_host.errors import UserError

from . import slurm
from .local import LocalPool
from .place import LOCAL, MPI, SLURM, Place


def executor(place: Place, count: int) -> Executor:
    """Return workers for so many runs. Raises UserError if there are none to be had."""
    if place.on == LOCAL:
        try:
            return LocalPool(min(place.count, max(count, 1)))
        except (ImportError, OSError) as error:
            raise UserError(
                f"no processes can share work here ({error}): they need a writable /dev/shm; mount it or write --jobs 1"
            ) from error
    if place.on == MPI:
        return _mpi()
    if place.on == SLURM:
        return slurm.executor(place)
    return _called(place.on)


def _mpi() -> Executor:
    """Return the other ranks of the MPI job that this process is rank 0 of."""
    if "mpi4py.run" not in sys.modules:  # MPI would wait for ranks that have ended, as those that share a journal
        raise _no_workers()
    try:
        from mpi4py import MPI as mpi
        from mpi4py.futures import MPIPoolExecutor
    except (ImportError, RuntimeError) as error:
        raise UserError(
            f"--on mpi needs mpi4py and an MPI library ({error}); pip install 'openlanai[mpi4py]'"
        ) from error
    if mpi.COMM_WORLD.size < 2:
        raise _no_workers()
    pool: Any = MPIPoolExecutor()
    return pool  # type: ignore[no-any-return]


def _no_workers() -> UserError:
    return UserError(
        "--on mpi takes the ranks of an MPI job as workers, and there is none here; start it as: "
        f"mpiexec -n 5 python -m mpi4py.futures -m lanai_sim {shlex.join(sys.argv[1:])}"
    )


def _called(name: str) -> Executor:
    """Return what a user's function gives, such as Dask's `Client().get_executor`."""
    module, _, callable_ = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # as `python -m` has it
    try:
        made = importlib.import_module(module)
        for part in callable_.split("."):
            made = getattr(made, part)
        found = made()  # type: ignore[operator]
    except Exception as error:
        raise UserError(f"--on {name!r} gives no executor: {type(error).__name__}: {error}") from error
    if not isinstance(found, Executor):
        raise UserError(
            f"--on {name!r} gives an object of type {type(found).__name__}; it must give a concurrent.futures.Executor"
        )
    return found
