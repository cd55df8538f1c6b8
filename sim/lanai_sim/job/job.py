"""The job of the public API: data that can be run, and written as JSON."""

import concurrent.futures
import functools
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ..kernel.kernel import Interrupted
from ..tables import known
from ..units import format_time
from . import launcher
from .data import JobData
from .document import to_json
from .forked import WarmServers
from .launcher import Run
from .result import Result
from .settings import from_json, job_from

# A run that goes on beside the program.


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


class Job(JobData):
    """A program of ranks on a messaging system, on a machine. It is data: frozen, comparable, written as JSON.

    A member may be given as a user writes it: `program` and each of `kills` as a text, times as "20ms",
    `options` as a table or the name of a preset, an enum by its value.
    """

    if not TYPE_CHECKING:  # the signature is the data's

        @functools.wraps(JobData.__init__)
        def __init__(self, *values: Any, **members: Any) -> None:
            known("Job", members, [field.name for field in fields(JobData)])
            super().__init__(*values, **members)

    def run(
        self,
        *,
        capture: bool | None = None,
        trace: bool | str | Path | None = None,
        store: bool | str | Path | None = None,
        servers: WarmServers | None = None,
    ) -> Result:
        """Run the job to its end, whatever that is: a run that fails has a result too.

        Args:
            capture: instead of the job's own.
            trace: a file, instead of the job's own; True: keep the events as `Result.trace` and in no file.
            store: a file that keeps the result, with those of other runs; True: lanai.db.
            servers: what forks the ranks, shared with other runs.

        Raises:
            UserError: it cannot be started as it is described.
        """
        job = self if capture is None else self.but(capture=capture)
        if store is not None and store is not False:
            return job._stored(store, trace, servers)
        return job._run(trace, lambda traced: launcher.run(traced, servers=servers))

    def start(self, *, capture: bool | None = None, trace: bool | str | Path | None = None) -> Running:
        """Begin to run the job, and return at once what tells how it gets on and can end it. The arguments are those
        of `run`."""
        job = self if capture is None else self.but(capture=capture)

        def execute(begun: Callable[[launcher.Run], None]) -> Result:
            def watched(traced: JobData) -> Result:
                begun(run := launcher.Run(traced))
                return run.execute()

            return job._run(trace, watched)

        return Running(execute)

    def _run(self, trace: bool | str | Path | None, execute: Callable[[JobData], Result]) -> Result:
        """Run the job, with this trace instead of its own."""
        if trace is None or trace is False:
            return execute(self).of(self)
        if trace is not True:
            return execute(self.but(trace=str(trace))).of(self)
        with tempfile.TemporaryDirectory(prefix="lanai") as folder:
            result = execute(self.but(trace=str(Path(folder, "run.trace"))))
            _ = result.trace  # reads the whole file
            return result.without_file().of(self)

    def _stored(self, path: bool | str | Path, trace: bool | str | Path | None, servers: WarmServers | None) -> Result:
        """Run the job and keep the result, if there is a place for it."""
        from ..store import DEFAULT, Store  # other runs need no SQLite

        file = DEFAULT if path is True else str(path)
        Store(file).prepare()
        result = self.run(trace=trace, servers=servers)
        result.store(file)
        return result

    @classmethod
    def on(cls, system: str, program: str | Sequence[str] = (), ranks: int = 1, **changes: Any) -> Self:
        """Return a job on a system of `lanai list systems`, such as "sci" or "ccu-1996".

        Args:
            changes: members of the job and of its machine; a table is laid over what the system has.
        """
        job = job_from({"system": system, **{name: changes.pop(name) for name in ("device",) if name in changes}}, cls)
        return job.but(program=program, ranks=ranks, **changes)

    def to_json(self) -> str:
        """Return the job as JSON, which `from_json` reads, on another computer too. It is what a
        configuration file may hold, and the program."""
        return to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the job that `to_json` wrote, or that a configuration file describes. Raises
        UserError for what it cannot be."""
        return from_json(text, cls)
