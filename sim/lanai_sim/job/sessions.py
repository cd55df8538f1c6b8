"""Processes that ranks have left: each rank begins a session, to which all belong that it starts and that do not begin
another one. A shell with job control, and `timeout`, put what they start into process groups of its own."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Collection, Iterator
from typing import Protocol

from .system_calls import LOOK_SECONDS, OwnTime

MOST_LOOKS = 100  # a process that starts another one while it is killed takes a further look


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
