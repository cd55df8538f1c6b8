"""The messages of one collective call."""

from collections.abc import Sequence

from ...body import NOTHING, Body, Run
from ...config import HostCost
from ...device import MAX_TAG, Collectives, SendMode
from ...operation import ANY_SOURCE, ErrorKind, Operation
from ..communicator import Communicator
from ..datatypes import Datatype
from ..errors import ErrorClass, MpiError
from ..group import Group
from ..memory import Scratch
from ..op import Op
from ..request import device_error, hold

# Tags of collectives: the number of the call on its communicator, and which collective it is.

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
    "MPI_Finalize",
    "collective file access",
    "first collective by the NICs",
)
CREATION, FILES, _MEETING = 0, len(_NAMES) - 2, len(_NAMES) - 1
TAG_BITS = MAX_TAG.bit_length()
assert len(_NAMES) <= _BACKGROUND


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


# Lanes of a communicator, for collectives that the NICs carry on: those of a lane are in the same order at all members.
BLOCKING, _BACKGROUND_LANES, _PERSISTENT = 0, (1, 2), 3
_ROOT_BITS, _SIZE_BITS = 9, 4  # in a collective's name, beside its kind


def background_lane(communicator: Communicator) -> int:
    """The lane of the collective in the background whose tag was taken last."""
    return _BACKGROUND_LANES[communicator.background_sequence % len(_BACKGROUND_LANES)]


def persistent_lane(communicator: Communicator) -> int | None:
    """The lane of the next persistent collective; None for all but the first, as starts are in any order."""
    if communicator.prepared:
        return None
    communicator.prepared = True
    return _PERSISTENT


def kind_of(name: str) -> int:
    """The number of the collective whose blocking call has this name."""
    return _NAMES.index(name)


def number_of(tag: int) -> int:
    """Return which of the communicator's collectives a tag belongs to."""
    return tag // _KINDS


def name_of(tag: int) -> str:
    """The collective that a message with this tag belongs to, as "MPI_Bcast (collective 3)"."""
    kind = tag % _KINDS
    name = _NAMES[kind % _BACKGROUND]
    if kind > _BACKGROUND and name.startswith("MPI_"):
        name = nonblocking(name)
    return f"{name} (collective {number_of(tag)})"


def nonblocking(name: str) -> str:
    """MPI_Ibcast for MPI_Bcast."""
    stem = name.removeprefix("MPI_")
    return f"MPI_I{stem[0].lower()}{stem[1:]}"


# After these no message is sure to come or to go: the call ends at once. After any other failure the
# call goes on to its end, because other processes wait for messages from here.
_END_AT_ONCE = (ErrorKind.PEER_FAILED, ErrorKind.RANK_LOST, ErrorKind.NIC_LOST)


