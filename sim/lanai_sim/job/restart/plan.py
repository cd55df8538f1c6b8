"""The user's plan for a run: ranks to kill, and how often to take snapshots.

kill rank2 at=3ms       rank 2's process is killed (SIGKILL) at this simulated time every=2ms               each rank
takes a snapshot of itself this often
"""

import contextlib
import ctypes
import os
import secrets
import select
import signal
import socket
import stat
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lanai_host.errors import UserError
from lanai_host.simulator.requests import SNAPSHOT_HELLO

from ...units import duration, exact_time, format_time

VERB = "kill"
RANK = "rank"


@dataclass(frozen=True)
class Kill:
    """`at` in picoseconds."""

    rank: int
    at: int

    def __str__(self) -> str:
        return f"{VERB} {RANK}{self.rank} at {format_time(self.at)}"

    @property
    def text(self) -> str:
        """The kill as `parse_kill` reads it."""
        return f"{VERB} {RANK}{self.rank} at={exact_time(self.at)}"


@dataclass(frozen=True)
class Checkpoint:
    """`every`: picoseconds from one snapshot of a rank to its next."""

    every: int

    @property
    def text(self) -> str:
        """Return the plan as `parse_checkpoint` reads it."""
        return f"every={exact_time(self.every)}"

    def first(self, started: int, rank: int, ranks: int) -> int:
        """Return when a rank's first snapshot after that of its start is due. No two ranks' are due
        together, as none asks the others."""
        return started + self.every * (rank + 1) // ranks


def is_kill(text: str) -> bool:
    """Is this fault one of a rank, not of the fabric?"""
    return text.split()[:1] == [VERB]


def parse_kill(text: str) -> Kill:
    """Return the kill that a text of the command line asks for. Raises UserError."""
    words = text.split()
    number = words[1].removeprefix(RANK) if len(words) == 3 and words[1].startswith(RANK) else ""
    key, _, time = words[-1].partition("=")
    if not number.isdecimal() or key != "at":
        raise UserError(f"fault {text!r} is not understood; write, for example: kill rank2 at=3ms")
    try:
        return Kill(int(number), duration(time))
    except UserError as error:
        raise UserError(f"fault {text!r}: {error}") from error


def parse_checkpoint(text: str) -> Checkpoint:
    """Return the plan that a text of the command line asks for. Raises UserError."""
    key, _, time = text.partition("=")
    if key != "every":
        raise UserError(f"checkpoint {text!r} is not understood; write, for example: every=2ms")
    try:
        every = duration(time)
    except UserError as error:
        raise UserError(f"checkpoint {text!r}: {error}") from error
    if not every:
        raise UserError(f"checkpoint {text!r} leaves no time between two snapshots; write, for example: every=2ms")
    return Checkpoint(every)


def check_kills(kills: Sequence[Kill], ranks: int, limit: int) -> None:
    """Raise UserError for one that cannot be."""
    for kill in kills:
        if kill.rank >= ranks:
            raise UserError(f"fault '{kill}': there are ranks 0 to {ranks - 1}")
        if kill.at > limit:
            raise UserError(f"fault '{kill}': the run ends at {format_time(limit)}, as --max-sim-time says")


# The line by which snapshots of ranks, and ranks made from them, connect to the simulator (`snapshot.c`), and how
# their processes end.


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


class SnapshotProcess:
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


# The reasons why a copy of a process cannot take its place: resources that a fork does not copy, or that the process
# shares with others.


OURS = ("/memfd:lanai",)  # memory that the simulator restores itself
STREAMS = (0, 1, 2)
OWN_SOCKETS = 1  # the one to the simulator


def has_ended(pid: int) -> bool:
    """Has the process lost its memory? It may not have ended altogether."""
    try:
        with open(f"/proc/{pid}/status", errors="surrogateescape") as file:
            return not any(line.startswith("VmSize:") for line in file)
    except OSError:
        return True


def unfit(pid: int) -> str:
    """Return why no snapshot of this process can be taken, in words; empty if one can. It has one socket
    to the simulator."""
    return next(_reasons(pid), "")


def _reasons(pid: int) -> Iterator[str]:
    threads = os.listdir(f"/proc/{pid}/task")
    if len(threads) > 1:
        yield f"it has {len(threads)} threads, and a copy has one; run the program with one thread a rank"
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        if children := file.read().split():
            yield f"it has started process {children[0]}, which a copy does not have"
    yield from _mappings(pid)
    yield from _files(pid)


def _mappings(pid: int) -> Iterator[str]:
    with open(f"/proc/{pid}/maps", errors="surrogateescape") as file:
        for line in file:
            words = line.split(maxsplit=5)
            rights, name = words[1], words[5].strip() if len(words) > 5 else ""
            if rights[1] == "w" and rights[3] == "s" and not name.startswith(OURS):
                what = name.removesuffix(" (deleted)")
                what = "memory (MAP_SHARED)" if what == "/dev/zero" else repr(what)
                yield f"it shares {what}, which a copy would change too; map it MAP_PRIVATE"


def _files(pid: int) -> Iterator[str]:
    sockets = 0
    for name in sorted(os.listdir(f"/proc/{pid}/fd"), key=int):
        number = int(name)
        try:
            mode = os.stat(f"/proc/{pid}/fd/{name}").st_mode
            target = os.readlink(f"/proc/{pid}/fd/{name}")
        except OSError:
            continue
        if stat.S_ISREG(mode) and _flags(pid, name) & os.O_APPEND and number not in STREAMS:
            yield f"it appends to {target!r}, which a copy would do again; open it without O_APPEND"
        elif stat.S_ISFIFO(mode) and number not in STREAMS:
            yield f"it has the pipe {target!r} as descriptor {name}, and what passes there passes once"
        elif stat.S_ISSOCK(mode) and number not in STREAMS:
            sockets += 1
            if sockets > OWN_SOCKETS:
                yield "it has a socket of its own, and what passes there passes once"


def _flags(pid: int, name: str) -> int:
    with open(f"/proc/{pid}/fdinfo/{name}") as file:
        return next((int(line.split()[1], 8) for line in file if line.startswith("flags:")), 0)
