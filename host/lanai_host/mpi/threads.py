"""The threads of this process as the kernel sees them: which run code, and which can go on only if
another wakes them."""

import os
import threading
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

from .. import real_time
from ..c_module import load
from ..errors import say
from .errors import MpiError, ThreadLevelError

_TASKS = "/proc/self/task"


def count() -> int:
    """Threads of this process, however they were started."""
    try:
        return os.stat(_TASKS).st_nlink - 2
    except OSError:  # no /proc: what Python knows
        return threading.active_count()


def others() -> list[int]:
    """Kernel numbers of all threads but the caller, in the order in which they were started."""
    me = threading.get_native_id()
    return sorted((number for number in map(int, os.listdir(_TASKS)) if number != me), key=started)


NUMBERS = 1 << 22  # that Linux gives at most, one after the other and then from the smallest again


def started(number: int) -> int:
    """Return the place of a thread, by its kernel number, in the order in which this process's threads were started.
    The first thread has the process's number. Linux counts on for each new thread of any process, and goes back to
    the smallest free number behind the largest.
    """
    return (number - os.getpid()) % NUMBERS


class Spent(NamedTuple):
    """Nanoseconds of a thread's life: on a processor, and ready to run while others had the
    processors."""

    running: int
    queued: int

    def since(self, earlier: "Spent") -> "Spent":
        return Spent(self.running - earlier.running, self.queued - earlier.queued)


def spent_by_thread(number: int) -> Spent:
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


# Threads that run code, and those of them that only wait until another thread changes memory (`spinning.c`).

DECLARED = """
int spinning_look(int thread);
int spinning_running(const int *stopped, int count, int *found, int room);
"""
ROOM = 64  # threads that are found at once


@cache
def _native() -> Any:
    return load(__package__, "spinning", DECLARED)


def spins(thread: int) -> bool:
    """Return whether the thread with this kernel number runs and only waits for memory to change. It
    is interrupted for that, some ten times if it is known to spin."""
    return bool(_native().lib.spinning_look(thread))


def running(stopped: Iterable[int]) -> list[int]:
    """Return the kernel numbers of the threads that may go on by themselves, but for these."""
    native, known, room = _native(), list(stopped), ROOM
    while True:
        found = native.ffi.new("int[]", room)
        count = native.lib.spinning_running(known, len(known), found, room)
        if count < 0:
            raise OSError(-count, os.strerror(-count), _TASKS)
        if count <= room:
            return list(found[0:count])
        room = 2 * count


# The order of a rank's threads in the library, which the program decides and the machine does not.
#
# Simulated time may move only while no thread of the process runs code. So a thread that calls the
# library stops until all others have stopped too: at a call, waiting inside the library, blocked
# on a stopped thread (a lock, a condition, a join), or spinning until one changes memory. Then one of
# the threads at a call continues, in cyclic order of their starts. If all wait inside, the first of
# them lets time move.

SHORTEST, LONGEST = 20e-6, 2e-3  # seconds between two looks at threads that still run
SLEEPERS = 0.5  # seconds after which a thread is waited for no more that sleeps in real time ...
LAZY = 0.1  # ... but for this part of the time, in which it wakes to look at something
LONG = 10.0  # seconds that a thread may run, or sleep between its work, before it is waited for no more
SUSPECT = 0.02  # seconds that a thread runs before it is examined whether it spins; then twice as many each time


def judged(waited: float, busiest: Spent) -> str | None:
    """Return the activity of a thread that is not waited for any more; None while it may still be computing. Only its
    own activity counts: `waited` seconds on a machine that has no processor for it say nothing about the thread.
    """
    own, running = waited - busiest.queued / 1e9, busiest.running / 1e9
    asleep = own - running
    if running >= LONG:
        return "runs on and on"
    if (asleep >= SLEEPERS and asleep > (1 - LAZY) * own) or asleep >= LONG:
        return "sleeps in real time"
    return None


