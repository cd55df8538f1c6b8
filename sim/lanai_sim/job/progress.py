"""A line on the terminal that tells how a run is getting on."""

import shutil
import sys
import threading
from collections.abc import Callable

PERIOD = 0.5  # seconds


class Progress:
    """Rewrites one line of standard error until finished. A reader of it sees a moment of another
    thread's work, no more."""

    def __init__(self, status: Callable[[], str]) -> None:
        self._status = status
        self._finished = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lanai progress", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._finished.wait(PERIOD):
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write("\r\x1b[K" + self._status()[:width])
            sys.stderr.flush()

    def finish(self) -> None:
        """Stop, and leave the line empty."""
        self._finished.set()
        self._thread.join()
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