class Link:
    """One collective call's way to the other members: device, context and tag.

    The tag holds the communicator's count of collectives and which collective it is, so that two
    calls never take each other's messages and mismatched collectives wait for each other by name
    instead of exchanging nonsense.

    After a failed receive this process has nothing to pass on: an empty message takes the place of
    each that would hold bytes of others. It has another length than its receiver expects, so that
    the failure reaches all whose data would have come through here.
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
        self.lane: int | None = None  # in which the NICs may carry it on; None: they may not
        self.context = communicator.collective_context if context is None else context
        self.is_inter = communicator.is_inter and group is None
        self.rank = communicator.rank if group is None else group.rank
        self.size = communicator.size if group is None else group.size
        self.peers = communicator.remote_size if group is None else group.size
        self.choices = communicator.device.choices
        self._device = communicator.device
        self._route = communicator.route if group is None else group.members
        self._expected: list[tuple[Operation, int, int, Link]] = []  # bytes, from which rank of which link
        # Since the last check, with the rank of the world at the other end.
        self.under_way: list[tuple[Operation, int]] = []
        self.held: list[object] = []  # what lives as long as an operation of this call
        self._failures: list[MpiError] = []

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

    def meeting(self) -> "Link":
        """Messages by which the members meet, whatever calls they have made."""
        tag = self.tag - self.tag % _BACKGROUND + _MEETING
        return self._with(Link(self.communicator, self.call, tag, self.context))

    def _with(self, link: "Link") -> "Link":
        link._expected = self._expected
        link.under_way = self.under_way
        link.held = self.held
        link._failures = self._failures
        return link

    def send(self, rank: int, address: int, count: int, datatype: Datatype) -> Operation:
        return self.send_body(rank, datatype.body(address, count))

    def send_own(self, rank: int, address: int, count: int, datatype: Datatype) -> Operation:
        """Send what the program has given this process, which no failed receive has spoilt."""
        return self.send_body(rank, datatype.body(address, count), own=True)

    def send_bytes(self, rank: int, address: int, size: int) -> Operation:
        return self.send_body(rank, Run(address, size))

    def send_body(self, rank: int, body: Body, own: bool = False) -> Operation:
        body = NOTHING if self._failures and not own else body
        operation = self._device.send(self._route[rank], self.tag, self.context, body, SendMode.STANDARD)
        hold(operation, self.held)
        self.under_way.append((operation, self._route[rank]))
        return operation

    def multicast_body(self, ranks: Sequence[int], body: Body) -> Operation:
        """One message to several ranks. `choices.multicast` must say that there is this."""
        body = NOTHING if self._failures else body
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
        self._expected.append((operation, body.size, rank, self))
        self.under_way.append((operation, self._route[rank]))
        return operation

    @property
    def collectives(self) -> Collectives | None:
        return self._device.collectives

    @property
    def offloads(self) -> bool:
        """May the NICs carry this call on? All members get the same answer."""
        comm, collectives = self.communicator, self.collectives
        if self.lane is None or self.is_inter or collectives is None or self.size < 2:
            return False
        return collectives.takes(comm.number, comm.route)

    def name(self, size: int, root: int) -> int:
        """The name of this call among collectives that the NICs carry on. `size` 0: this member has nothing to give,
        so those that wait for it get an error."""
        kind = self.tag % _KINDS
        return kind | (size | root % (1 << _ROOT_BITS) << _SIZE_BITS) * _KINDS

    def awaits(self, operation: Operation) -> list[Operation]:
        """Wait for an operation that all members have a part in."""
        hold(operation, self.held)
        self._expected.append((operation, 0, ANY_SOURCE, self))
        self.under_way += [(operation, rank) for rank in self._route if rank != self._device.rank]
        return [operation]

    def device_barrier(self) -> Operation | None:
        """A barrier of all members that the device does by itself; None if it does none."""
        operation = self._device.barrier(self._route, self.context << TAG_BITS | self.tag)
        if operation is not None:
            self.awaits(operation)
        return operation

    def reduce(self, op: Op, incoming: int, inout: int, count: int, datatype: Datatype) -> None:
        """inout = incoming op inout, done and paid for by the host. After a failure there is nothing to combine."""
        if count and not self._failures:
            self._device.charge(HostCost.REDUCE, count)
            op.function(incoming, inout, count, datatype)

    def check(self) -> None:
        """Every message received so far had the size that this process's arguments ask for."""
        ended = [entry for entry in self._expected if entry[0].done]
        self._expected[:] = [entry for entry in self._expected if not entry[0].done]
        self.under_way[:] = [entry for entry in self.under_way if not entry[0].done]
        for operation, size, rank, _ in ended:
            error = operation.error
            if error is not None and error.kind is ErrorKind.TRUNCATED:
                self._mismatch(
                    f"rank {rank} sent more than the {size} bytes that rank {self.rank} expects {error.text}"
                )
            elif error is not None and error.kind is ErrorKind.MIXED:
                self._mismatch(error.text)
            elif error is not None:
                failure = device_error(self.call, error, operation.length, rank)
                if error.kind in _END_AT_ONCE:
                    raise failure
                self.fail(failure)
            elif size and not operation.length:
                self._mismatch(
                    f"rank {rank} sent nothing, because its count is 0 or its own call failed, "
                    f"where rank {self.rank} expects {size} bytes"
                )
            elif operation.length != size:
                self._mismatch(f"rank {rank} sent {operation.length} bytes where rank {self.rank} expects {size}")

    def check_own(self, sent: int, expected: int) -> None:
        """A process has room for the block that it sends to itself."""
        if sent > expected:
            self._mismatch(f"rank {self.rank} sends {sent} bytes to itself where it expects {expected}")

    def check_passed_on(self, sent: int, expected: int) -> None:
        """The block that a process sends fills the block from which the others get it."""
        if sent != expected:
            self._mismatch(f"rank {self.rank} sends {sent} bytes where it expects {expected} from itself")

    def _mismatch(self, text: str) -> None:
        self.fail(MpiError(ErrorClass.TRUNCATE, f"{self.call}: {text}: counts or datatypes do not match"))

    def fail(self, error: MpiError) -> None:
        """The error is raised at the end: the other processes need the messages that are still to come
        from here. One that ends the job does so now."""
        if self.communicator.errhandler.ends:
            raise error
        self._failures.append(error)

    def finish(self) -> None:
        """All messages have come. Raises what was wrong with them."""
        self.check()
        if self._failures:
            raise self._failures[0]

    def withdraw(self) -> list[Operation]:
        """The call has failed: the program may free its buffers. What is still to come goes elsewhere.
        Returns the receives that write to the buffers already."""
        writing = []
        for operation, size, rank, link in self._expected:
            if operation.done or not size:
                continue
            if self._device.cancel(operation):
                sink = Scratch(size)
                body = Run(sink.address, size)
                hold(self._device.receive(link._route[rank], link.tag, link.context, body), sink)
            else:
                writing.append(operation)
        return writing


# Binomial trees. Places count from the root, which has place 0.


def parent(place: int) -> int:
    """The place above: without the lowest bit."""
    return place & (place - 1)


def children(place: int, size: int) -> list[int]:
    """The places below, the largest subtree first."""
    below = []
    bit = 1
    while place + bit < size and not place & bit:
        below.append(place + bit)
        bit *= 2
    return below[::-1]


def subtree(place: int, size: int) -> int:
    """Return how many places the subtree under `place` has; they follow it directly."""
    bit = place & -place if place else size
    return min(bit, size - place)
