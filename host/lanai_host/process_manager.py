"""The process manager as MPI sees it: what starts processes, and knows the ports and the names by which groups of
processes of one run find each other.

A process asks it a `Question`. Under `lanai run` the launcher answers; a process that was started without it is its own
manager (`Local`). Processes are named by their ranks in the run, those of the device.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

_PORT = re.compile(r"lanai-port:(\d+)\.(\d+)")


LATER = "LATER"


class Refused(Exception):
    """The manager says no. `kind` names the error class, as MPI_ERR_ does without the prefix; `LATER`
    is MPI_ERR_SPAWN where the answer may be another one once a process has left."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Question(StrEnum):
    """A request that a process may make: a method of `Registry` of that name, or SPAWN."""

    OPEN_PORT = "open_port"
    CLOSE_PORT = "close_port"
    ACCEPT = "accept"
    CONNECT = "connect"
    PUBLISH = "publish"
    UNPUBLISH = "unpublish"
    LOOK_UP = "look_up"
    JOIN = "join"
    SPAWN = "spawn"


class Manager(Protocol):
    """A process's access to the launcher. Answers are plain values, as JSON has them."""

    def ask(self, call: str, question: Question, *values: Any) -> Any:
        """The answer, for this MPI call. Raises Refused."""


@dataclass(frozen=True)
class Command:
    """Processes of one program to start.

    Attributes:
        program: a file, or a name to be found on `path`, else on PATH.
        arguments: what follows the program's name.
        counts: how many processes may be started, the best first.
        directory: where they run; empty: where the run was started.
        path: directories to look for the program in, with colons between them; empty: those of PATH.
    """

    program: str
    arguments: tuple[str, ...]
    counts: tuple[int, ...]
    directory: str = ""
    path: str = ""


@dataclass(frozen=True)
class Start:
    """The circumstances in which a process was started.

    Attributes:
        members: the ranks of its MPI_COMM_WORLD in the run.
        number: which of the commands that began together it is of (MPI_APPNUM).
        parent: the rank in the run that asked for it, as root of its call; None for those that `lanai run` started.
    """

    members: Sequence[int]
    number: int = 0
    parent: int | None = None


class Registry:
    """Ports, names, and sockets that are being joined. The first argument of each method is the process that asks."""

    def __init__(self) -> None:
        self._opened: dict[int, int] = {}  # how many ports each process has opened so far
        self._waiting: dict[str, int] = {}  # by open port: who asked to be connected, less those who accept
        self._names: dict[str, str] = {}  # ports, by the name of the service
        self._joining: dict[int, int] = {}  # by a socket's number: the process that came first

    def open_port(self, rank: int) -> str:
        """A name for a new port."""
        number = self._opened[rank] = self._opened.get(rank, 0) + 1
        name = f"lanai-port:{rank}.{number}"
        self._waiting[name] = 0
        return name

    def close_port(self, rank: int, name: str) -> int:
        """The port is gone. How many have asked to be connected and were not accepted."""
        self._own(rank, name)
        return max(0, self._waiting.pop(name))

    def accept(self, rank: int, name: str) -> None:
        """The process takes the next that asks."""
        self._own(rank, name)
        self._waiting[name] -= 1

    def connect(self, rank: int, name: str) -> None:
        """The process asks to be connected; it tells the port's owner next."""
        if name not in self._waiting:
            raise Refused("PORT", f"port_name is {name!r}, which no process has open")
        self._waiting[name] += 1

    def publish(self, rank: int, service: str, port: str) -> None:
        if service in self._names:
            raise Refused("SERVICE", f"service_name {service!r} is published already")
        self._names[service] = port

    def unpublish(self, rank: int, service: str, port: str) -> None:
        if self._names.get(service) != port:
            raise Refused("SERVICE", f"service_name {service!r} is not published with port {port!r}")
        del self._names[service]

    def look_up(self, rank: int, service: str) -> str:
        """The port of a service."""
        if service not in self._names:
            raise Refused("NAME", f"service_name {service!r} is not published")
        return self._names[service]

    def join(self, rank: int, socket: int) -> int | None:
        """The process at the other end of this socket; None if that has not come yet, and will tell."""
        first = self._joining.pop(socket, None)
        if first is None:
            self._joining[socket] = rank
        return first

    def _own(self, rank: int, name: str) -> None:
        if name not in self._waiting or owner_of(name)[0] != rank:
            raise Refused("PORT", f"port_name is {name!r}; this process has no such port open")


class Local:
    """The manager of processes that share a registry. None of them can be joined by new ones."""

    def __init__(self, rank: int, registry: Registry | None = None) -> None:
        self._rank = rank
        self._registry = Registry() if registry is None else registry

    def ask(self, call: str, question: Question, *values: Any) -> Any:
        if question is Question.SPAWN:
            raise Refused("SPAWN", "only `lanai run` starts processes; start with: lanai run --universe N PROGRAM")
        return answer(self._registry, self._rank, question, values)


def answer(registry: Registry, rank: int, question: Question, values: Sequence[Any]) -> Any:
    """The registry's answer."""
    return getattr(registry, question.value)(rank, *values)


def owner_of(port: str) -> tuple[int, int]:
    """The process that opened a port, and the port's number there."""
    found = _PORT.fullmatch(port)
    assert found is not None, port  # the registry knows it
    return int(found[1]), int(found[2])
