"""The process that runs a student's work: `python -m lanai_sim.labs.child LAB FOLDER PIPE`, cases on standard input.

Its own process, so that nothing that the work does, such as an endless loop or an exit, ends the grading.
"""

import importlib
import json
import linecache
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from lanai_hdl.errors import LanaiError

from .task import Outcome, TooLong, Wrong

# Errors of a student's work in a sentence, with the line that they came from.


def sentence(error: BaseException, folder: Path, endless: str = "") -> str:
    """Return what is wrong, and where in the student's folder. `endless`: why a case may never end, if no line of the
    student's is at work."""
    if isinstance(error, Wrong | LanaiError):
        return str(error)
    if isinstance(error, SyntaxError) and error.filename and _within(error.filename, folder):
        return _of_syntax(error)
    place = _place(error, folder)
    if isinstance(error, TooLong):
        return f"{error}{f', {place}' if place else f'; {endless}' if endless else ''}"
    if isinstance(error, TimeoutError):  # of the bench's watchdog, with a line for each process that waits
        return str(error).partition(";")[0]
    text = f"{type(error).__name__}: {error}".rstrip(": ")
    return f"{text}, {place}" if place else text


def _of_syntax(error: SyntaxError) -> str:
    line = (error.text or "").rstrip("\n")
    shown = f"\n    {line.strip()}" if line.strip() else ""
    if shown and error.offset:
        indent = len(line) - len(line.lstrip())
        shown += f"\n    {' ' * max(error.offset - 1 - indent, 0)}^"
    return f"{Path(str(error.filename)).name}:{error.lineno}: {error.msg}{shown}"


def _place(error: BaseException, folder: Path) -> str:
    """Return the innermost line of the student's that the error passed."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if _within(frame.filename, folder):
            line = linecache.getline(frame.filename, frame.lineno or 0).strip()
            return f"at {Path(frame.filename).name}:{frame.lineno}: {line}"
    return ""


def _within(file: str, folder: Path) -> bool:
    """Return true for a file in the folder. Names of generated code, such as `<string>`, are relative paths too."""
    return Path(file).is_absolute() and Path(file).resolve().is_relative_to(folder)


MOST_MEMORY = 16 << 30  # of addresses, most of which are never used


def main() -> None:
    name, folder, pipe = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    asked = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    signal.signal(signal.SIGALRM, _stop)
    bench = importlib.import_module(f"lanai_sim.labs.benches.{name}")  # before the work's files can hide its imports
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = True

    def guarded(number: int, act: Callable[[], Any]) -> Any:
        """Return what `act` returns. Tell what is wrong if it fails."""
        signal.setitimer(signal.ITIMER_REAL, asked["seconds"])
        try:
            return act()
        except BaseException as error:
            wrong = sentence(error, folder, getattr(bench, "ENDLESS", ""))
            over = isinstance(error, TooLong) or number < 0
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            sys.stdout.flush()
        os.write(pipe, Outcome(number, wrong=wrong, over=over).line())
        if over:
            os._exit(1)  # threads of the work may go on
        return None

    work = guarded(-1, lambda: bench.load(folder))
    os.write(pipe, Outcome(-1).line())
    for number, values in enumerate(asked["cases"]):
        cycles = guarded(number, partial(bench.run, work, values))
        if cycles is not None:
            os.write(pipe, Outcome(number, int(cycles)).line())
    os._exit(0)


def _stop(number: int, frame: object) -> NoReturn:
    raise TooLong("it goes on for ever, or takes too long")


if __name__ == "__main__":
    main()