class _Stop:
    """A thread that has stopped: before it enters the library (no target), or until `target.done`."""

    __slots__ = ("gate", "go", "ident", "may_block", "target")

    def __init__(self, target: Any) -> None:
        self.target = target
        self.ident = threading.get_ident()
        self.gate = threading.Lock()
        self.gate.acquire()
        self.go = False
        self.may_block = False

    @property
    def ready(self) -> bool:
        return self.target is None or self.target.done


class TwoThreads(Exception):
    """A thread calls the library while another is at work in it, though the program said that its
    calls come one after the other. (Where one of them waits, they are served as if at MULTIPLE.)"""

    def named(self, call: str) -> MpiError:
        return ThreadLevelError(
            f"{call}: another thread is in MPI, which needs MPI_THREAD_MULTIPLE; ask for it with MPI_Init_thread"
        )


class ThreadOrder:
    """A re-entrant lock that is taken in turns. `count` counts the process's threads. While they are not more than
    `usual`, or the program has not asked for `multiple`, this is a plain lock.

    At any time one thread holds the lock, or one of the stopped threads watches until all have
    stopped. `unordered` becomes true when some thread sleeps or spins in real time for what another
    one gets from the library. Then no thread waits for it any more, and the machine decides the
    order.
    """

    def __init__(self, count: Callable[[], int], usual: int, name: str = "") -> None:
        self.count, self.usual = count, usual
        self.multiple = False
        self.name = name
        self.unordered = False
        self._mutex = threading.Lock()  # of what follows; held for moments
        self._holder = 0  # as Python numbers threads, which is quick; what follows goes by the kernel's numbers
        self._depth = 0
        self._watcher = 0
        self._last = -1  # `started` of the thread that went on last
        self._stopped: dict[int, _Stop] = {}
        self._coming: set[int] = set()  # threads that are about to stop, and may wait for the mutex
        self._spinners: list[int] = []  # threads that spun when they were looked at last

    def __enter__(self) -> None:
        if not self._holder and not self._stopped and not (self.multiple and self.count() > self.usual):
            self._holder = threading.get_ident()
        elif self._holder == threading.get_ident():
            self._depth += 1
        elif self._holder and not (self.multiple and self.count() > self.usual):
            raise TwoThreads
        else:
            self._stop(threading.get_native_id(), _Stop(None))

    @property
    def mine(self) -> bool:
        """Return whether this thread holds it."""
        return self._holder == threading.get_ident()

    def __exit__(self, *exc: object) -> None:
        if self._depth:
            self._depth -= 1
            return
        self._holder = 0
        if self._stopped:  # looked at after the turn was given away, so that one who comes now is seen here or sees it
            with self._mutex:
                self._appoint()

    def wait(self, target: Any) -> bool:
        """Give the turn away until `target.done`, or until all threads wait. True then says that
        the simulation may be let move until something happens to one of `targets`; False that it
        may be looked at only, because a thread is not waited for."""
        me = threading.get_native_id()
        depth, self._depth = self._depth, 0
        stop = _Stop(target)
        try:
            self._stop(me, stop, leave=True)
        finally:
            self._depth = depth
        return stop.may_block

    @property
    def targets(self) -> list[Any]:
        """The targets of the threads that wait inside, in the order of their starts. For the holder of the turn."""
        with self._mutex:
            return [stop.target for _, stop in self._in_order() if stop.target is not None]

    def _in_order(self) -> list[tuple[int, _Stop]]:
        return sorted(self._stopped.items(), key=lambda entry: started(entry[0]))

    def _stop(self, me: int, stop: _Stop, leave: bool = False) -> None:
        self._coming.add(me)
        try:
            with self._mutex:
                self._stopped[me] = stop
                if leave:
                    self._holder = 0
                self._appoint()
        finally:
            self._coming.discard(me)
        try:
            while True:
                stop.gate.acquire()
                if stop.go:
                    return
                self._watch(me)
        except BaseException:  # an interrupt: the thread goes on elsewhere
            with self._mutex:
                self._stopped.pop(me, None)
                if self._watcher == me or self._holder == stop.ident:
                    self._watcher = self._holder = 0
                self._appoint()
            raise

    def _appoint(self) -> None:
        """Let one stopped thread watch the others, unless one holds the lock or watches already: the one that is most
        likely to go on, which is then awake."""
        if self._holder or self._watcher or not self._stopped:
            return
        self._watcher = min(self._stopped, key=self._turn)
        self._stopped[self._watcher].gate.release()

    def _watch(self, me: int) -> None:
        """Wait until all have stopped; then release the next thread."""
        still = self._all_stopped() or self._look_again()
        with self._mutex:
            self._watcher, self._holder = 0, threading.get_ident()  # to ask what is done may take the library
            waiting = self._in_order()
        winner = self._choose(waiting)
        with self._mutex:
            stop = self._stopped.pop(winner)
            self._holder, self._last = stop.ident, started(winner)
            stop.go, stop.may_block = True, still
            stop.gate.release()

    def _look_again(self) -> bool:
        """Wait until all have stopped, or, False, until they are waited for no more."""
        begun, pause = real_time.monotonic(), SHORTEST
        spent: dict[int, Spent] = {}
        due: dict[int, float] = {}
        while not self.unordered:
            for number in others():
                spent.setdefault(number, spent_by_thread(number))
            real_time.sleep(pause)
            pause = min(1.5 * pause, LONGEST)
            if real_time.monotonic() - begun >= SUSPECT:
                self._look_for_spinners(spent, due)
            if real_time.monotonic() - begun >= SLEEPERS:
                self._stop_waiting_if_stuck(real_time.monotonic() - begun, spent)
            if self._all_stopped():
                return True
        real_time.sleep(SHORTEST)
        return False

    def _turn(self, number: int) -> tuple[bool, bool, int]:
        """Place in the order in which threads may go on: those at a call before those that wait inside."""
        place = started(number)
        return self._stopped[number].target is not None, place <= self._last, place

    def _choose(self, waiting: list[tuple[int, _Stop]]) -> int:
        """The next after the last one who could go on; if none could, the first."""
        if len(waiting) == 1:
            return waiting[0][0]
        after = [entry for entry in waiting if started(entry[0]) > self._last]
        before = [entry for entry in waiting if started(entry[0]) <= self._last]
        return next((number for number, stop in after + before if stop.ready), waiting[0][0])

    def _all_stopped(self) -> bool:
        free = running(list(self._stopped))  # at once: other threads change it
        return not self._coming and (not free or self._all_spin(free))

    def _all_spin(self, free: list[int]) -> bool:
        """Return whether these threads spin, and all others have stopped. If they are several, each is
        looked at again, as it could have been released by another one after the first look."""
        if not all(number in self._spinners for number in free):
            return False
        for number in free if len(free) == 1 else 2 * free:
            if not spins(number):
                self._spinners.remove(number)
                return False
        return True

    def _look_for_spinners(self, before: dict[int, Spent], due: dict[int, float]) -> None:
        """Examine the threads that have run for so long. `due` says for each when, in seconds of its
        own time."""
        for number in before:
            if number in self._stopped or number in self._spinners:
                continue
            ran = spent_by_thread(number).since(before[number]).running / 1e9
            if ran >= due.get(number, SUSPECT):
                due[number] = 2 * ran
                if spins(number):
                    self._spinners.append(number)

    def _stop_waiting_if_stuck(self, waited: float, before: dict[int, Spent]) -> None:
        """Give up the order if a thread sleeps in real time or never stops: time would not move
        again."""
        free = [number for number in before if number not in self._stopped and number not in self._spinners]
        spent = [spent_by_thread(number).since(before[number]) for number in free]
        what = judged(waited, max(spent, key=sum)) if spent else None
        if what is None:
            return
        self.unordered = True
        say(
            f"lanai: note: {self.name}a thread {what} while another is in MPI; nothing waits for it any more, "
            "and this run is not deterministic"
        )
