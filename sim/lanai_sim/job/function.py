"""Runs Python functions as the ranks of jobs: one call, or several at a time by an executor."""

import concurrent.futures
import pickle
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from lanai_host.called import CALL, Answer, answer_file
from lanai_host.simulator.spin import processors

from .job import Job, Running
from .result import RankError, Result

Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")
PROGRAM = ("python", "-m", "lanai_host.called")


def run(
    function: Callable[..., Any],
    ranks: int = 4,
    device: str = "ideal",
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    **how: Any,
) -> list[Any]:
    """Call a function in each of `ranks` processes, which have one MPI between them, and return the results by rank.

    The function may be a lambda, a closure, or of a notebook. It gets copies of its arguments and of
    what else it refers to, and imports `mpi4py.MPI` itself.

    Args:
        args, kwargs: of the function, in each rank the same.
        how: members of `Job`, and of its `Machine`.

    Raises:
        RankError: a rank raised an exception, which is the error's cause.
        RunFailed: the run ended otherwise than well; `Deadlock` if all ranks waited.
    """
    return call(function, Job(ranks=ranks, device=device).but(**how), args, kwargs or {}, Job.run)


def call(
    function: Callable[..., Any],
    job: Job,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    execute: Callable[[Job], Result],
) -> list[Any]:
    """The same, with the ranks, the device and all else of a job that has no program yet. `execute` runs it."""
    from .pickling import pickled  # brings cloudpickle along

    with tempfile.TemporaryDirectory(prefix="lanai") as name:
        folder = Path(name)
        (folder / CALL).write_bytes(pickle.dumps(sys.path) + pickled(function, tuple(args), dict(kwargs)))
        result = execute(job.but(program=(*PROGRAM, name)))
        answers = [_answer(folder, rank) for rank in range(job.ranks)]
    for rank, answer in enumerate(answers):
        if answer is not None and answer.traceback:
            _fail(result, rank, answer)
    result.check()
    return [None if answer is None or answer.value is None else pickle.loads(answer.value) for answer in answers]


def _answer(folder: Path, rank: int) -> Answer | None:
    """Return what came of a rank's call; None if it did not come to its end."""
    try:
        found = Answer(**pickle.loads(answer_file(folder, rank).read_bytes()))
    except (OSError, EOFError, pickle.UnpicklingError):
        return None
    return found


def _fail(result: Result, rank: int, answer: Answer) -> None:
    cause = None if answer.error is None else pickle.loads(answer.error)
    raise RankError(result, rank, answer.traceback) from cause


class Executor(concurrent.futures.Executor):
    """Calls functions as ranks, several calls at a time: `submit` gives a future of what `openlanai.run` returns, the
    function's results by rank.

        with openlanai.Executor(ranks=4, device="mpi-np") as executor:
            times = list(executor.map(measure, [64, 1024, 16384]))
    """

    def __init__(self, ranks: int = 4, device: str = "ideal", max_workers: int | None = None, **how: Any) -> None:
        """
        Args:
            ranks, device: of each call.
            max_workers: calls that run at a time; None: as many as this process has processors.
            how: members of `Job`, and of its `Machine`.
        """
        self._job = Job(ranks=ranks, device=device).but(**how)
        self._pool = concurrent.futures.ThreadPoolExecutor(max_workers or processors())
        self._runs: set[Running] = set()

    def submit(  # type: ignore[override]
        self, fn: Callable[Arguments, Value], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> concurrent.futures.Future[list[Value]]:
        """Call the function in each rank of a run. The future has its results by rank, or the error of `run`."""
        return self._pool.submit(self._call, fn, args, kwargs)

    def _call(self, function: Callable[..., Value], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Value]:
        return call(function, self._job, args, kwargs, self._execute)

    def _execute(self, job: Job) -> Result:
        with job.start() as run:
            self._runs.add(run)
            try:
                return run.result()
            finally:
                self._runs.discard(run)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls. With `cancel_futures` those that wait are dropped, and those that run are ended."""
        self._pool.shutdown(wait=False, cancel_futures=cancel_futures)
        if cancel_futures:
            for run in list(self._runs):
                run.cancel()
        self._pool.shutdown(wait=wait)
