"""The job of the public API: data that can be run, and written as JSON."""

import functools
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ..tables import known
from . import launcher
from .data import JobData
from .document import to_json
from .result import Result
from .running import Running
from .settings import from_json, job_from
from .warm import WarmServers


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
        """Return a job on a system of `lanai systems`, such as "sci" or "ccu-1996".

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
