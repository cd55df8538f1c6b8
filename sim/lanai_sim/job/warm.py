"""Servers of ranks for one run after the other, forked from a process that stays
(`lanai_host.simulator.warm`): the launcher's side."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence

from lanai_host.errors import UserError
from lanai_host.simulator.forking import MESSAGE
from lanai_host.simulator.protocol import ENV_DEVICE
from lanai_host.simulator.warm import BOOT, ENV_IMPORTS, ENV_PATH, ENV_RUNS

from .forked import ForkServer, Start, reap

# Variables that act when a process starts or imports what ranks share.
AT_START = ("LD_", "PYTHON", "MALLOC_", "GLIBC_", "MPI4PY_", "OPENBLAS_", "MKL_", "OMP_", ENV_DEVICE)


class WarmServers:
    """Gives a server of ranks for each run. All of them, as long as `close` was not called, share what one
    process has imported: `imports` beside what each rank needs, found in `path`."""

    def __init__(self, imports: Sequence[str] = (), path: Sequence[str] = ()) -> None:
        self._imports = list(imports)
        self._path = list(path) or list(sys.path)
        self._popen: subprocess.Popen[bytes] | None = None
        self._runs: socket.socket | None = None
        self._begun: dict[str, str] = {}

    def server(self, environment: Mapping[str, str], start: Start) -> ForkServer:
        """A server for one run, whose ranks have this environment. `start` is used if the process that forks
        it must be started."""
        begun = {name: value for name, value in environment.items() if name.startswith(AT_START)}
        if self._runs is None or begun != self._begun:
            self._begin(environment, start)
            self._begun = begun
        assert self._runs is not None
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            socket.send_fds(self._runs, [json.dumps(dict(environment)).encode()], [theirs.fileno()])
        pid = int(self._runs.recv(MESSAGE) or 0)
        return ForkServer(control, lambda: _kill(pid), bool(pid))

    def _begin(self, environment: Mapping[str, str], start: Start) -> None:
        """Start the process that imports. Raises UserError."""
        self.close()
        self._runs, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        variables = {ENV_IMPORTS: json.dumps(self._imports), ENV_PATH: json.dumps(self._path)}
        with theirs:
            variables[ENV_RUNS] = str(theirs.fileno())
            self._popen = start([sys.executable, "-c", BOOT], {**environment, **variables}, theirs.fileno())
        with contextlib.suppress(ConnectionResetError):
            if self._runs.recv(MESSAGE) == b"ready":
                return
        assert self._popen.stderr is not None
        said = self._popen.stderr.read().decode(errors="replace").strip()
        self.close()
        raise UserError(f"the process that forks the ranks did not start: {said or 'it said nothing'}")

    def close(self) -> None:
        """End the process."""
        if self._runs is not None:
            self._runs.close()
        if self._popen is not None:
            reap(self._popen)
        self._runs = self._popen = None


def _kill(pid: int) -> None:
    """End a server. The process that forked it reaps it before it forks another one."""
    with contextlib.suppress(ProcessLookupError):
        if pid:
            os.kill(pid, signal.SIGKILL)
