"""A line on the terminal that tells how a run is getting on."""

import shutil
import sys
import threading
from collections.abc import Callable

from ..units import format_time

PERIOD = 0.5  # seconds
AFTER = 2.0  # seconds in which a run tells nothing: most are over by then


def pace(simulated: int, limit: int | None, seconds: float) -> str:
    """Return how far a run has come after so many seconds of real time, how fast it is, and how long it takes at most
    if it has a limit, both in picoseconds."""
    speed = simulated / max(seconds, 1e-9)
    told = f"{format_time(simulated)} simulated in {seconds:.0f} s: {format_time(round(speed))} a second"
    if limit is None or not simulated:
        return told
    return f"{told}; at most {(limit - simulated) / speed:,.0f} s more"


class Progress:
    """Rewrites one line of standard error from two seconds on until finished. A reader of it sees a moment of another
    thread's work, no more."""

    def __init__(self, status: Callable[[], str]) -> None:
        self._status = status
        self.shown = False
        self._finished = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lanai progress", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        wait = AFTER
        while not self._finished.wait(wait):
            wait = PERIOD
            self.shown = True
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write("\r\x1b[K" + self._status()[:width])
            sys.stderr.flush()

    def finish(self) -> None:
        """Stop, and leave the line empty."""
        self._finished.set()
        self._thread.join()
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
