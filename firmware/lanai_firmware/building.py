"""Tells on standard error what is being built, from its second second on.

A `Work` is a build with the steps that it may take. It costs nothing until its first step begins, so
a caller need not know whether anything is to be built. A work inside another one adds a word to the
other's line.
"""

import os
import shutil
import sys
import threading
import time
from collections.abc import Mapping
from types import TracebackType

PATIENCE = 2.0  # seconds of silence
PERIOD = 0.5
REMIND = 30.0  # seconds after which a log gets the next line
VARIABLE = "LANAI_BUILD_NOTES"  # 0: say nothing
RANK = "LANAI_RANK"  # in a rank's environment: its clocks may be simulated, and a thread that waits by them never ends


class Work:
    """A build of `what`, once for `once`, as a context. `steps`: what each takes about, in seconds on a
    quiet machine. `doing` and `done` are for what is not a build.

    The time that is left follows from how long the steps before have taken here.
    """

    def __init__(
        self, what: str, once: str, steps: Mapping[str, float], doing: str = "building", done: str = "built"
    ) -> None:
        self.what = what
        self.doing, self.done = doing, done
        self.once = once
        self.steps = steps
        self.current = ""
        self._began = 0.0  # the current step
        self._first = 0.0
        self._spent: dict[str, float] = {}
        self._teller: _Teller | None = None

    def __enter__(self) -> "Work":
        _works.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _works.remove(self)
        if self._teller is not None:
            self._teller.finish(f"{self.done} {self.what} in {self.spent}" if not kind else "")

    def step(self, name: str) -> None:
        """Begin a step, which must be one of `steps`."""
        now = time.monotonic()
        assert name in self.steps
        if self.current:
            self._spent[self.current] = self._spent.get(self.current, 0.0) + now - self._began
        self.current, self._began = name, now
        self._first = self._first or now
        if self._teller is None and _works[0] is self and _may_tell():
            self._teller = _Teller(self)

    def line(self) -> str:
        """Return what is being done, and how long it takes about."""
        names, left = list(self.steps), self.left()
        place = f"step {names.index(self.current) + 1} of {len(names)}, " if len(names) > 1 else ""
        more = f", about {_seconds(left)} more" if left else ""
        within = [work.current for work in _works if len(work.steps) > 1 and work.current]
        named = "".join(f": {name}" for name in within)
        once = f" (once for {self.once})" if self.once else ""
        return f"{self.doing} {self.what}: {place}{self.spent} so far{more}{named}{once}"

    @property
    def spent(self) -> str:
        return _seconds(time.monotonic() - self._first)

    def left(self) -> float:
        """Seconds; 0 while a step takes longer than usual, as nothing then says how long the others will."""
        names = list(self.steps)
        known = sum(self.steps[name] for name in self._spent)
        rate = sum(self._spent.values()) / known if known else 1.0
        here = self.steps[self.current] * rate - (time.monotonic() - self._began)
        if here <= 0:
            return 0.0
        return here + rate * sum(self.steps[name] for name in names[names.index(self.current) + 1 :])


def _may_tell() -> bool:
    return not _silenced and os.environ.get(VARIABLE) != "0" and RANK not in os.environ


_silenced: list[str] = []  # why this process says nothing
_works: list[Work] = []  # of this process, the outermost first


def say_nothing(why: str) -> None:
    """Tell of no work from now on: another process does."""
    _silenced.append(why)


def step(name: str) -> None:
    """Begin a step of the innermost work that has it, if there is one."""
    for work in reversed(_works):
        if name in work.steps:
            work.step(name)
            return


class _Teller:
    """Tells of a work in a thread of its own: on a terminal in one line, which is gone at the end,
    elsewhere in a line for each step."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._done = threading.Event()
        self._said = ""
        self._thread = threading.Thread(target=self._run, name="lanai building", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        wait, told_at = PATIENCE, 0.0
        while not self._done.wait(wait):
            wait = PERIOD
            now, step = time.monotonic(), self._work.current
            if sys.stderr.isatty():
                line = f"lanai: {self._work.line()}"
                self._write(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}")
            elif step != self._said or now - told_at > REMIND:
                told_at = now
                self._write(f"lanai: {self._work.line()}\n")
            self._said = step

    def finish(self, text: str) -> None:
        """End; say `text` if anything was said."""
        self._done.set()
        self._thread.join()
        if self._said:
            clear = "\r\x1b[K" if sys.stderr.isatty() else ""
            self._write(clear + (f"lanai: {text}\n" if text else ""))

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


def _seconds(seconds: float) -> str:
    return f"{max(1, round(seconds))} s" if seconds < 100 else f"{round(seconds / 60)} min"
