"""Ranks forked from one Python process that has imported what they need
(`lanai_host.simulator.forking`): the launcher's side."""

import contextlib
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO

from lanai_host.simulator.compiled import ENV_PROGRAM
from lanai_host.simulator.forking import BOOT, ENV_CONTROL, MESSAGE, send

Start = Callable[[Sequence[str], Mapping[str, str], int], subprocess.Popen[bytes]]
KILLED = -9


class ForkedProcess:
    """A rank, with what the launcher uses of `subprocess.Popen`."""

    def __init__(self, server: "ForkServer", pid: int) -> None:
        self.server = server
        self.pid = pid
        self.returncode: int | None = None
        server.ranks[pid] = self

    def poll(self) -> int | None:
        if self.returncode is None:
            self.server.listen(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        end = None if timeout is None else time.monotonic() + timeout
        while self.returncode is None:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise subprocess.TimeoutExpired(f"rank's process {self.pid}", timeout or 0)
            self.server.listen(left)
        return self.returncode


class ForkServer:
    """The process that forks the ranks of one run. `control` is our end of the socket to it, `end` ends and
    reaps it; `ready` is false if it could not import what ranks do."""

    def __init__(self, control: socket.socket, end: Callable[[], None], ready: bool = True) -> None:
        self._control = control
        self._end = end
        self.ready = ready
        self.lost = False  # it has ended before its ranks, which ended with it
        self.ranks: dict[int, ForkedProcess] = {}

    def begin(self, ranks: int) -> None:
        """Tell the process how many ranks will be asked for."""
        self._control.send(str(ranks).encode())

    def ask(self, arguments: Sequence[str], environment: Mapping[str, str], files: Sequence[int]) -> None:
        """A rank with these arguments of the interpreter, variables of its own, and files, which
        may be closed here then."""
        send(self._control, {"arguments": list(arguments), "environment": dict(environment)}, files)

    def pid(self) -> int:
        """Return the process id of the next rank, in the order in which they were asked for. All must have been."""
        return int(self._receive())

    def listen(self, timeout: float | None) -> None:
        """Take what the server tells, within so many seconds: which ranks have ended. If it has
        ended itself, so have all."""
        while select.select([self._control], [], [], timeout)[0]:
            said = self._receive()
            if not said:
                self.lost = any(process.returncode is None for process in self.ranks.values())
                for process in self.ranks.values():
                    process.returncode = KILLED if process.returncode is None else process.returncode
                return
            pid, _, code = said.decode().partition(" ")
            self.ranks[int(pid)].returncode = int(code)
            timeout = 0

    def _receive(self) -> bytes:
        try:
            return self._control.recv(MESSAGE)
        except ConnectionResetError:
            return b""

    def close(self) -> None:
        """The ranks have ended, or go with it."""
        self._control.close()
        self._end()


def executed(environment: Mapping[str, str], start: Start, program: Sequence[str] = ()) -> ForkServer:
    """A server for one run, in a process of its own: of Python, or of a compiled program, whose command line
    is given. `start` starts a process as ranks are started, and passes it a descriptor."""
    control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = program or (sys.executable, "-c", BOOT)
    with theirs:
        variables = {**environment, ENV_PROGRAM if program else ENV_CONTROL: str(theirs.fileno())}
        popen = start(command, variables, theirs.fileno())
    return ForkServer(control, lambda: reap(popen), _is_ready(control, popen))


def _is_ready(control: socket.socket, popen: subprocess.Popen[bytes]) -> bool:
    """Wait until a server has imported what it is to; False if it could not."""
    try:
        return control.recv(MESSAGE) == b"ready"
    except ConnectionResetError:
        return False
    except BaseException:  # a signal
        control.close()
        reap(popen)
        raise


def reap(popen: subprocess.Popen[bytes]) -> None:
    """End a server that was executed."""
    popen.kill()
    for stream in (popen.stdout, popen.stderr):
        with contextlib.suppress(OSError):
            if stream is not None:
                stream.close()
    popen.wait()


def pipe() -> tuple[IO[bytes], int]:
    """Return the two ends of a pipe for a rank's output: ours and the rank's."""
    ours, theirs = os.pipe()
    return os.fdopen(ours, "rb"), theirs
