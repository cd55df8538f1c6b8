"""A student's work, run on cases in a process of its own."""

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from .outcome import Outcome
from .task import Case, Task

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
