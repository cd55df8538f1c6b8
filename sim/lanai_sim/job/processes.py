"""Rank processes: started with a socket each, their output gathered, ended without leaving anything
behind."""

import contextlib
import errno
import os
import resource
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import IO, Any, Protocol

from lanai_firmware.cache import file, kept
from lanai_host.abi.programs import check_program, may_serve
from lanai_host.abi.programs import environment as libmpi
from lanai_host.c_module import key_of_text
from lanai_host.compilers import Language, find
from lanai_host.errors import UserError
from lanai_host.simulator.forking import FILES, may_fork
from lanai_host.simulator.protocol import ENV_DEVICE, ENV_RANK, ENV_SIZE, ENV_SOCKET
from lanai_host.stacks import stack

from . import data
from .data import Program
from .forked import ForkedProcess, ForkServer, WarmServers, executed, keep, pipe
from .output import Output
from .system_calls import OwnTime, await_exit, end_left_sessions, refuse_without

# What would make a rank's heap depend on more than its program: Python's random hashes, and the
# threads that numpy's libraries start for each processor of the machine. What the user has set goes
# before.
SETTLED = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
PROC = "/proc"
STDIN = 0  # ours, whatever sys.stdin has become
SPARE_FILES = 64  # beside those of ranks: libraries' and our own
GRACE = 2.0  # seconds of its own that a process has between SIGTERM and SIGKILL
STARTER_FLAGS = ("-O2", "-Wall", "-Wextra", "-Werror")


def resolve_program(program: str, search: str | None = None, directory: str = "") -> str:
    """The file to execute. `python` means the interpreter that runs lanai itself. `search` is used
    instead of PATH; names with a slash are relative to `directory`."""
    if program in ("python", "python3") and search is None:
        return sys.executable
    # Joined as text: Path would drop the "./" that keeps `which` from searching PATH.
    name = os.path.join(directory, program) if "/" in program else program
    found = shutil.which(name, path=search)
    path = Path(name)
    if found is not None:
        return sys.executable if _is_this_python(found) else os.path.abspath(found)
    if path.is_dir():
        raise UserError(f"{program!r} is a directory; name a program")
    if path.exists():
        typed = shlex.quote(program)
        if "/" not in program and os.access(path, os.X_OK):
            raise UserError(f"{program!r} is not on PATH; to run the file here write: ./{typed}")
        hint = f"write: python {typed}" if path.suffix == ".py" else f"make it executable: chmod +x {typed}"
        raise UserError(f"{program!r} is not executable; {hint}")
    raise UserError(f"program {program!r} was not found, neither as a file nor on {search or 'PATH'}")


def _is_this_python(path: str) -> bool:
    """Return whether a program is the interpreter that runs lanai, by another of its names: an environment has
    `python`, `python3` and `python3.11`. Another environment's is a link to the same file, in another folder."""
    folder, ours = os.path.dirname(os.path.abspath(path)), os.path.dirname(sys.executable)
    return os.path.samefile(path, sys.executable) and os.path.samefile(folder, ours)


@kept
def starter() -> Path:
    """The program that turns into a rank: start_rank.c, compiled once."""
    source = files(__package__).joinpath("start_rank.c").read_text()

    def build(made: Path) -> None:
        find(Language.C).run([*STARTER_FLAGS, "-x", "c", "-o", str(made), "-"], "building the starter of ranks", source)

    return file("native", key_of_text(source, STARTER_FLAGS), "start_rank", build)


class Running(Protocol):
    """A process as `subprocess.Popen` shows it."""

    pid: int
    returncode: Any

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...


@dataclass
class Process:
    """One rank's process, which runs `program`, and the simulator's end of its socket. `server`: what
    forked it, if it was forked; `origin`: what it is, if another rank started it."""

    rank: int
    program: str
    popen: Running
    sock: socket.socket
    server: ForkServer | None = None
    origin: str = ""

    def describe_exit(self) -> str:
        code = self.popen.returncode
        who = f"rank {self.rank} ({self.origin}{', ' if self.origin else ''}pid {self.popen.pid})"
        if self.server is not None and self.server.lost:
            return f"the process that forks the ranks has ended (killed, or out of memory?), and {who} with it"
        if code < 0:
            return f"{who} was killed by {signal_name(-code)}"
        return f"{who} exited with code {code}"


