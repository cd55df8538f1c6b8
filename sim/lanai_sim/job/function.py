"""Runs a Python function as the ranks of a job."""

import pickle
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lanai_host.called import CALL, Answer, answer_file

from .job import Job
from .result import RankError, Result

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
