"""Rank processes: started with a socket each, their output gathered, ended without leaving anything behind."""

import contextlib
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lanai_host.abi.programs import check_program
from lanai_host.errors import UserError
from lanai_host.protocol import ENV_DEVICE, ENV_RANK, ENV_SIZE, ENV_SOCKET

from .output import Output

PR_SET_PDEATHSIG = 1
ADDR_NO_RANDOMIZE = 0x0040000
SETTLED = {"PYTHONHASHSEED": "0"}  # Python's own dice; what the user has set goes before
GRACE = 2.0  # seconds between SIGTERM and SIGKILL
_libc = ctypes.CDLL(None, use_errno=True)


def resolve_program(program: str) -> str:
    """The file to execute. `python` means the interpreter that runs lanai itself."""
    if program in ("python", "python3"):
        return sys.executable
    found = shutil.which(program)
    if found is not None:
        return os.path.abspath(found)
    path = Path(program)
    if path.is_dir():
        raise UserError(f"{program!r} is a directory; name a program")
    if path.exists():
        hint = f"write: python {program}" if path.suffix == ".py" else f"make it executable: chmod +x {program}"
        raise UserError(f"{program!r} is not executable; {hint}")
    raise UserError(f"program {program!r} was not found, neither as a file nor on PATH")


def _settle() -> None:
    """In the child: be killed when the simulator goes, however it goes, and lie at the same addresses each time: where a buffer
    lies in its pages decides how many of them are pinned."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    _libc.personality(ADDR_NO_RANDOMIZE)


@dataclass
class Process:
    """One rank's process and the simulator's end of its socket."""

    rank: int
    popen: subprocess.Popen[bytes]
    sock: socket.socket

    def describe_exit(self) -> str:
        code = self.popen.returncode
        if code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"signal {-code}"
            return f"rank {self.rank} (pid {self.popen.pid}) was killed by {name}"
        return f"rank {self.rank} (pid {self.popen.pid}) exited with code {code}"


def start(
    command: Sequence[str], ranks: int, device: str, environment: Mapping[str, str], output: Output
) -> list[Process]:
    """Start `ranks` processes of one program. If one cannot be started, those that were are ended."""
    program = resolve_program(command[0])
    check_program(Path(program))
    processes: list[Process] = []
    try:
        for rank in range(ranks):
            processes.append(_start_one([program, *command[1:]], rank, ranks, device, environment, output))
    except BaseException:
        end(processes)
        raise
    return processes


def _start_one(
    command: Sequence[str], rank: int, ranks: int, device: str, environment: Mapping[str, str], output: Output
) -> Process:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with theirs:
        env = {**SETTLED, **os.environ, **environment}
        env |= {ENV_SOCKET: str(theirs.fileno()), ENV_RANK: str(rank), ENV_SIZE: str(ranks), ENV_DEVICE: device}
        stdin = None if rank == 0 and not sys.stdin.isatty() else subprocess.DEVNULL
        try:
            popen = subprocess.Popen(
                command, env=env, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[theirs.fileno()],
                start_new_session=True, preexec_fn=_settle,
            )  # fmt: skip
        except OSError as error:
            ours.close()
            raise UserError(f"cannot start {command[0]!r}: {error.strerror}") from error
    assert popen.stdout is not None
    assert popen.stderr is not None
    output.add(popen.stdout, rank, sys.stdout)
    output.add(popen.stderr, rank, sys.stderr)
    return Process(rank, popen, ours)


def end(processes: Sequence[Process]) -> None:
    """End all that still run, with everything they started, and reap them."""
    alive = [process for process in processes if process.popen.poll() is None]
    for process in alive:
        _signal(process, signal.SIGTERM)
    deadline = time.monotonic() + GRACE
    for process in alive:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.popen.wait(max(0.0, deadline - time.monotonic()))
    for process in processes:
        _signal(process, signal.SIGKILL)  # also what a rank that has ended left in its session
        process.popen.wait()
        process.sock.close()


def _signal(process: Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.popen.pid, number)
