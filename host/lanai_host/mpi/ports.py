"""Ports and names: groups of processes of one run that become connected though they share no
communicator.

A port belongs to the process that opened it, and its name says which that is. Who connects sends
that process a message; the leaders of both groups then build an inter-communicator through the
world that `lanai run` started.
"""

import json
import os
import re
import socket
import zlib
from collections.abc import Callable, Generator, Iterable

import numpy as np

from ..body import NOTHING, Run
from ..device import SendMode
from ..operation import ANY_SOURCE, Operation
from .arguments import check_intra
from .collectives.broadcast import binomial
from .collectives.calls import launch
from .collectives.schedule import Link, Steps
from .communicator import CALL, Communicator
from .context_numbers import NAMES, PORTS
from .errors import ErrorClass, MpiError
from .intercomm import join_groups
from .making import creation_link
from .memory import Scratch
from .request import device_error, hold
from .text import encode

_NAME = re.compile(r"lanai-port:(\d+)\.(\d+)")
_BRIDGE = 1 << 20  # added to a port's number: the tag of what the leaders tell each other
_PUBLISHED = 0  # the tag of names; those that join have others

Finding = Generator[Iterable[Operation], None, int]  # the rank of the world that leads the other group


class Ports:
    """The ports that one process has opened, and the names that it has heard of."""

    def __init__(self, world: Communicator) -> None:
        self._world = world
        self._opened: set[int] = set()
        self._last = 0
        self._names: dict[str, str] = {}  # ports, by the name of the service

    # Ports

    def open(self) -> str:
        """MPI_Open_port."""
        self._last += 1
        self._opened.add(self._last)
        return f"lanai-port:{self._world.rank}.{self._last}"

    def close(self, name: str) -> None:
        """MPI_Close_port."""
        self._opened.discard(self._own("MPI_Close_port", name))

    def accept(self, comm: Communicator, name: str, root: int) -> Communicator:
        """MPI_Comm_accept. `name` counts at the root only."""
        call = "MPI_Comm_accept"

        def find(link: Link) -> Finding:
            number = self._own(call, name)
            coming = self._world.device.receive(ANY_SOURCE, number, PORTS, NOTHING)
            yield [coming]
            if coming.error is not None:
                raise device_error(call, coming.error, 0, ANY_SOURCE)
            return coming.source

        return self._meet(comm, call, root, find, lambda: self._own(call, name) + _BRIDGE)

    def connect(self, comm: Communicator, name: str, root: int) -> Communicator:
        """MPI_Comm_connect. `name` counts at the root only."""
        call = "MPI_Comm_connect"

        def find(link: Link) -> Finding:
            owner, number = self._parts(call, name)
            yield [self._send(owner, number, PORTS, NOTHING)]
            return owner

        return self._meet(comm, call, root, find, lambda: self._parts(call, name)[1] + _BRIDGE)

    def join(self, comm: Communicator, descriptor: int) -> Communicator:
        """MPI_Comm_join, for MPI_COMM_SELF. The ends of the socket have each other's names, so
        nothing goes through it."""
        call = "MPI_Comm_join"
        tag = _tag_of(call, descriptor)

        def find(link: Link) -> Finding:
            coming = self._world.device.receive(ANY_SOURCE, tag, NAMES, NOTHING)
            yield [coming, *(self._send(rank, tag, NAMES, NOTHING) for rank in self._others())]
            if coming.error is not None:
                raise device_error(call, coming.error, 0, ANY_SOURCE)
            return coming.source

        return self._meet(comm, call, 0, find, lambda: tag)

    def _meet(
        self, comm: Communicator, call: str, root: int, find: Callable[[Link], Finding], tag: Callable[[], int]
    ) -> Communicator:
        """`find(link)` tells the root who leads the others; the two then talk with this tag. An
        error of the root's is an error of all."""
        check_intra(comm, call)
        if not 0 <= root < comm.size:
            raise MpiError(ErrorClass.ROOT, f"{call}: root is {root}; it must be from 0 to {comm.size - 1}")
        link = creation_link(comm, call)
        found: list[Communicator] = []

        def steps() -> Steps:
            told, error = np.full(1, -1, np.int64), None
            if comm.rank == root:
                try:
                    told[0] = yield from find(link)
                except MpiError as own:
                    error = own
                    told[0] = -own.error_class
            yield from binomial(link, Run(told.__array_interface__["data"][0], told.nbytes), root)
            remote = int(told[0])
            if remote < 0:
                raise error or MpiError(-remote, f"{call}: the root, rank {root}, could not use the port")
            bridge = link.through(self._world, tag(), PORTS) if comm.rank == root else None
            found.append((yield from join_groups(comm, link, root, bridge, remote)))

        launch(link, steps()).wait()
        return found[0]

    def _own(self, call: str, name: str) -> int:
        """The number of a port of this process that is open."""
        owner, number = self._parts(call, name)
        if owner != self._world.rank or number not in self._opened:
            raise MpiError(ErrorClass.PORT, f"{call}: port_name is {name!r}; this process has no such port open")
        return number

    def _parts(self, call: str, name: str) -> tuple[int, int]:
        """The rank of the world that opened a port, and the port's number there."""
        found = _NAME.fullmatch(name)
        if found is None or int(found[1]) >= self._world.size or int(found[2]) >= _BRIDGE:
            raise MpiError(ErrorClass.PORT, f"{call}: port_name is {name!r}, which MPI_Open_port did not give")
        return int(found[1]), int(found[2])

    # Names

    def publish(self, service: str, port: str) -> None:
        """MPI_Publish_name. All processes are told."""
        self._hear()
        if service in self._names:
            raise MpiError(ErrorClass.SERVICE, f"MPI_Publish_name: service_name {service!r} is published already")
        self._tell(service, port)

    def unpublish(self, service: str, port: str) -> None:
        """MPI_Unpublish_name."""
        self._hear()
        if self._names.get(service) != port:
            raise MpiError(
                ErrorClass.SERVICE, f"MPI_Unpublish_name: service_name {service!r} is not published with port {port!r}"
            )
        self._tell(service, "")

    def lookup(self, service: str) -> str:
        """MPI_Lookup_name: what has arrived by now."""
        self._hear()
        if service not in self._names:
            raise MpiError(ErrorClass.NAME, f"MPI_Lookup_name: service_name {service!r} is not published")
        return self._names[service]

    def _tell(self, service: str, port: str) -> None:
        text = np.frombuffer(encode(json.dumps([service, port])), np.uint8).copy()
        body = Run(text.__array_interface__["data"][0], text.nbytes)
        with self._world.lock:
            self._world.device.charge(CALL)
            for rank in self._others():
                hold(self._send(rank, _PUBLISHED, NAMES, body), text)
        self._note(service, port)

    def _hear(self) -> None:
        device = self._world.device
        self._world.progress.poll()
        with self._world.lock:
            while (arrived := device.probe(ANY_SOURCE, _PUBLISHED, NAMES, take=True)) is not None:
                room = Scratch(arrived.length)
                taken = device.receive_taken(arrived, Run(room.address, arrived.length))
                hold(taken, room)
                while not taken.done:
                    device.progress()
                service, port = json.loads(room.data[: arrived.length].tobytes())
                self._note(service, port)

    def _note(self, service: str, port: str) -> None:
        if port:
            self._names[service] = port
        else:
            self._names.pop(service, None)

    # Messages

    def _others(self) -> list[int]:
        return [rank for rank in range(self._world.size) if rank != self._world.rank]

    def _send(self, rank: int, tag: int, context: int, body: Run) -> Operation:
        return self._world.device.send(rank, tag, context, body, SendMode.STANDARD)


def _tag_of(call: str, descriptor: int) -> int:
    """What both ends of a socket, and no others, know."""
    try:
        with socket.socket(fileno=os.dup(descriptor)) as end:
            ends = sorted([end.getsockname()[:2], end.getpeername()[:2]])
    except (OSError, TypeError, IndexError) as error:
        raise MpiError(ErrorClass.ARG, f"{call}: fd is {descriptor}, which is no connected socket: {error}") from None
    return 1 + zlib.crc32(repr(ends).encode()) % (1 << 30)
