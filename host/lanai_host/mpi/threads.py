"""The threads of this process as the kernel sees them: which run code, and which can go on only if
another wakes them."""

import os
import threading
from enum import Enum
from typing import NamedTuple

_FUTEX = 202  # of x86-64
_FUTEX_WAITS = {0, 9, 11, 13}  # WAIT, WAIT_BITSET, WAIT_REQUEUE_PI, LOCK_PI2; without the bits for private and clock
_FUTEX_FLAGS = 128 | 256
_TASKS = "/proc/self/task"


class Doing(Enum):
    RUNS = "runs code"
    BLOCKED = "is blocked on another thread"  # on a lock, a condition or the end of a thread, without a time limit
    ASLEEP = "waits for a time or for the outside"


def count() -> int:
    """Threads of this process, however they were started."""
    try:
        return os.stat(_TASKS).st_nlink - 2
    except OSError:  # no /proc: what Python knows
        return threading.active_count()


def others() -> list[int]:
    """Kernel numbers of all threads but the caller, in the order in which they were started."""
    me = threading.get_native_id()
    return sorted(number for number in map(int, os.listdir(_TASKS)) if number != me)


def doing(number: int) -> Doing:
    """Return the activity of a thread at this moment. One that has ended counts as blocked: nothing comes from it."""
    text = _read(number, "syscall")
    if not text:
        return Doing.BLOCKED
    words = text.split()
    if words[0] in (b"running", b"-1"):
        return Doing.RUNS
    if int(words[0]) == _FUTEX and int(words[2], 16) & ~_FUTEX_FLAGS in _FUTEX_WAITS and int(words[4], 16) == 0:
        return Doing.BLOCKED
    return Doing.ASLEEP


class Spent(NamedTuple):
    """Nanoseconds of a thread's life: on a processor, and ready to run while others had the
    processors."""

    running: int
    queued: int

    def since(self, earlier: "Spent") -> "Spent":
        return Spent(self.running - earlier.running, self.queued - earlier.queued)


def spent(number: int) -> Spent:
    """Return how a thread has spent its time so far."""
    words = _read(number, "schedstat").split()
    return Spent(int(words[0]), int(words[1])) if words else Spent(0, 0)


def _read(number: int, name: str) -> bytes:
    try:
        file = os.open(f"{_TASKS}/{number}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    try:
        return os.read(file, 256)
    except ProcessLookupError:
        return b""
    finally:
        os.close(file)
