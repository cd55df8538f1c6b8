"""The system calls in which ranks' processes wait for another process, or sleep.

Simulated time may pass for the other ranks while one waits for another process: how long that takes does not depend on
the machine. A rank that computes, sleeps, or waits for a process that it started itself is not among these. `sleepers`
lets time pass without a rank that sleeps on and on.
"""

import contextlib
import os
import platform
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from lanai_host.errors import UserError
from lanai_host.process_memory import memory_file

STDIN = 0
LOOK_SECONDS = 0.1  # of real time, between two looks at how much a process has had
WAIT_SECONDS = 0.5  # of real time in one call, before it counts
# Linux's numbers, by machine, of calls that wait for a peer, and of those in which other threads of
# such a process may be.
_PEER = {
    "x86_64": {
        0: "read", 7: "poll", 23: "select", 42: "connect", 43: "accept", 45: "recvfrom", 47: "recvmsg",
        232: "epoll_wait", 270: "pselect", 271: "ppoll", 281: "epoll_pwait", 288: "accept",
    },
    "aarch64": {
        22: "epoll_pwait", 63: "read", 72: "pselect", 73: "ppoll", 202: "accept", 203: "connect", 207: "recvfrom",
        212: "recvmsg", 242: "accept",
    },
}  # fmt: skip
# Likewise of calls that end at a time, with the number of the argument that says when, and its value if that is never.
_TIMED = {
    "x86_64": {
        7: ("poll", 2, 0xFFFFFFFF), 23: ("select", 4, 0), 35: ("nanosleep", 0, 0), 128: ("rt_sigtimedwait", 2, 0),
        202: ("futex", 3, 0), 230: ("clock_nanosleep", 2, 0), 232: ("epoll_wait", 3, 0xFFFFFFFF),
        270: ("pselect", 4, 0), 271: ("ppoll", 2, 0), 281: ("epoll_pwait", 3, 0xFFFFFFFF),
        441: ("epoll_pwait2", 3, 0),
    },
    "aarch64": {
        22: ("epoll_pwait", 3, 0xFFFFFFFF), 72: ("pselect", 4, 0), 73: ("ppoll", 2, 0), 98: ("futex", 3, 0),
        101: ("nanosleep", 0, 0), 115: ("clock_nanosleep", 2, 0), 137: ("rt_sigtimedwait", 2, 0),
        441: ("epoll_pwait2", 3, 0),
    },
}  # fmt: skip
_FUTEX = {"x86_64": 202, "aarch64": 98}
_FILES = ("socket:", "pipe:")  # what a `read` of waits for a peer


def refuse_without() -> None:
    """Refuse a system that lets processes not make a call that every run needs: a rank would end by it, and name
    something else."""
    with socket.socket(socket.AF_UNIX) as one, select.epoll() as poll, open(memory_file("lanai-trial"), "wb") as file:
        trials: dict[str, Callable[[], object]] = {
            "getpid": lambda: os.kill(os.getpid(), 0),
            "getsockopt": lambda: one.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE),
            "epoll_wait": lambda: poll.poll(0),
            "ftruncate": lambda: os.ftruncate(file.fileno(), 1),
        }
        for name, trial in trials.items():
            try:
                trial()
            except OSError as error:
                raise UserError(f"the system refuses {name}: {error.strerror}; let processes call it") from error


def waits_in(pid: int) -> str:
    """The system call in which a process waits for another one; empty if it does not. Its own
    children are not meant."""
    with suppress(OSError, ValueError, IndexError):
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        if any((thread / "children").read_text().strip() for thread in threads):
            return ""
        calls = [_call(pid, thread) for thread in threads]
        if all(call is not None for call in calls):
            return next(filter(None, calls), "")
    return ""


def is_stopped(pid: int) -> bool:
    """Return whether a signal such as SIGSTOP or a debugger has stopped a process."""
    with suppress(OSError, IndexError):
        return _state(Path(f"/proc/{pid}")) in ("T", "t")
    return False


def sleeps_in(pid: int) -> str:
    """The system call in which a process sleeps until a time, or waits for another one; empty if it
    does not. Neither does a process that it started run code then."""
    with suppress(OSError, ValueError, IndexError):
        if not all(map(_is_asleep, _family(pid))):
            return ""
        for thread in Path(f"/proc/{pid}/task").iterdir():
            if name := _timed(thread):
                return name
        return waits_in(pid)
    return ""


