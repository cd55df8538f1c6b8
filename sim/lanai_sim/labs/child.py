"""The process that runs a student's work: `python -m lanai_sim.labs.child LAB FOLDER PIPE`, cases on standard input.

Its own process, so that nothing that the work does, such as an endless loop or an exit, ends the grading.
"""

import importlib
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from .outcome import Outcome, TooLong
from .reading_errors import sentence

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
