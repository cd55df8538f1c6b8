"""Ranks forked from one Python process that has imported what they need
(`lanai_host.simulator.forking`): the launcher's side."""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import cache_from_source, find_spec
from pathlib import Path
from typing import IO

from lanai_host.errors import UserError
from lanai_host.simulator.forking import BOOT, ENV_CONTROL, ENV_PROGRAM, MESSAGE, send
from lanai_host.simulator.protocol import ENV_DEVICE
from lanai_host.simulator.warm import BOOT as WARM_BOOT
from lanai_host.simulator.warm import ENV_IMPORTS, ENV_PATH, ENV_RUNS

from .system_calls import parent_of, processor_time

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


# Servers of ranks for one run after the other, forked from a process that stays (`lanai_host.simulator.warm`): the
# launcher's side.


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
            popen = start([sys.executable, "-c", WARM_BOOT], {**environment, **variables}, theirs.fileno())
        with contextlib.suppress(ConnectionResetError):
            if failed := runs.recv(MESSAGE):
                self.failed |= json.loads(failed)
                return runs, popen
        assert popen.stderr is not None
        said = popen.stderr.read().decode(errors="replace").strip()
        runs.close()
        reap(popen)
        raise UserError(f"the process that forks the ranks did not start: {said or 'it said nothing'}")

    @property
    def pids(self) -> list[int]:
        """The processes that share imports."""
        return [popen.pid for _, popen in self._begun.values()]

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


# Bytecode of what ranks import, written before the first of them starts.
#
# A module that is compiled at its import leaves another heap than one whose bytecode is read. Without this, buffers
# of the first run after an installation would lie elsewhere than those of later runs.


OURS = ("lanai_host", "lanai_hdl", "lanai_firmware")  # packages that ranks import modules of, some of them late
OTHERS = ("numpy", "mpi4py")  # pip compiles these, unless it is told not to
TESTS = "tests"  # no rank imports packages of this name
COMPILE = """
import compileall, contextlib, importlib, re, sys
device, folders, tests, *others = sys.argv[1:]
for folder in folders.split(chr(0x1F)):
    compileall.compile_dir(folder, quiet=2, rx=re.compile(f"/{tests}/"))
for name in others:
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
from lanai_host.simulator.forking import warm_up
warm_up(device)
"""


def keep(device: str, variables: Mapping[str, str]) -> None:
    """Ranks on `device` with these environment variables find bytecode, unless the variables forbid
    to write any or the packages' folders are read-only.

    What cannot be compiled is not reported: a rank says what is wrong.
    """
    ours, others = ([folder for name in names for folder in _folders(name)] for names in (OURS, OTHERS))
    if variables.get("PYTHONDONTWRITEBYTECODE") or all(map(_is_compiled, [*ours, *_first_sources(others)])):
        return
    subprocess.run(
        [sys.executable, "-c", COMPILE, device, "\x1f".join([*ours, *others]), TESTS, *OTHERS],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=dict(variables), check=False,
    )  # fmt: skip


def _folders(package: str) -> list[str]:
    """Return where its modules lie. It is not imported for that."""
    spec = find_spec(package)
    return [] if spec is None else list(spec.submodule_search_locations or ())


def _first_sources(folders: Iterable[str]) -> Iterator[str]:
    """Yield the first file of each package in these folders, some of which numpy imports late. If it has bytecode, the
    rest is taken to have it too."""
    for folder in map(Path, folders):
        for first in (folder / "__init__.py", *folder.glob("*/__init__.py")):
            if first.parent.name != TESTS:
                yield str(first)


def _is_compiled(path: str) -> bool:
    """Return whether a source, or each in a folder, has bytecode that is not older, or can have none."""
    if not os.path.isdir(path):
        return _are_compiled(Path(path).parent, [Path(path).name])
    return all(_are_compiled(Path(folder), names) for folder, _, names in os.walk(path))


def _are_compiled(folder: Path, names: Iterable[str]) -> bool:
    sources = [str(folder / name) for name in names if name.endswith(".py")]
    if not sources:
        return True
    bytecode = [cache_from_source(source) for source in sources]
    try:
        return all(
            os.stat(code).st_mtime >= os.stat(source).st_mtime for code, source in zip(bytecode, sources, strict=True)
        )
    except OSError:
        return sys.pycache_prefix is None and not os.access(folder, os.W_OK)