def _family(pid: int) -> Iterator[Path]:
    """The threads of a process, and of all that it started."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        yield thread
        for child in (thread / "children").read_text().split():
            yield from _family(int(child))


def _is_asleep(thread: Path) -> bool:
    return _state(thread) in ("S", "Z")


def unseen(pid: int) -> str:
    """Return why it is not known in which system call a process sleeps; empty if it does not, or if it is known."""
    thread = Path(f"/proc/{pid}")
    try:
        if _is_asleep(thread):
            _syscall(thread)
    except PermissionError as error:
        return f"{error.filename}: {error.strerror}"
    except (OSError, IndexError):
        pass
    return ""


def _syscall(thread: Path) -> list[str]:
    """The number of the system call that a thread is in, and its arguments, as the kernel shows them."""
    return (thread / "syscall").read_text().split()


def _state(thread: Path) -> str:
    return (thread / "stat").read_text(errors="replace").rsplit(")", 1)[1].split()[0]


def _timed(thread: Path) -> str:
    """The call in which a thread sleeps until a time; empty if it is in none."""
    fields = _syscall(thread)
    if len(fields) < 2:
        return ""
    name, argument, never = _TIMED.get(platform.machine(), {}).get(int(fields[0]), ("", 0, 0))
    return name if name and int(fields[1 + argument], 16) != never else ""


class Times(NamedTuple):
    """Seconds for which a thread ran, and for which it could have run, but another one had its processor."""

    ran: float
    delayed: float


def times(thread: int | str) -> Times:
    """Return the times of a process's first thread, or of "thread-self"; zeros if the system does not tell them."""
    try:
        file = os.open(f"/proc/{thread}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            ran, delayed, _ = os.read(file, 80).split()
        finally:
            os.close(file)
    except (OSError, ValueError):
        return Times(0.0, 0.0)
    return Times(1e-9 * int(ran), 1e-9 * int(delayed))


def times_of_all(pid: int) -> dict[str, Times]:
    """Return the times of the threads of a process, and of those that it started."""
    with suppress(OSError, ValueError, IndexError):
        return {thread.name: times(thread.name) for thread in _family(pid)}
    return {}


def processor_time(pid: int) -> float:
    """Return the seconds for which a process has run, and those that it started and has seen end."""
    with suppress(OSError, ValueError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rsplit(")", 1)[1].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def parent_of(pid: int) -> int:
    """Return the process that started this one, or that has it now. Raises OSError if there is none."""
    return int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rsplit(")", 1)[1].split()[1])


class OwnTime:
    """The real time that a process has had since this was made: not that for which the machine had other work than to
    run its first thread, and none from its end on."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._begun, self._before = time.monotonic(), times(pid)
        self._known = 0.0

    @property
    def seconds(self) -> float:
        now, spent = time.monotonic(), times(self._pid)
        if any(spent) or not any(self._before):  # without /proc all time is its own
            self._known = now - self._begun - (spent.delayed - self._before.delayed)
        return self._known


def _call(pid: int, thread: Path) -> str | None:
    """The call for a peer in which a thread waits; empty if it waits for other threads, None if it
    does not wait or for something else."""
    state = _state(thread)
    fields = _syscall(thread)
    if state != "S" or len(fields) < 2:  # "running"
        return None
    number, machine = int(fields[0]), platform.machine()
    if number == _FUTEX.get(machine):
        return ""
    name = _PEER.get(machine, {}).get(number)
    return None if name == "read" and not _is_peer(pid, int(fields[1], 16)) else name


def _is_peer(pid: int, file: int) -> bool:
    """Does another process write what is read there? Standard input is the user's."""
    return file != STDIN and str(Path(f"/proc/{pid}/fd/{file}").readlink()).startswith(_FILES)


class Watch:
    """The processes that have waited in one system call for `WAIT_SECONDS`."""

    def __init__(self) -> None:
        self._since: dict[int, tuple[str, float]] = {}

    def waits(self, pid: int) -> bool:
        """Has this process? To be asked again and again."""
        call = waits_in(pid)
        mark = f"{call} {_switches(pid)}"
        if not call:
            self._since.pop(pid, None)
            return False
        known, since = self._since.setdefault(pid, (mark, time.monotonic()))
        if known != mark:  # it has run in between
            self._since[pid] = mark, time.monotonic()
            return False
        return time.monotonic() - since >= WAIT_SECONDS


def _switches(pid: int) -> str:
    """Return how often its threads have stopped to run: the same as long as none of them runs."""
    return " ".join(_voluntary(pid))


def _voluntary(pid: int) -> Iterator[str]:
    with suppress(OSError):
        for thread in sorted(Path(f"/proc/{pid}/task").iterdir()):
            for line in (thread / "status").read_text(errors="replace").splitlines():
                if line.startswith("voluntary_ctxt_switches"):
                    yield line.split()[1]


# Processes that ranks have left: each rank begins a session, to which all belong that it starts and that do not begin
# another one. A shell with job control, and `timeout`, put what they start into process groups of its own.


MOST_LOOKS = 100  # a process that starts another one while it is killed takes a further look
PAUSE = 0.01  # seconds before the next look: on a busy machine a process that is killed waits for its turn to end


class Exits(Protocol):
    """A process as the launcher sees it, as `subprocess.Popen`."""

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...


def await_exit(process: Exits, own: OwnTime, seconds: float) -> None:
    """Wait until a process has ended, or has had so many seconds of its own: a busy machine gives it more."""
    while process.poll() is None and own.seconds < seconds:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(LOOK_SECONDS)


def end_sessions(leaders: Collection[int]) -> None:
    """Kill all processes of the sessions that these processes began."""
    for _ in range(MOST_LOOKS):
        left = list(_members(leaders))
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(PAUSE)


def end_left_sessions(leaders: Collection[int]) -> None:
    """Kill what these processes have left, which have ended and were waited for. The system gives a leader's number to
    no other process while its session lasts. So where there is one again, the session is someone else's."""
    end_sessions({leader for leader in leaders if not os.path.exists(f"/proc/{leader}")})


def _members(leaders: Collection[int]) -> Iterator[int]:
    """Yield members that run. A process that has ended belongs to its session until its parent has asked how."""
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError):
                if not _groups(int(name)).isdisjoint(leaders) and not _has_ended(name):
                    yield int(name)


def _groups(pid: int) -> set[int]:
    """Return a process's session and its group, which it leads where it may lead no session."""
    return {os.getsid(pid), os.getpgid(pid)}


def _has_ended(pid: str) -> bool:
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b") ")[2][:1] in b"ZX"
