"""Servers of ranks for one run after the other, forked from a process that stays
(`lanai_host.simulator.warm`): the launcher's side."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence

from lanai_host.errors import UserError
from lanai_host.simulator.forking import MESSAGE, send
from lanai_host.simulator.protocol import ENV_DEVICE
from lanai_host.simulator.warm import BOOT, ENV_IMPORTS, ENV_PATH, ENV_RUNS

from .forked import ForkServer, Start, reap
from .system_calls import parent_of, processor_time

# Variables that act when a process starts or imports what ranks share.
AT_START = ("LD_", "PYTHON", "MALLOC_", "GLIBC_", "MPI4PY_", "OPENBLAS_", "MKL_", "OMP_", ENV_DEVICE)


class WarmServers:
    """Gives a server of ranks for each run. All of them, as long as `close` was not called, share what one
    process has imported: `imports` beside what each rank needs. `path`: the `sys.path` of
    ranks, instead of Python's own.

    Members:
        failed: the modules of `imports` that could not be imported, each with its error.
    """

    def __init__(self, imports: Sequence[str] = (), path: Sequence[str] | None = None) -> None:
        self._imports = list(imports)
        self.failed: dict[str, str] = {}
        self._path = None if path is None else list(path)
        self._begun: dict[frozenset[tuple[str, str]], tuple[socket.socket, subprocess.Popen[bytes]]] = {}

    def server(self, environment: Mapping[str, str], start: Start) -> ForkServer:
        """A server for one run, whose ranks have this environment. `start` is used if the process that forks
        it must be started: there is one for all runs with the same variables that act at its start."""
        acting = frozenset(one for one in environment.items() if one[0].startswith(AT_START))
        if acting not in self._begun:
            self._begun[acting] = self._begin(environment, start)
        runs, warm = self._begun[acting]
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            send(runs, dict(environment), [theirs.fileno()])
        pid = int(runs.recv(MESSAGE) or 0)
        if not pid:
            return ForkServer(control, lambda: None, ready=False)
        return ForkServer(control, lambda: _kill(pid, warm.pid))

    def _begin(self, environment: Mapping[str, str], start: Start) -> tuple[socket.socket, subprocess.Popen[bytes]]:
        """Start a process that imports, and wait until it has. Raises UserError."""
        runs, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        variables = {ENV_IMPORTS: json.dumps(self._imports), ENV_PATH: json.dumps(self._path)}
        with theirs:
            variables[ENV_RUNS] = str(theirs.fileno())
            popen = start([sys.executable, "-c", BOOT], {**environment, **variables}, theirs.fileno())
        with contextlib.suppress(ConnectionResetError):
            if failed := runs.recv(MESSAGE):
                self.failed |= json.loads(failed)
                return runs, popen
        assert popen.stderr is not None
        said = popen.stderr.read().decode(errors="replace").strip()
        runs.close()
        reap(popen)
        raise UserError(f"the process that forks the ranks did not start: {said or 'it said nothing'}")

    def spent(self) -> float:
        """Return the processor time of the processes that share imports, and of all runs before the last one."""
        return sum(processor_time(popen.pid) for _, popen in self._begun.values())

    def close(self) -> None:
        """End the processes."""
        for runs, popen in self._begun.values():
            runs.close()
            reap(popen)
        self._begun = {}


def shared_by(commands: Iterable[Sequence[str]]) -> WarmServers:
    """Servers for one run of several programs. Those that are tests with pytest share its import."""
    tests = any(tuple(command[1:3]) == ("-m", "pytest") for command in commands)
    return WarmServers(["pytest", "_pytest.config"] if tests else [])


def _kill(pid: int, parent: int) -> None:
    """End a server. The process that forked it has reaped it, if it is not its parent any more."""
    with contextlib.suppress(OSError):
        if parent_of(pid) == parent:
            os.kill(pid, signal.SIGKILL)
