"""Many independent measurements at once: over this machine's cores, or over machines through
mpi4py.futures."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any, TypeVar

from lanai_host.errors import UserError

ITEM = TypeVar("ITEM")
RESULT = TypeVar("RESULT")


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def executor(jobs: int, mpi: bool) -> Executor:
    """Workers. With `mpi` they are the other ranks of `mpiexec -n N python -m mpi4py.futures -m
    lanai_sim.cli ...`."""
    if mpi:
        try:
            from mpi4py.futures import MPIPoolExecutor
        except (ImportError, RuntimeError) as error:
            raise UserError(
                f"--mpi needs mpi4py and an MPI to run it ({error}); install both, or leave --mpi away"
            ) from error
        pool: Any = MPIPoolExecutor()
        return pool  # type: ignore[no-any-return]
    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))


def each(
    function: Callable[[ITEM], RESULT], items: Sequence[ITEM], jobs: int = 0, mpi: bool = False
) -> Iterator[tuple[ITEM, RESULT]]:
    """Every item with what `function` makes of it, as they become ready. `jobs` 0 is one a core;
    with 1 all is done in this process."""
    if (jobs == 1 and not mpi) or len(items) == 1:
        for item in items:
            yield item, function(item)
        return
    with executor(min(jobs or cores(), max(len(items), 1)), mpi) as pool:
        waiting = {pool.submit(function, item): item for item in items}
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        except BaseException:
            for future in waiting:
                future.cancel()
            raise
