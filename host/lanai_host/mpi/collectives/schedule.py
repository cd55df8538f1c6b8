"""Collectives as schedules: a generator that yields the device operations it needs done before it
goes on.

One description serves the blocking call (start and wait), the non-blocking one and the persistent
one. A schedule runs in `Progress`: whenever anything makes progress, it goes on as far as it can.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, Concatenate, Generic, ParamSpec

from ...body import Body, Run
from ...bus.base import Wait
from ...config import HostCost
from ...device import MAX_TAG, SendMode
from ...operation import ANY_SOURCE, ErrorKind, Operation
from ..communicator import Communicator
from ..datatypes import Datatype
from ..errors import ErrorClass, MpiError
from ..group import Group
from ..op import Op
from ..request import Request, device_error, hold
from ..status import Status

Steps = Generator[Iterable[Operation], None, None]
Arguments = ParamSpec("Arguments")
_SEQUENCES = 1 << 22  # sequence numbers before they come round again
_KINDS = 1 << 6
_BACKGROUND = _KINDS // 2  # added to the kind of a collective that is not blocking
_NAMES = (  # of the kinds of collectives, in the order of their numbers, which are part of the tags
    "communicator creation",
    "MPI_Allgather",
    "MPI_Allgatherv",
    "MPI_Alltoall",
    "MPI_Alltoallv",
    "MPI_Alltoallw",
    "MPI_Barrier",
    "MPI_Bcast",
    "MPI_Neighbor_allgather",
    "MPI_Neighbor_allgatherv",
    "MPI_Neighbor_alltoall",
    "MPI_Neighbor_alltoallv",
    "MPI_Neighbor_alltoallw",
    "MPI_Reduce",
    "MPI_Allreduce",
    "MPI_Reduce_scatter",
    "MPI_Reduce_scatter_block",
    "MPI_Gather",
    "MPI_Gatherv",
    "MPI_Scatter",
    "MPI_Scatterv",
    "MPI_Scan",
    "MPI_Exscan",
    "collective file access",
)
CREATION = 0
FILES = len(_NAMES) - 1
TAG_BITS = MAX_TAG.bit_length()
assert len(_NAMES) <= _BACKGROUND


class Link:
    """One collective call's way to the other members: device, context and tag.

    The tag holds the communicator's count of collectives and which collective it is, so that two
    calls never take each other's messages and mismatched collectives wait for each other by name
    instead of exchanging nonsense.
    """

    def __init__(
        self,
        communicator: Communicator,
        call: str,
        tag: int,
        context: int | None = None,
        group: Group | None = None,
    ) -> None:
        self.communicator = communicator
        self.call = call
        self.tag = tag
        self.context = communicator.collective_context if context is None else context
        self.is_inter = communicator.is_inter and group is None
        self.rank = communicator.rank if group is None else group.rank
        self.size = communicator.size if group is None else group.size
        self.peers = communicator.remote_size if group is None else group.size
        self.choices = communicator.device.choices
        self._device = communicator.device
        self._route = communicator.route if group is None else group.members
        self._expected: list[tuple[Operation, int, int]] = []
        self.under_way: list[
            tuple[Operation, int]
        ] = []  # since the last check, with the rank of the world at the other end
        self.held: list[object] = []  # what lives as long as an operation of this call

    def local(self) -> "Link":
        """The same call inside the local group of an inter-communicator."""
        assert self.communicator.local is not None
        return self._with(Link(self.communicator.local, self.call, self.tag))

    def among(self, group: Group) -> "Link":
        """The same call between other processes, such as both groups of an inter-communicator."""
        return self._with(Link(self.communicator, self.call, self.tag, self.context, group))

    def through(self, communicator: Communicator, tag: int, context: int | None = None) -> "Link":
        """A part of this call that goes through another communicator, outside its collectives."""
        return self._with(
            Link(communicator, self.call, tag, communicator.creation_context if context is None else context)
        )

    def _with(self, link: "Link") -> "Link":
        link._expected = self._expected
        link.under_way = self.under_way
        link.held = self.held
        return link

    def send(self, rank: int, address: int, count: int, datatype: Datatype) -> Operation:
        return self.send_body(rank, datatype.body(address, count))

    def send_bytes(self, rank: int, address: int, size: int) -> Operation:
        return self.send_body(rank, Run(address, size))

    def send_body(self, rank: int, body: Body) -> Operation:
        operation = self._device.send(self._route[rank], self.tag, self.context, body, SendMode.STANDARD)
        hold(operation, self.held)
        self.under_way.append((operation, self._route[rank]))
        return operation

    def multicast_body(self, ranks: Sequence[int], body: Body) -> Operation:
        """One message to several ranks. `choices.multicast` must say that there is this."""
        operation = self._device.multicast([self._route[rank] for rank in ranks], self.tag, self.context, body)
        assert operation is not None, f"{type(self._device).__name__} chooses multicast and has none"
        hold(operation, self.held)
        self.under_way.append((operation, self._route[ranks[0]]))
        return operation

    def receive(self, rank: int, address: int, count: int, datatype: Datatype) -> Operation:
        return self.receive_body(rank, datatype.body(address, count))

    def receive_bytes(self, rank: int, address: int, size: int) -> Operation:
        return self.receive_body(rank, Run(address, size))

    def receive_body(self, rank: int, body: Body) -> Operation:
        operation = self._device.receive(self._route[rank], self.tag, self.context, body)
        hold(operation, self.held)
        self._expected.append((operation, body.size, rank))
        self.under_way.append((operation, self._route[rank]))
        return operation

    def device_barrier(self) -> Operation | None:
        """A barrier of all members that the device does by itself; None if it does none."""
        operation = self._device.barrier(self._route, self.context << TAG_BITS | self.tag)
        if operation is not None:
            hold(operation, self.held)
            self._expected.append((operation, 0, ANY_SOURCE))
            self.under_way += [(operation, rank) for rank in self._route if rank != self._device.rank]
        return operation

    def reduce(self, op: Op, incoming: int, inout: int, count: int, datatype: Datatype) -> None:
        """inout = incoming op inout, done and paid for by the host."""
        if count:
            self._device.charge(HostCost.REDUCE, count)
            op.function(incoming, inout, count, datatype)

    def check(self) -> None:
        """Every message received so far had the size that this process's arguments ask for."""
        for operation, size, rank in self._expected:
            if operation.error is not None and operation.error.kind is not ErrorKind.TRUNCATED:
                raise device_error(self.call, operation.error, operation.length, rank)
            if operation.error is not None:
                raise MpiError(
                    ErrorClass.TRUNCATE,
                    f"{self.call}: rank {rank} sent more than the {size} bytes that rank {self.rank} expects "
                    f"{operation.error.text}: counts or datatypes do not match",
                )
            if operation.length != size:
                raise MpiError(
                    ErrorClass.TRUNCATE,
                    f"{self.call}: rank {rank} sent {operation.length} bytes where rank {self.rank} expects {size}: "
                    "counts or datatypes do not match",
                )
        self._expected.clear()
        self.under_way[:] = [entry for entry in self.under_way if not entry[0].done]


