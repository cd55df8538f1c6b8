"""Waiting for a peer's bytes: looking for them without sleep, while such waits are usually short.

Putting a process to sleep and waking it on an idle processor takes 50 to 100 us of both peers'
time, looking again and again does not. Between two looks the processor is offered to other
processes. If one took it, or if the wait lasts, sleeping is better.

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
long spin_look(Spin *spin, int sock, char *into, size_t size);
long spin_receive(Spin *spin, int sock, char *into, size_t size);
"""
ALONE = len(os.sched_getaffinity(0)) < 2  # then the peer runs only while this process does not


@cache
def _spin() -> Any:
    return load(__package__, "spin", DECLARED, (__package__, "real_clock"))


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


class SpinWait:
    """For one kind of wait: it learns how long this takes of late."""

    __slots__ = ("_look", "_receive", "_state")

    def __init__(self) -> None:
        lib = _spin().lib
        self._look, self._receive = lib.spin_look, lib.spin_receive
        self._state: Any = _spin().ffi.new("Spin *", {"alone": ALONE})

    def look(self, sock: socket.socket, into: Chunk) -> int | None:
        """Bytes received without sleep (0: the peer has gone); None if it is time to sleep."""
        got = int(self._look(self._state, sock.fileno(), into.address, into.size))
        if got == -errno.EAGAIN:
            return None
        if got < 0:
            raise OSError(-got, os.strerror(-got))
        return got

    def receive(self, sock: socket.socket, into: Chunk) -> int:
        """Bytes received, after a sleep if need be (0: the peer has gone)."""
        got = -errno.EINTR
        while got == -errno.EINTR:  # Python runs the handlers of signals between two calls
            got = int(self._receive(self._state, sock.fileno(), into.address, into.size))
        if got < 0:
            raise OSError(-got, os.strerror(-got))
        return got
