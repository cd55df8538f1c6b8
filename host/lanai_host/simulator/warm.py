"""A process that has imported what ranks need, and serves one run after the other: it forks a server of
ranks (`forking`) for each.

The launcher starts it, and sends it for each run the environment of the ranks, with the server's end of
its control socket. It ends with the launcher.
"""

import contextlib
import ctypes
import importlib
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType

from .forking import PR_SET_PDEATHSIG, fork_ranks, python_program, receive, warm_up
from .protocol import ENV_DEVICE

BOOT = "import sys; del sys.path[0]; from lanai_host.simulator.warm import serve; serve()()"
ENV_RUNS = "LANAI_RUNS_FD"  # its end of the socket to the launcher
ENV_IMPORTS = "LANAI_IMPORTS"  # modules to import, as a JSON list
ENV_PATH = "LANAI_IMPORT_PATH"  # where Python finds them, likewise, or null
USES_MPI = "mpi4py.MPI"  # begins MPI when it is imported: each rank does that by itself


def serve() -> Callable[[], None]:
    """Import, then fork a server for each run. Returns in a rank, with what runs its program."""
    runs = socket.socket(fileno=int(os.environ.pop(ENV_RUNS)))
    runs.set_inheritable(False)
    sys.path[:] = json.loads(os.environ.pop(ENV_PATH)) or sys.path
    warm_up(os.environ[ENV_DEVICE])
    failed = import_ahead(json.loads(os.environ.pop(ENV_IMPORTS)))
    runs.send(json.dumps(failed).encode())
    while True:
        variables, files = receive(runs, 1)
        if variables is None:
            os._exit(0)
        _reap()
        pid = os.fork()
        if pid == 0:
            runs.close()
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            _settle(variables)
            return python_program(fork_ranks(socket.socket(fileno=files[0])))
        os.close(files[0])
        runs.send(str(pid).encode())


def _reap() -> None:
    """Reap servers that have ended. The launcher holds each by a descriptor, so their numbers are free then."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _settle(variables: dict[str, str]) -> None:
    """Have this environment and no other."""
    for name in set(os.environ) - set(variables):
        del os.environ[name]
    os.environ.update(variables)


class _Refusal(MetaPathFinder):
    """Refuses the import of one module, and remembers that it was asked for."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.asked = False

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if fullname == self._name:
            self.asked = True
            raise ImportError(f"{fullname} is imported by each rank")


def import_ahead(names: Sequence[str]) -> dict[str, str]:
    """Import these modules, but for those that cannot be imported or import MPI, which are forgotten. Return the
    errors of the former."""
    failed: dict[str, str] = {}
    refusal = _Refusal(USES_MPI)
    sys.meta_path.insert(0, refusal)
    try:
        for name in names:
            before = set(sys.modules)
            refusal.asked = False
            try:
                importlib.import_module(name)
            except Exception as error:
                if not refusal.asked:
                    failed[name] = f"{type(error).__name__}: {str(error)[:200]}"
                refusal.asked = True
            if refusal.asked:
                for new in set(sys.modules) - before:
                    del sys.modules[new]
    finally:
        sys.meta_path.remove(refusal)
    return failed
