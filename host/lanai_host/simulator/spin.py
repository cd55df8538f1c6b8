"""Waiting for a peer's bytes.

Putting a process to sleep and waking it on an idle processor takes 50 to 100 us of both peers'
time. There are two ways around it:

* Processes that take turns share one processor, which is not idle when one wakes the other. Just
  before a thread sleeps it narrows its own mask of processors to the one that the peer runs on, and just
  after it has slept it takes its mask back (steering.c). So code of the program or the simulator always
  runs with the whole mask, and so do threads and processes that it starts. The simulator decides whether
  to share and which one (`lanai_sim.job.turns`), and the header of an answer says so.
* Otherwise the process looks for bytes without sleep, while such waits are usually short. Between two
  looks the processor is offered to other processes. If one took it, or if the wait lasts, sleeping is
  better.

What sees the narrow mask: a thread or a program (`taskset -p PID`) that asks for the mask of the one that sleeps by
its number, and a handler of a signal in C that interrupts the sleep. Handlers in Python run later. A child that such
a handler forks has the whole mask; what it starts by `posix_spawn` or `vfork` has the narrow one.

A mask that someone sets from outside while the thread sleeps stays. Two are lost: one that is the narrow mask itself,
as the system does not tell whether somebody has set it again, and one that is set in the microsecond between a look
at the mask and its change. A processor that the run's cpuset loses and gets again during a sleep is used again.

The loop is native code (spin.c), so that a rank allocates the same objects however often it looked:
where its heap puts the next buffer must not depend on timing.
"""

import errno
import os
import socket
from functools import cache
from typing import Any

from ..c_module import load

DECLARED = """
typedef struct { double usual; int alone; } Spin;
typedef struct { ...; } Mask;
int steer_to(Mask *mask, int processor);
void steer_back(Mask *mask);
int steer_here(void);
long spin_sleep(int sock, char *into, size_t size, int processor);
long spin_look(Spin *spin, int sock, char *into, size_t size);
long spin_receive(Spin *spin, int sock, char *into, size_t size);
"""
PARTS = tuple((__package__, name) for name in ("real_clock", "steering"))
NOWHERE = -1  # no processor is shared


def processors() -> int:
    """Return how many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except OSError:  # refused in some containers
        return os.cpu_count() or 1


PROCESSORS = processors()
ALONE = PROCESSORS < 2  # then the peer runs only while this process does not


@cache
def _spin() -> Any:
    return load(__package__, "spin", DECLARED, *PARTS)


class Chunk:
    """Memory to receive into, the same every time.

    The address is that of the bytearray, not of the view: CPython crashes if its garbage collector
    clears a memoryview while something else still uses its buffer.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        memory = bytearray(size)
        self.view = memoryview(memory)
        self.address: Any = _spin().ffi.from_buffer("char[]", memory)


class Steering:
    """Has this thread woken on one processor while the context lasts, if it may run there."""

    __slots__ = ("_lib", "_mask", "processor")

    def __init__(self) -> None:
        self.processor = NOWHERE
        self._lib = _spin().lib
        self._mask: Any = _spin().ffi.new("Mask *")

    def here(self) -> int:
        """The processor that this thread runs on."""
        return int(self._lib.steer_here())

    def __enter__(self) -> None:
        if self.processor != NOWHERE:
            self._lib.steer_to(self._mask, self.processor)

    def __exit__(self, *_: object) -> None:
        self._lib.steer_back(self._mask)


class SpinWait:
    """For one kind of wait: it learns how long this takes of late, in `state` (`Spin`)."""

    __slots__ = ("_look", "_receive", "_sleep", "state")

    def __init__(self) -> None:
        lib = _spin().lib
        self._look, self._receive, self._sleep = lib.spin_look, lib.spin_receive, lib.spin_sleep
        self.state: Any = _spin().ffi.new("Spin *", {"alone": ALONE})

    def look(self, sock: socket.socket, into: Chunk) -> int | None:
        """Bytes received without sleep (0: the peer has gone); None if it is time to sleep."""
        got = int(self._look(self.state, sock.fileno(), into.address, into.size))
        if got == -errno.EAGAIN:
            return None
        if got < 0:
            raise OSError(-got, os.strerror(-got))
        return got

    def sleep(self, sock: socket.socket, into: Chunk, processor: int) -> int:
        """Bytes received after a sleep (0: the peer has gone), from which the peer wakes this thread on `processor`."""
        got = int(self._sleep(sock.fileno(), into.address, into.size, processor))
        if got < 0:
            raise OSError(-got, os.strerror(-got))
        return got

    def receive(self, sock: socket.socket, into: Chunk) -> int:
        """Bytes received, after a sleep if need be (0: the peer has gone)."""
        got = -errno.EINTR
        while got == -errno.EINTR:  # Python runs the handlers of signals between two calls, once a second at least
            got = int(self._receive(self.state, sock.fileno(), into.address, into.size))
        if got < 0:
            raise OSError(-got, os.strerror(-got))
        return got