def signal_name(number: int) -> str:
    """Return "SIGSEGV", or "signal 40" for a number without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def prepare(programs: Sequence[Program]) -> None:
    """Refuse programs that cannot be started, and build the library that they need, before a run begins."""
    if not os.path.isdir(f"{PROC}/self"):
        raise UserError(f"{PROC} is not mounted, and it shows what ranks do; write: mount -t proc proc {PROC}")
    refuse_without()
    for one in programs:
        if not one.command:
            raise UserError("no program was named; write, for example: python examples/mpi/ring.py")
        path = Path(resolve_program(one.command[0]))
        check_program(path)
        libmpi(path)


def exit_code(code: int) -> int:
    """A process's return code as the shell has it."""
    return 128 - code if code < 0 else code


def start(
    command: Sequence[str],
    ranks: Sequence[int],
    total: int,
    device: str,
    environment: Mapping[str, str],
    output: Output,
    *,
    fork: bool = True,
    directory: str | None = None,
    rank_variables: Sequence[str] = (),
    servers: WarmServers | None = None,
) -> list[Process]:
    """Start processes of one program, which finds our libmpi, with these ranks of `total`, in a
    directory if one is given. If one cannot be started, those that were are ended. `rank_variables`:
    more environment variables that hold the rank.

    Ranks of this Python, and of compiled programs, are forked from one process where they behave as if executed,
    unless `fork` is false. Compiled programs on NICs, whose time depends on where buffers lie in their pages, are
    executed if their heap is the C library's. `servers` gives that of Python, if there are several runs.
    """
    program = resolve_program(command[0])
    check_program(Path(program))
    variables = {
        **SETTLED,
        **os.environ,
        **libmpi(Path(program)),
        **environment,
        ENV_SIZE: str(total),
        ENV_DEVICE: device,
    }
    keep(device, variables)
    named = (ENV_RANK, *rank_variables)
    words = [program, *command[1:]]
    may_fork_all = fork and _has_room(len(ranks))
    serve = _server_of(words, device, variables, directory, servers) if may_fork_all else None
    forked = None if serve is None else _fork(serve, words, ranks, output, named)
    if forked is not None:
        return forked
    processes: list[Process] = []
    try:
        for rank in ranks:
            own = {**variables, **dict.fromkeys(named, str(rank))}
            processes.append(_start_one(words, rank, own, output, directory))
    except OSError as error:
        end(processes)
        raise UserError(_too_few_files(total) if error.errno == errno.EMFILE else str(error)) from error
    except BaseException:
        end(processes)
        raise
    return processes


def _start_one(
    command: Sequence[str], rank: int, variables: Mapping[str, str], output: Output, directory: str | None
) -> Process:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with theirs:
        env = {**variables, ENV_SOCKET: str(theirs.fileno())}
        try:
            popen = _spawn(command, env, None if _reads(rank) else subprocess.DEVNULL, theirs.fileno(), directory)
        except OSError as error:
            ours.close()
            if error.errno == errno.EMFILE:
                raise
            raise UserError(f"cannot start {command[0]!r}: {error.strerror}") from error
    assert popen.stdout is not None
    assert popen.stderr is not None
    output.add(popen.stdout, rank, "stdout")
    output.add(popen.stderr, rank, "stderr")
    return Process(rank, _name_of(command), popen, ours)


def _name_of(command: Sequence[str]) -> str:
    """Return the name of a program in reports: for Python, the script."""
    script = command[0] == sys.executable and len(command) > 1 and not command[1].startswith("-")
    return os.path.basename(command[1] if script else command[0])


def _reads(rank: int) -> bool:
    """The rank has our standard input."""
    return rank == 0 and sys.stdin is not None and not sys.stdin.isatty()


