"""The line by which snapshots of ranks, and ranks made from them, connect to the simulator (`snapshot.c`), and
how their processes end."""

import contextlib
import ctypes
import os
import secrets
import select
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable
from typing import NamedTuple

from lanai_host.simulator.requests import SNAPSHOT_HELLO

PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER = 36, 37
CREDENTIALS = struct.Struct("iII")  # of SO_PEERCRED: process, user, group
POLL_SECONDS = 0.05
WAIT_SECONDS = 0.002  # between two looks at a process that is about to end
KILLED = -signal.SIGKILL


class Made(NamedTuple):
    """A process that has connected."""

    sock: socket.socket
    pid: int


class Adopted:
    """A process whose parent has ended, so that it is ours: with what the launcher uses of
    `subprocess.Popen`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self, options: int = os.WNOHANG) -> int | None:
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, options)
            except ChildProcessError:
                pid, status = self.pid, signal.SIGKILL
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        end = None if timeout is None else time.monotonic() + timeout
        while self.poll(0 if end is None else os.WNOHANG) is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
            time.sleep(WAIT_SECONDS)
        assert self.returncode is not None
        return self.returncode


class Line:
    """Listens as long as the run lasts. Processes whose parents have ended fall to this one until
    then."""

    def __init__(self) -> None:
        self.name = f"lanai-{os.getpid()}-{secrets.token_hex(8)}".encode()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(b"\0" + self.name)
        self._socket.listen()
        self._before = _subreaper()
        _set_subreaper(1)

    def accept(self, rank: int, serial: int, live: bool, failed: Callable[[], bool]) -> Made | None:
        """The process that connects for this snapshot of the rank. None once `failed`, which is asked again and again,
        says that none will."""
        while True:
            if select.select([self._socket], [], [], POLL_SECONDS)[0]:
                made = self._take(rank, serial, live)
                if made is not None:
                    return made
            elif failed():
                return None

    def _take(self, rank: int, serial: int, live: bool) -> Made | None:
        """None if it is not the process that is awaited."""
        sock, _ = self._socket.accept()
        pid, user, _ = CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
        if user == os.getuid():
            text = sock.recv(SNAPSHOT_HELLO.size, socket.MSG_WAITALL)
            if len(text) == SNAPSHOT_HELLO.size and SNAPSHOT_HELLO.unpack(text) == (rank, serial, pid, int(live)):
                return Made(sock, pid)
        sock.close()
        return None

    def close(self) -> None:
        self._socket.close()
        _set_subreaper(self._before)


class KeptCopy:
    """A rank's snapshot: the process that keeps it."""

    def __init__(self, line: Line, rank: int, serial: int, made: Made) -> None:
        self._line, self._rank, self._serial = line, rank, serial
        self._control, self._process = made.sock, Adopted(made.pid)

    def make(self) -> Made | None:
        """The rank as it was then, in a new process. None if the snapshot has been killed too."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._control.send(b"x")
        return self._line.accept(self._rank, self._serial, True, lambda: self._process.poll() is not None)

    def close(self) -> None:
        self._control.close()
        self._process.wait()


def _subreaper() -> int:
    found = ctypes.c_int()
    ctypes.CDLL(None).prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(found))
    return found.value


def _set_subreaper(value: int) -> None:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(value))
