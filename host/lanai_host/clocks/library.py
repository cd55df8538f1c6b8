"""The library that ranks with simulated clocks load before the C library."""

from collections.abc import Callable, Mapping
from enum import IntEnum, StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from lanai_firmware.cache import kept

from ..c_module import IN_LIBRARY, enums, load, preload
from ..errors import UserError
from ..real_time import preloaded

CALLS = (__package__, "calls")
PARTS = (CALLS, *((__package__, name) for name in ("reading", "sleeping", "polling", "receiving", "locking")))
PRELOAD = "LD_PRELOAD"
SEPARATORS = " :"  # of paths there
SYMBOL = "lanai_clocks_begin"
ENV_DATE = "LANAI_DATE"  # seconds that clocks of ranks show when they begin; else the computer's date
NOT_YOURS = -1  # instead of a time: this thread may not read it
ASAN = "ASAN_OPTIONS"  # the address sanitizer refuses to come after a library that is loaded first, unless told not to


class Clock(StrEnum):
    """The time that the clocks of ranks show."""

    SIMULATED = "simulated"  # the rank's time
    REAL = "real"  # the computer's


class Answer(IntEnum):
    """The end of a wait. CANNOT: it was not done, as this thread may not let simulated time pass."""

    TIME_IS_UP = 0
    IS_READY = 1
    CANNOT = 2
    INTERRUPTED = 3


@kept
def library() -> Path:
    """The library's file, compiled once."""
    return preload("clocks", enums(Answer), *PARTS)


def can_be_loaded() -> bool:
    """Return whether the variable that names the library can hold its path."""
    return not set(str(library())) & set(SEPARATORS)


def environment(clock: Clock, given: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that ranks need in their environment; `given` is the rest of it."""
    if clock is Clock.REAL:
        return {}
    if not can_be_loaded():
        raise UserError(
            f"simulated clocks need {library()} in {PRELOAD}, where a path can have neither a space nor a colon; "
            "have the cache elsewhere (LANAI_CACHE), or run with --clock real"
        )
    return {
        PRELOAD: f"{library()} {given.get(PRELOAD, '')}".strip(),
        ASAN: f"verify_asan_link_order=0:{given.get(ASAN, '')}".strip(":"),
    }


def loaded() -> bool:
    """Return whether this process has the library."""
    return preloaded(SYMBOL) is not None


# The rank's end of its simulated clocks.

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
