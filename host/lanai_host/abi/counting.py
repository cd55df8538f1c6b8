"""Computing that takes simulated time: the program's own work, counted in steps.

An instruction of a program that was compiled with `lanai mpicc --count` is one step, a line of
Python `LINE` steps. Of other programs nothing can be counted, and what they do before each MPI call
is taken for `CALL` steps. So the counts depend on the program alone, never on the machine.
"""

import ctypes
import os
import random
import sys
import threading
from collections.abc import Callable
from functools import partial
from types import CodeType, FrameType
from typing import Any, Protocol

LINE = 500  # steps of a line of Python
CALL = 250  # steps before each MPI call of a program in which nothing can be counted
STEPS = "lanai_steps"  # the variable in a program that counts its instructions: `counter.c` has it
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_TOOL = "lanai"  # as sys.monitoring shows it


class Counter(Protocol):
    """Counts the program's steps. It stands still while `paused`."""

    paused: bool

    def steps(self) -> int:
        """So far."""


class Lines:
    """Lines of Python that this process has run, in all its threads, except those of the library
    and of the import system."""

    def __init__(self) -> None:
        self.paused = False
        self._count = 0
        self._skipped: dict[str, bool] = {}
        if sys.version_info >= (3, 12):
            self._monitor()
        else:
            self._trace()

    def steps(self) -> int:
        return LINE * self._count

    def _skips(self, file: str) -> bool:
        found = self._skipped.get(file)
        if found is None:
            found = self._skipped[file] = file.startswith(("<frozen ", "<binding of ", _OURS))
        return found

    # Python 3.12 and later

    def _monitor(self) -> None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        tool = next(number for number in range(5, -1, -1) if monitoring.get_tool(number) is None)
        monitoring.use_tool_id(tool, _TOOL)

        def line(code: CodeType, number: int) -> Any:
            if self._skips(code.co_filename):
                return monitoring.DISABLE
            if not self.paused:
                self._count += 1
            return None

        monitoring.register_callback(tool, monitoring.events.LINE, line)
        monitoring.set_events(tool, monitoring.events.LINE)

    # Before

    def _trace(self) -> None:
        frame = sys._getframe()
        while frame is not None:  # what runs now began without being traced
            if not self._skips(frame.f_code.co_filename):
                frame.f_trace = self._line
            frame = frame.f_back  # type: ignore[assignment]
        threading.settrace(self._enter)
        sys.settrace(self._enter)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        return None if self.paused or self._skips(frame.f_code.co_filename) else self._line

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line" and not self.paused:
            self._count += 1
        return self._line


class Instructions:
    """Instructions of a compiled program that counts them itself, a basic block at a time."""

    paused = False  # the library's code is not among them

    def __init__(self, variable: ctypes.c_uint64) -> None:
        self._variable = variable

    @classmethod
    def find(cls) -> "Instructions | None":
        """Return the counter if the program counts, else None."""
        try:
            return cls(ctypes.c_uint64.in_dll(ctypes.CDLL(None), STEPS))
        except ValueError:
            return None

    def steps(self) -> int:
        return self._variable.value


class Calls:
    """MPI calls."""

    paused = False

    def __init__(self) -> None:
        self._count = 0

    def steps(self) -> int:
        self._count += CALL
        return self._count


def pace(price: int, jitter: float, seed: int, rank: int) -> Callable[[int], int]:
    """Return how long so many steps take, at `price` picoseconds each. `jitter`: each time longer by a random part of
    that, up to this one. The parts depend on the seed and the rank alone."""
    if not jitter:
        return price.__mul__
    chance = random.Random(f"{seed}, rank {rank}")
    return lambda steps: int(price * steps * (1 + jitter * chance.random()))


class Counting:
    """Charges the program's steps before each of its MPI calls: `work` lets that time pass. `compiled`: C began this
    process. `time` says how long so many steps take."""

    def __init__(self, work: Callable[[int], None], time: Callable[[int], int], compiled: bool) -> None:
        self._work = work
        self._time = time
        self._depth = 0  # calls that this process is in
        self._counter: Counter = Instructions.find() or (Calls() if compiled else Lines())
        self._charged = self._counter.steps()

    def call(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """An MPI function, with what the program has done before it paid for."""
        return partial(self._call, function)

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if not self._depth:
            steps = self._counter.steps()
            self.aside(self._work, self._time(steps - self._charged))
            self._charged = steps
        return self.aside(function, *arguments)

    def aside(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Do some work of the library's, which is not counted."""
        self._depth += 1
        self._counter.paused = True
        try:
            return function(*arguments)
        finally:
            self._depth -= 1
            self._counter.paused = self._depth > 0