def _server_of(
    command: Sequence[str],
    device: str,
    variables: Mapping[str, str],
    directory: str | None,
    servers: WarmServers | None,
) -> Callable[[], ForkServer] | None:
    """Return a function that starts the process that forks ranks of this program; None if each must be executed."""

    def start(words: Sequence[str], env: Mapping[str, str], sock: int) -> subprocess.Popen[bytes]:
        return _spawn(words, env, subprocess.DEVNULL, sock, directory)

    if command[0] == sys.executable:
        if directory or not may_fork(command[1:], variables):
            return None
        return partial(executed if servers is None else servers.server, variables, start)
    alike = not stack(device).nics or data.in_pages(variables)
    if alike and may_serve(Path(command[0]), variables):
        return partial(executed, variables, start, command)
    return None


def _fork(
    serve: Callable[[], ForkServer], command: Sequence[str], ranks: Sequence[int], output: Output, named: Sequence[str]
) -> list[Process] | None:
    """The ranks, forked; None if the process that is to fork them does not come up, so that each
    must be executed."""
    server = serve()
    with contextlib.ExitStack() as opened:  # what is ours, until all have begun
        opened.callback(server.close)
        if not server.ready:
            return None
        server.begin(len(ranks))
        ends = [_ask(server, command[1:], rank, opened, named) for rank in ranks]
        pids = [server.pid() for _ in ranks]
        opened.pop_all()
    processes = []
    for rank, pid, (sock, stdout, stderr) in zip(ranks, pids, ends, strict=True):
        output.add(stdout, rank, "stdout")
        output.add(stderr, rank, "stderr")
        processes.append(Process(rank, _name_of(command), ForkedProcess(server, pid), sock, server))
    return processes


def _ask(
    server: ForkServer, arguments: Sequence[str], rank: int, opened: contextlib.ExitStack, named: Sequence[str]
) -> tuple[socket.socket, IO[bytes], IO[bytes]]:
    """Ask for a rank. Our ends of its socket and of what it prints."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    (stdout, out), (stderr, err) = pipe(), pipe()
    for end_of_ours in (ours, stdout, stderr):
        opened.callback(end_of_ours.close)
    stdin = STDIN if _reads(rank) else os.open(os.devnull, os.O_RDONLY)
    with theirs:
        server.ask(arguments, dict.fromkeys(named, str(rank)), [theirs.fileno(), stdin, out, err])
    for given in {stdin, out, err} - {STDIN}:
        os.close(given)
    return ours, stdout, stderr


def _has_room(ranks: int) -> bool:
    """The process that forks so many may hold the files of all at once."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limit == resource.RLIM_INFINITY or FILES * ranks + SPARE_FILES <= limit


def _too_few_files(ranks: int) -> str:
    """Return what is told if the limit on open files does not do for so many ranks."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (
        f"{ranks} ranks need more open files than the {limit} that this process may have; "
        f"write: ulimit -n {FILES * ranks + SPARE_FILES}"
    )


def _spawn(
    command: Sequence[str], env: Mapping[str, str], stdin: int | None, sock: int, directory: str | None = None
) -> subprocess.Popen[bytes]:
    """A rank's process, which executes the command already. Raises OSError if it cannot."""
    errors, report = os.pipe()
    try:
        popen = subprocess.Popen(
            [str(starter()), str(report), str(os.getpid()), *command], env=env, cwd=directory,
            stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[sock, report],
        )  # fmt: skip
    except BaseException:
        os.close(errors)
        raise
    finally:
        os.close(report)
    with os.fdopen(errors, "rb") as answer:
        error = answer.read()  # until the program is executed, which closes the other end
    if error:
        popen.communicate()
        number = int.from_bytes(error, sys.byteorder)
        raise OSError(number, os.strerror(number))
    return popen


def end(processes: Sequence[Process]) -> None:
    """End all that still run, with everything they started, and reap them."""
    alive = [process for process in processes if process.popen.poll() is None]
    for process in alive:
        _signal(process, signal.SIGTERM)
    own = [OwnTime(process.popen.pid) for process in alive]
    for process, since in zip(alive, own, strict=True):
        await_exit(process.popen, since, GRACE)
    for process in processes:
        if process.popen.poll() is None:
            _signal(process, signal.SIGKILL)
            process.popen.wait()
        process.sock.close()
    end_left_sessions({process.popen.pid for process in processes})
    for server in {id(process.server): process.server for process in processes if process.server}.values():
        server.close()


def _signal(process: Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.popen.pid, number)
