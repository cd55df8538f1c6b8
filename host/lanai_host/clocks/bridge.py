"""The rank's end of its simulated clocks."""

from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

from ..c_module import IN_LIBRARY, load
from .library import CALLS, Answer

DECLARED = """
int bridge_begin(int64_t now);
void bridge_end(int64_t now);
int bridge_ready(uintptr_t ready, uintptr_t about);
extern "Python" int64_t clocks_read(void);
extern "Python" int64_t clocks_now(void);
extern "Python" int clocks_wait(int64_t until, uintptr_t ready, uintptr_t about);
extern "Python" void clocks_leave(void);
"""


class Time(Protocol):
    """A rank's time, in picoseconds."""

    def read(self) -> int:
        """The time, after a reading of it, which takes some; NOT_YOURS in a thread that may not do so."""

    def now(self) -> int: ...

    def wait(self, until: int, ready: Callable[[], bool] | None) -> Answer:
        """Wait until that time, or until `ready`."""

    def leave(self) -> None:
        """The process is about to wait in the kernel: what it has sent leaves."""


@cache
def _native() -> Any:
    return load(__package__, "bridge", DECLARED, CALLS, IN_LIBRARY)


def begin(time: Time) -> None:
    """From now on the clocks of this process, which has loaded the library, show `time`."""
    made = _native()

    def wait(until: int, ready: int, about: int) -> int:
        return time.wait(until, None if ready == 0 else lambda: bool(made.lib.bridge_ready(ready, about)))

    made.ffi.def_extern(name="clocks_read")(time.read)
    made.ffi.def_extern(name="clocks_now")(time.now)
    made.ffi.def_extern(name="clocks_wait", error=Answer.CANNOT)(wait)
    made.ffi.def_extern(name="clocks_leave")(time.leave)
    made.lib.bridge_begin(time.now())


def end(now: int) -> None:
    """The clocks run on from `now` in real time."""
    _native().lib.bridge_end(now)