class Plan(Generic[Arguments]):
    """A collective: its name, and a function that checks the arguments and describes the work as a
    generator.

    The function must do nothing but check before its generator first runs: a persistent request
    plans once to check, and again at each start.
    """

    def __init__(self, name: str, kind: int, describe: Callable[Concatenate[Link, Arguments], Steps]) -> None:
        self.name = name
        self.kind = kind
        self.describe = describe
        self.__doc__ = describe.__doc__


def collective(
    name: str,
) -> Callable[[Callable[Concatenate[Link, Arguments], Steps]], Plan[Arguments]]:
    """Make a `Plan` of a describing function. `name` is the blocking call's."""

    def wrap(describe: Callable[Concatenate[Link, Arguments], Steps]) -> Plan[Arguments]:
        return Plan(name, _NAMES.index(name), describe)

    return wrap


def next_tag(communicator: Communicator, kind: int, background: bool) -> int:
    """The tag of the communicator's next collective of one kind; the same on all members.

    Blocking collectives and those in the background never match each other, and are counted apart:
    programs exist that order the two differently on different processes, and other MPI libraries
    let them.
    """
    if background:
        communicator.background_sequence = (communicator.background_sequence + 1) % _SEQUENCES
        return communicator.background_sequence * _KINDS + kind + _BACKGROUND
    communicator.sequence = (communicator.sequence + 1) % _SEQUENCES
    return communicator.sequence * _KINDS + kind


def name_of(tag: int) -> str:
    """The collective that a message with this tag belongs to, as "MPI_Bcast (collective 3)"."""
    kind = tag % _KINDS
    name = _NAMES[kind % _BACKGROUND]
    if kind > _BACKGROUND:
        name = nonblocking(name)
    return f"{name} (collective {tag // _KINDS})"


def nonblocking(name: str) -> str:
    """MPI_Ibcast for MPI_Bcast."""
    stem = name.removeprefix("MPI_")
    return f"MPI_I{stem[0].lower()}{stem[1:]}"


class Schedule(Request):
    """A collective under way. An error ends it and is raised by the completion call.

    Scratch memory is in the frames of `steps`. After an error other operations may still be under
    way: they hold the frames, in the suspended generator or in the traceback of the error that it
    raised.
    """

    def __init__(self, link: Link, steps: Steps, result: Any = None) -> None:
        super().__init__(link.communicator.progress)
        self.communicator = link.communicator
        self.call = link.call
        self._link = link
        self._steps: Steps | None = steps
        self._awaited: list[Operation] = []
        self._error: MpiError | None = None
        self._running = False
        link.held.append(steps)
        self.result = result

    @property
    def done(self) -> bool:
        return self._steps is None

    def operations(self) -> list[Operation]:
        return [operation for operation in self._awaited if not operation.done]

    def why(self) -> Wait:
        link = self._link
        missing = [rank for operation, rank in link.under_way if not operation.done]
        number = f"collective {link.tag // _KINDS}" if link.context == link.communicator.collective_context else "part"
        note = f"{number} on {link.communicator.label}"
        return Wait(self.call, None, None, link.context, note, tuple(dict.fromkeys(missing)))

    def advance(self) -> bool:
        """Go on; True when finished."""
        if self._running:  # a user's operation may call MPI, and so come back here
            return False
        self._running = True
        try:
            while self._steps is not None:
                awaited = self._awaited
                while awaited and awaited[-1].done:
                    awaited.pop()
                if awaited:
                    return False
                self._link.check()
                self._awaited = list(next(self._steps))
        except StopIteration:
            self._end(None)
        except MpiError as error:
            self._end(error)
        finally:
            self._running = False
        return True

    def _end(self, error: MpiError | None) -> None:
        self._steps = None
        self._awaited = []
        if error is None:
            try:
                self._link.check()
            except MpiError as mismatch:
                error = mismatch
        if error is None:
            self._link.held.clear()  # a circle through the frames: this frees them at once
        else:
            self._link.held.append(error)
        self._error = error

    def status(self) -> Status:
        return Status(error=self._error)
