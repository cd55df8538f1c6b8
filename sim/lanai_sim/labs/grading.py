"""The grade of a student's work: public cases, then private ones, then the score."""

import importlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from ..units import counted
from .task import Case, Outcome, Task

# A student's work, run on cases in a process of its own.

GRACE = 10.0  # seconds beyond those of a case, in which the process can tell where the work was
MOST = 1 << 16  # bytes of what the work prints that are kept


class Work:
    """A student's work on one lab.

    Attributes:
        seconds: real time that a case may take; cycles are limited by the lab's bench.
        printed: what the work has printed in the last run.
    """

    def __init__(self, task: Task, folder: Path, seconds: float) -> None:
        self.task = task
        self.folder = folder
        self.seconds = seconds
        self.printed: list[str] = []

    def run(self, cases: Sequence[Case]) -> Iterator[Outcome]:
        """Run the work on cases. Give each outcome as it comes, and the last one with `over` if it ended early."""
        reader, writer = os.pipe()
        with os.fdopen(reader, "rb", buffering=0) as pipe:
            process = self._begin(writer, cases)
            os.close(writer)
            drain = Drain(process.stdout)
            try:
                yield from self._outcomes(process, pipe.fileno(), len(cases))
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # with what it has started
                process.wait()
                self.printed = drain.lines()

    def _begin(self, writer: int, cases: Sequence[Case]) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", "-m", f"{__package__}.child", self.task.name, str(self.folder), str(writer)]
        pipe, stdout = subprocess.PIPE, subprocess.STDOUT
        process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=stdout, pass_fds=[writer], start_new_session=True
        )
        assert process.stdin is not None
        asked = {"seconds": self.seconds, "cases": [dict(case.values) for case in cases]}
        with process.stdin as stdin, suppress(BrokenPipeError):
            stdin.write(json.dumps(asked).encode())
        return process

    def _outcomes(self, process: subprocess.Popen[bytes], pipe: int, count: int) -> Iterator[Outcome]:
        number, pending = -1, b""  # the work is loaded first, as case -1
        limit = time.monotonic() + 2 * (self.seconds + GRACE)
        while number < count:
            ready, _, _ = select.select([pipe], [], [], max(limit - time.monotonic(), 0))
            data = os.read(pipe, 1 << 16) if ready else b""
            if not data:
                yield self._ended(process, number, bool(ready))
                return
            *lines, pending = (pending + data).split(b"\n")
            for outcome in map(Outcome.of, lines):
                yield outcome
                if outcome.over:
                    return
                number, limit = outcome.number + 1, time.monotonic() + self.seconds + GRACE

    def _ended(self, process: subprocess.Popen[bytes], number: int, closed: bool) -> Outcome:
        """Return the outcome of a case whose process has ended, or does not answer."""
        if not closed:
            wrong = f"it goes on for ever, or takes more than {self.seconds:.0f} s"
        else:
            code = process.wait()
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            wrong = f"it ended the process of the bench ({how})"
        return Outcome(number, wrong=wrong, over=True)


class Drain:
    """Reads what a process prints, keeps the beginning, and drops the rest."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        assert stream is not None
        self._stream = stream
        self._kept = b""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._stream:
            while data := os.read(self._stream.fileno(), MOST):
                self._kept = (self._kept + data)[:MOST]

    def lines(self) -> list[str]:
        """Return what is kept, when the process has ended."""
        self._thread.join(GRACE)
        return self._kept.decode(errors="replace").splitlines()


BENCHES = f"{__package__}.benches"
SHOWN = 20  # lines of what the work printed


@dataclass
class Grade:
    """The result of each case. `loading` says why none could be run."""

    task: Task
    loading: str = ""
    outcomes: dict[str, Outcome] = field(default_factory=dict)  # by name of the case
    skipped: int = 0

    @property
    def passed(self) -> bool:
        return not self.loading and not self.skipped and not any(one.wrong for one in self.outcomes.values())

    @property
    def total(self) -> int:
        """Units that the public cases took together."""
        return sum(self.outcomes[case.name].cycles for case in self.task.public if case.name in self.outcomes)

    @property
    def points(self) -> int:
        return self.task.points(self.total) if self.passed else 0

    def figures(self) -> dict[str, float]:
        """Named numbers, as `lanai lab grade --json` writes them."""
        name = f"lab.{self.task.name}"
        failed = sum(bool(one.wrong) for one in self.outcomes.values()) + self.skipped
        figures: dict[str, float] = {f"{name}.points": self.points, f"{name}.failed": failed}
        return {**figures, f"{name}.{self.task.unit}": self.total} if self.passed else figures


def grade(task: Task, folder: Path, seed: int, seconds: float, tell: Callable[[str], None]) -> Grade:
    """Grade the work in a folder, and tell of each case in a line. Private cases are run when all public ones pass."""
    found, work = Grade(task), Work(task, folder, seconds)
    if task.prepared:
        importlib.import_module(f"{BENCHES}.{task.name}").prepare()
    _run(found, work, task.public, tell)
    secret = task.secret(seed)
    if found.passed:
        tell(f"private cases of seed {seed}:")
        _run(found, work, secret, tell)
    elif not found.loading:
        tell("private cases are run when all public ones pass")
    _tell_score(found, tell)
    return found


def _run(found: Grade, work: Work, cases: Sequence[Case], tell: Callable[[str], None]) -> None:
    width = max(len(case.name) for case in [*found.task.public, *cases])
    ran = 0
    for outcome in work.run(cases):
        if outcome.number < 0:
            if outcome.wrong:
                found.loading = outcome.wrong
                tell(f"cannot load your code: {outcome.wrong}")
            continue
        case, ran = cases[outcome.number], ran + 1
        found.outcomes[case.name] = outcome
        if outcome.wrong:
            tell(f"  FAIL  {case.name:{width}}  {outcome.wrong}")
            if case not in found.task.public:
                tell(f"        {_values(case.values)}")
        else:
            tell(f"  ok    {case.name:{width}}  {outcome.cycles} {found.task.unit}")
    if not found.loading:
        found.skipped += len(cases) - ran
        if ran < len(cases):
            tell(f"  {counted(len(cases) - ran, 'more case')} not run")
    if work.printed:
        tell("your code printed:")
        for line in work.printed[:SHOWN]:
            tell(f"  | {line}")
        if len(work.printed) > SHOWN:
            tell(f"  | and {counted(len(work.printed) - SHOWN, 'more line')}")


def _values(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def _tell_score(found: Grade, tell: Callable[[str], None]) -> None:
    task = found.task
    if found.loading:
        tell("score: 0 of 100")
    elif not found.passed:
        failed = sum(bool(one.wrong) for one in found.outcomes.values())
        skipped = f", {found.skipped} were not run" if found.skipped else ""
        tell(f"score: 0 of 100: {failed} of {counted(len(found.outcomes) + found.skipped, 'case')} failed{skipped}")
    else:
        better = [step for step in task.steps if step.points > found.points]
        more = f"; {better[-1].points} points need at most {better[-1].at_most}" if better else ""
        tell(f"score: {found.points} of 100: {found.total} {task.unit} in the public cases{more}")
