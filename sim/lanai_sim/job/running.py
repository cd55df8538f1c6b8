"""Runs that go on beside the program: a job's, and an executor's of calls of functions."""

import concurrent.futures
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, Self, TypeVar

from ..kernel.kernel import Interrupted
from ..units import format_time
from .function import call
from .job import Job
from .launcher import Run
from .result import Result

Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")


class Running:
    """A run that `Job.start` has begun. It goes on in a thread of this process, and its ranks end with it.

    As a context manager it ends the run on the way out, if that still goes on:

        with job.start() as run:
            while not run.done():
                print(run.progress)
                time.sleep(1)
        run.result().check()
    """

    def __init__(self, job: Job, trace: Any = None) -> None:
        self._job = job
        self._future: concurrent.futures.Future[Result] = concurrent.futures.Future()
        self._run: Run | None = None
        self._cancelled = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, args=(trace,), name="lanai run", daemon=True)
        self._thread.start()

    def _work(self, trace: Any) -> None:
        try:
            result = self._job.run_watched(trace, self._begun)
        except BaseException as error:
            self._future.set_exception(error)
        else:
            self._future.set_result(result)

    def _begun(self, run: Run) -> None:
        with self._lock:
            self._run = run
            if self._cancelled:
                self._end(run)

    @staticmethod
    def _end(run: Run) -> None:
        run.hurried = True
        run.kernel.over = Interrupted("cancel()")

    def __repr__(self) -> str:
        return f"<Running: {self.progress}>"

    @property
    def sim_time(self) -> int:
        """The simulated time that the run has reached, in picoseconds."""
        if self.done() and self._future.exception() is None:
            return self._future.result().sim_time
        return 0 if self._run is None else self._run.reached()

    @property
    def progress(self) -> str:
        """One line: simulated time, how fast it passes, and what each rank does."""
        if self.done():
            return f"ended at {format_time(self.sim_time)}"
        return "starts" if self._run is None else self._run.status()

    def done(self) -> bool:
        return self._future.done()

    def cancel(self) -> None:
        """End the run soon. Its result has the ending "interrupted". One that has ended stays as it is."""
        with self._lock:
            self._cancelled = True
            if self._run is not None:
                self._end(self._run)

    def result(self, timeout: float | None = None) -> Result:
        """Wait for the end, at most `timeout` seconds (TimeoutError), and return the result.

        Raises:
            UserError: the run cannot be started as it is described.
        """
        return self._future.result(timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()
        self._thread.join()


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
        self._pool = concurrent.futures.ThreadPoolExecutor(max_workers or len(os.sched_getaffinity(0)))
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
