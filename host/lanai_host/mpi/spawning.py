"""Starting processes: MPI_Comm_spawn and what a started process does in its MPI_Init.

The process manager starts them and tells the root how many; the two groups then become connected as at a port.
"""

import os
import re
import socket
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from ..body import NOTHING, Body
from ..device import SendMode
from ..operation import ANY_SOURCE, Operation
from ..process_manager import Command, Manager, Question, owner_of
from .attributes import Info
from .collectives.link import Link
from .collectives.schedule import Steps, launch
from .communicator import JOINING, PORTS, Communicator
from .errors import ErrorClass, MpiError
from .intercomm import Connected, Finding, NotConnected, Other, ask, at_once, connect_groups
from .memory import address_of, array, zeros
from .request import device_error

_TAG = 1 << 30  # of what parents and children tell each other, beyond the tags of ports
_TRIPLET = re.compile(r"(\d+)(?::(\d+)(?::(\d+))?)?")


class Program(NamedTuple):
    """A program to start, with its arguments, its number of processes and its hints."""

    command: str
    arguments: Sequence[str]
    most: int  # processes: maxprocs
    info: Info | None


class Spawner:
    """Starts processes for one process. `everyone` has all processes of the run."""

    def __init__(self, everyone: Communicator, manager: Manager) -> None:
        self._everyone = everyone
        self._manager = manager

    def spawn(self, comm: Communicator, call: str, root: int, programs: Callable[[], Sequence[Program]]) -> Connected:
        """MPI_Comm_spawn, MPI_Comm_spawn_multiple. `programs()` is asked at the root. The codes are
        those of each process that was asked for, program by program. Raises `NotConnected` if the
        processes could not be started."""

        def begin(link: Link) -> Finding:
            return self._start(call, list(programs()))

        return connect_groups(comm, self._everyone, call, root, begin)

    def _start(self, call: str, programs: Sequence[Program]) -> Finding:
        commands = [_command(call, program) for program in programs]
        asked = [program.most for program in programs]
        try:
            first, started = ask(self._manager, self._everyone, call, Question.SPAWN, [asdict(one) for one in commands])
        except MpiError as error:
            raise NotConnected(error, [int(error.error_class)] * sum(asked)) from None
        codes: list[int] = []
        for most, count in zip(asked, started, strict=True):
            codes += [int(ErrorClass.SUCCESS)] * count + [int(ErrorClass.SPAWN)] * (most - count)
        return at_once(Other(first, _TAG, codes))

    def meet_parent(self, comm: Communicator, parent: int) -> Communicator:
        """The other half, in MPI_Init of those that were started: `comm` is their MPI_COMM_WORLD."""
        return connect_groups(
            comm, self._everyone, "MPI_Init", 0, lambda link: at_once(Other(parent, _TAG))
        ).communicator


def _command(call: str, program: Program) -> Command:
    if program.most < 1:
        raise MpiError(ErrorClass.ARG, f"{call}: maxprocs is {program.most}; it must be at least 1")
    if not program.command:
        raise MpiError(ErrorClass.ARG, f"{call}: command is empty; name a program")
    info = dict(program.info.pairs()) if program.info is not None else {}
    return Command(
        program.command,
        tuple(program.arguments),
        _counts(call, program.most, info.get("soft")),
        info.get("wdir", ""),
        info.get("path", ""),
    )


def _counts(call: str, most: int, soft: str | None) -> tuple[int, ...]:
    """Return the numbers of processes that will do, the most first. `soft` has numbers and ranges first:last:step,
    with commas between them."""
    if soft is None:
        return (most,)
    allowed: set[int] = set()
    for part in soft.split(","):
        found = _TRIPLET.fullmatch(part.strip())
        step = 0 if found is None else int(found[3] or 1)
        if found is None or step == 0:
            raise MpiError(
                ErrorClass.INFO_VALUE,
                f"{call}: soft is {soft!r}; write numbers, first:last or first:last:step, with commas between them",
            )
        allowed |= set(range(int(found[1]), int(found[2] or found[1]) + 1, step))
    counts = tuple(sorted((count for count in allowed if 0 < count <= most), reverse=True))
    if not counts:
        raise MpiError(ErrorClass.SPAWN, f"{call}: soft is {soft!r}, which has no count from 1 to maxprocs, {most}")
    return counts


# Ports and names: groups of processes of one run that become connected though they share no
# communicator.
#
# A port belongs to the process that opened it. The process manager knows which ports are open. Who connects asks the
# manager, sends the port's owner a message, and is told whether it was accepted.

_BRIDGE = 1 << 20  # added to a port's number: the tag of the answer, and of what the leaders tell each other
_ACCEPTED, _CLOSED = 0, 1  # the answer


