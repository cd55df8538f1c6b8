"""A run that goes on beside the program."""

import concurrent.futures
import threading
from collections.abc import Callable
from typing import Self

from ..kernel.kernel import Interrupted
from ..units import format_time
from .launcher import Run
from .result import Result


class Running:
    """A run that `Job.start` has begun. It goes on in a thread of this process, and its ranks end with it.

    As a context manager it ends the run on the way out, if that still goes on::

        with job.start() as run:
            while not run.done():
                print(run.progress)
                time.sleep(1)
        run.result().check()
    """

    def __init__(self, execute: Callable[[Callable[[Run], None]], Result]) -> None:
        """`execute` runs to the end, and gives its argument the run before it begins."""
        self._execute = execute
        self._future: concurrent.futures.Future[Result] = concurrent.futures.Future()
        self._run: Run | None = None
        self._cancelled = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="lanai run", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            result = self._execute(self._begun)
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
