"""Waiting for a peer's bytes: looking for them without sleep, while such waits are usually short.

Putting a process to sleep and waking it on an idle processor takes 50 to 100 us of both peers' time, looking again and again does not.
Between two looks the processor is offered to whoever else wants it; if somebody did, or if it lasts, sleeping is better.
"""

import os
import socket
import time

SHORT = 200e-6  # seconds; waits that are usually longer are slept
AWAY = 40e-6  # seconds between two looks, from which on somebody else has had the processor
ALONE = len(os.sched_getaffinity(0)) < 2  # then the peer runs only while this process does not


class Patience:
    """For one kind of wait. `usual` is how long it takes of late."""

    __slots__ = ("usual",)

    def __init__(self) -> None:
        self.usual = 0.0

    def look(self, sock: socket.socket, into: memoryview) -> int | None:
        """Bytes received without sleep (0: the peer has gone); None if it is time to sleep."""
        if ALONE:
            return None
        if self.usual > SHORT:
            self.usual *= 0.97  # try again some day
            return None
        began = last = time.perf_counter()
        until = began + 20e-6 + 2 * self.usual
        while True:
            try:
                got = sock.recv_into(into, 0, socket.MSG_DONTWAIT)
            except BlockingIOError:
                os.sched_yield()
                now = time.perf_counter()
                if now > until or now - last > AWAY:
                    self.usual += 2 * (now - began)
                    return None
                last = now
                continue
            self.usual += (last - began - self.usual) / 8
            return got