class Ports:
    """The ports of one process. `everyone` has all processes of the run."""

    def __init__(self, everyone: Communicator, manager: Manager) -> None:
        self._everyone = everyone
        self._manager = manager

    # Ports

    def open(self) -> str:
        """MPI_Open_port."""
        name: str = self._ask("MPI_Open_port", Question.OPEN_PORT)
        return name

    def close(self, name: str) -> None:
        """MPI_Close_port: ranks that wait to be accepted get an error."""
        call = "MPI_Close_port"
        waiting = self._ask(call, Question.CLOSE_PORT, name)
        link = Link(self._everyone, call, 0)

        def steps() -> Steps:
            for _ in range(waiting):
                yield from self._answer(link, name, _CLOSED)

        launch(link, steps()).wait()

    def accept(self, comm: Communicator, name: str, root: int) -> Communicator:
        """MPI_Comm_accept. `name` counts at the root only."""
        call = "MPI_Comm_accept"

        def begin(link: Link) -> Finding:
            self._ask(call, Question.ACCEPT, name)
            return self._answer(link, name, _ACCEPTED)

        return connect_groups(comm, self._everyone, call, root, begin).communicator

    def connect(self, comm: Communicator, name: str, root: int) -> Communicator:
        """MPI_Comm_connect. `name` counts at the root only."""
        call = "MPI_Comm_connect"

        def begin(link: Link) -> Finding:
            self._ask(call, Question.CONNECT, name)
            return self._find(link, name)

        return connect_groups(comm, self._everyone, call, root, begin).communicator

    def _find(self, link: Link, name: str) -> Finding:
        """Tell the owner of a port, and wait for its answer."""
        owner, number = owner_of(name)
        bridge = link.through(self._everyone, number + _BRIDGE, PORTS)
        answer = zeros(1, np.uint8)
        yield [
            self._send(owner, number, PORTS, NOTHING),
            bridge.receive_bytes(owner, address_of(answer), 1),
        ]
        if answer[0] == _CLOSED:
            raise MpiError(ErrorClass.PORT, f"{link.call}: port_name is {name!r}, which was closed before it accepted")
        return Other(owner, number + _BRIDGE)

    def _answer(self, link: Link, name: str, answer: int) -> Finding:
        """Wait for the next process that connects to a port of this one, and answer it."""
        number = owner_of(name)[1]
        coming = self._everyone.device.receive(ANY_SOURCE, number, PORTS, NOTHING)
        yield [coming]
        if coming.error is not None:
            raise device_error(link.call, coming.error, 0, ANY_SOURCE)
        bridge = link.through(self._everyone, number + _BRIDGE, PORTS)
        said = array([answer], np.uint8)
        link.held.append(said)
        yield [bridge.send_bytes(coming.source, address_of(said), 1)]
        return Other(coming.source, number + _BRIDGE)

    def join(self, comm: Communicator, descriptor: int) -> Communicator:
        """MPI_Comm_join, for MPI_COMM_SELF. The ends of the socket have each other's names, so
        nothing goes through it."""
        call = "MPI_Comm_join"
        tag = _tag_of(call, descriptor)

        def begin(link: Link) -> Finding:
            return self._meet(link, tag, self._ask(call, Question.JOIN, tag))

        return connect_groups(comm, self._everyone, call, 0, begin).communicator

    def _meet(self, link: Link, tag: int, first: int | None) -> Finding:
        """The process at the other end of a socket: `first` if that came before this one, which tells it."""
        if first is not None:
            yield [self._send(first, tag, JOINING, NOTHING)]
            return Other(first, tag)
        coming = self._everyone.device.receive(ANY_SOURCE, tag, JOINING, NOTHING)
        yield [coming]
        if coming.error is not None:
            raise device_error(link.call, coming.error, 0, ANY_SOURCE)
        return Other(coming.source, tag)

    # Names

    def publish(self, service: str, port: str) -> None:
        """MPI_Publish_name."""
        self._ask("MPI_Publish_name", Question.PUBLISH, service, port)

    def unpublish(self, service: str, port: str) -> None:
        """MPI_Unpublish_name."""
        self._ask("MPI_Unpublish_name", Question.UNPUBLISH, service, port)

    def lookup(self, service: str) -> str:
        """MPI_Lookup_name."""
        port: str = self._ask("MPI_Lookup_name", Question.LOOK_UP, service)
        return port

    def _ask(self, call: str, question: Question, *values: Any) -> Any:
        return ask(self._manager, self._everyone, call, question, *values)

    def _send(self, rank: int, tag: int, context: int, body: Body) -> Operation:
        return self._everyone.device.send(rank, tag, context, body, SendMode.STANDARD)


def _tag_of(call: str, descriptor: int) -> int:
    """Return a tag that both ends of a socket, and no others, compute."""
    try:
        with socket.socket(fileno=os.dup(descriptor)) as end:
            ends = sorted([end.getsockname()[:2], end.getpeername()[:2]])
    except (OSError, TypeError, IndexError) as error:
        raise MpiError(
            ErrorClass.ARG, f"{call}: fd is {descriptor}, which is not a connected socket: {error}"
        ) from None
    return 1 + zlib.crc32(repr(ends).encode()) % (1 << 30)
