"""The messaging system below MPI: what a network interface, with its driver, offers to the MPI
library.

Ranks are world ranks, addresses this process's virtual addresses, contexts 16 bits, tags 31 bits. A
message is known by (source, tag, context); among those that one receive could take, none overtakes
another."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple, Protocol

from .body import Body
from .config import HostCost
from .operation import Operation, Wait
from .orders import Orders
from .remote import Remote, Writes

# The points at which collectives change their algorithms, as a device prefers it. docs/reference/mpi-collectives.md
# explains each choice.


@dataclass(frozen=True)
class Choices:
    """Thresholds in bytes of one process's message, unless the name says otherwise. The same at all
    ranks of a job.

    Attributes:
        broadcast_by_pieces: from here on: scatter and ring instead of a binomial tree,
        pieces_from_size: ... in communicators of at least so many processes.
        tree_gather: gather and scatter blocks up to here travel along a tree, larger ones directly,
        tree_from_size: ... in communicators of at least so many processes.
        allgather_short: total bytes up to which allgather doubles instead of going round a ring.
        alltoall_short: block up to which alltoall combines blocks,
        alltoall_short_size: ... in communicators of at least so many processes.
        alltoall_at_once: processes up to which all receives and sends are posted at once.
        alltoall_under_way: bytes that a process sends at a time in them, or one message if that is
            longer; 0: all at once.
        long_vector, long_vector_per_rank: reduce and allreduce go by parts from the larger of the
            two on, the second of them for each process. The default was measured on mpi-np: 4 and 8
            ranks break even between 4 and 16 KB.
        multicast: a broadcast is one `Device.multicast`, which the device then must offer, and in an
            allgather each process multicasts its block.
        multicast_scatter: ... and so is a scatter, if all blocks together have at most so many
            bytes.
        reduce_by_gather: the root of a reduce receives all vectors and combines them; an allreduce is
            that, and a broadcast.
    """

    broadcast_by_pieces: int = 64 * 1024
    pieces_from_size: int = 4
    tree_gather: int = 2 * 1024
    tree_from_size: int = 4
    allgather_short: int = 32 * 1024
    alltoall_short: int = 256
    alltoall_short_size: int = 8
    alltoall_at_once: int = 32
    alltoall_under_way: int = 0
    long_vector: int = 16 * 1024
    long_vector_per_rank: int = 0
    multicast: bool = False
    multicast_scatter: int = 0
    reduce_by_gather: bool = False

    def by_parts(self, size: int, ranks: int) -> bool:
        """Is a vector of `size` bytes reduced sooner by parts than whole?"""
        return ranks >= self.pieces_from_size and size >= max(self.long_vector, self.long_vector_per_rank * ranks)


MAX_TAG = 2**31 - 1
MAX_CONTEXT = 2**16 - 1
# Contexts from here on are those of the library's own services. Whatever takes a message there pays
# for a call before it answers.
SERVICE_CONTEXT = MAX_CONTEXT - 1


class SendMode(Enum):
    STANDARD = auto()
    SYNCHRONOUS = auto()  # done only when the receiver has taken the message
    READY = auto()  # the caller promises that the receive is posted


@dataclass
class Arrived:
    """A message that has arrived and has not been received. `handle` means something to its device
    only."""

    source: int
    tag: int
    length: int
    context: int = 0
    handle: object = None


class Envelope(NamedTuple):
    """The properties of a message that are known before it is received."""

    source: int
    tag: int
    context: int
    length: int


class Pending(NamedTuple):
    """A send or a receive that is not done. A receive's `peer` and `tag` may be wildcards; `length`
    is what fits into it."""

    sends: bool
    peer: int
    tag: int
    context: int
    length: int


class Queued(NamedTuple):
    """A send or a receive that is not done, in the words of its program.

    Members:
        sends: it is a send.
        peer: a rank of the communicator; None for a receive from anyone.
        tag: None for a receive with any tag, and if the library started it; `part` then says for what.
        size: bytes; of a receive, those that fit.
        where: the communicator.
    """

    sends: bool
    peer: int | None
    tag: int | None
    size: int
    where: str
    part: str


class Unreceived(NamedTuple):
    """Equal messages that lie at a rank and that no receive has taken, in the words of its program.

    Members:
        source: a rank of the communicator.
        tag: None if the library sent it; `part` then says for what.
        size: bytes.
        where: the communicator.
        times: how many there are.
    """

    source: int
    tag: int | None
    size: int
    where: str
    part: str
    times: int


# Collectives that the NICs carry on by themselves.

VALUE_BYTES = 8


class Combine(Enum):
    """The way in which values become one: bits, numbers with a sign, or reals of binary64."""

    OR = auto()
    AND = auto()
    XOR = auto()
    ADD = auto()
    MIN = auto()
    MAX = auto()
    ADD_REAL = auto()


class Combined(Operation):
    """A collective of one value of each member. `value`: what they have combined, when it is done. `posted` is done
    when the NIC has this member's value, and goes on without the host."""

    __slots__ = ("posted", "value")

    def __init__(self) -> None:
        super().__init__()
        self.value = 0
        self.posted = Operation()


class Collectives(Protocol):
    """Collectives of a group of ranks, a value of `VALUE_BYTES` of each. They go on while the program computes.

    A group has a small number, which is the same at all its members, and that of no other group of one of them at the
    time. It has lanes. Collectives of a lane begin in the same order at all members.
    """

    def takes(self, number: int, members: Sequence[int]) -> bool:
        """Return whether there may be collectives of this group. All members get the same answer."""

    def join(self, number: int, members: Sequence[int]) -> None:
        """Make the group known to this rank's NIC. All that a group of this number had is forgotten."""

    def open(self, number: int, lane: int) -> None:
        """All members have joined: what is begun in a lane goes on."""

    def combine(self, number: int, lane: int, name: int, combine: Combine, value: int) -> Combined:
        """Begin a collective; never blocks. Its `name` (below 2**19) is the same at all members. Those that wait for
        a value of two names get an error, MIXED, and so do those that wait for one of theirs."""

    def spread(self, number: int, lane: int, name: int, root: int, value: int) -> Combined:
        """Begin one in which all members get the value of the one at `root`. They seldom wait for others than those
        through which it comes."""


class FastPath(Protocol):
    """A shorter way for the calls that programs make most, which a device may offer: the blocking
    ones with one run of memory. It may be taken while no other thread can be in the library and no
    work is under way in the background. Both pay for the call."""

    def send(self, dest: int, tag: int, context: int, address: int, size: int) -> bool:
        """A standard send that is done at once; False if it cannot be, and nothing was done."""

    def receive(
        self, source: int, tag: int, context: int, address: int, size: int, why: Callable[[], Wait]
    ) -> Operation:
        """A receive that is waited for: one done, good until the next call, or one that the caller
        waits for in the usual way."""


ChargeSink = Callable[[HostCost, int, int], None]  # the kind of host work, how many units, picoseconds in all
RoomSink = Callable[[str, int, int, int], None]  # the kind of room, who has taken it, whose it is, how much more


def nothing() -> None:
    """Do nothing."""


class Work(Protocol):
    def __call__(self, picoseconds: int, served: Callable[[], None] = ..., /) -> None:
        """Let picoseconds of the program's own work pass. `served` is called after messages that have interrupted it:
        what they ask for above the device is done then.
        """


class Device(ABC):
    """A process's end of the messaging system."""

    rank: int
    size: int
    node: int | None = None  # the node that this process sits on, with others perhaps; None: this process alone
    max_tag: int = MAX_TAG
    fast_path: FastPath | None = None
    remote: Remote | None = None  # memory of other ranks, if this device reaches it
    collectives: Collectives | None = None  # of small values, which NICs carry on, if they can
    writes: Writes | None = None  # memory that other ranks only write, if this device offers that
    choices: Choices = Choices()
    orders: Orders | None = None  # what to take where MPI leaves a choice, if somebody explores that
    copies: bool = (
        False  # standard sends are done at once, whatever their length, because the device has copied the message
    )
    handover: bytes = b""  # what the next process in this rank's place must know, once `close` is done; empty: there
    # can be none
    placement: int = 0  # a digest of where in their pages the buffers lay that were lent to the NIC
    impaired: bool = False  # its NIC, or one of its peers, is lost: what all must take part in cannot succeed any more

    work: Work | None = (
        None  # lets time of the program's own work pass, which other ranks may interrupt; None: none can
    )

    def interrupt_for(self, contexts: Iterable[int]) -> None:  # noqa: B027  # nothing to do where none can be interrupted
        """Messages of this process in these contexts interrupt the receiver's own work from now on."""

    @abstractmethod
    def send(self, dest: int, tag: int, context: int, body: Body, mode: SendMode) -> Operation:
        """Start a send; never blocks. The buffer stays untouched until the operation is done."""

    @abstractmethod
    def receive(self, source: int, tag: int, context: int, body: Body) -> Operation:
        """Start a receive; `source` may be ANY_SOURCE and `tag` ANY_TAG. Never blocks."""

    @abstractmethod
    def probe(self, source: int, tag: int, context: int, take: bool) -> Arrived | None:
        """The message that such a receive would take now, or None. With `take` it leaves the queues
        for `receive_taken`.

        Raises DeviceLost if the NIC is lost, and there is no operation that could say so; PeerLost if
        there is no such message and `source` is lost. ANY_SOURCE is told of each lost rank once.
        """

    @abstractmethod
    def receive_taken(self, arrived: Arrived, body: Body) -> Operation:
        """Receive a message that `probe` took."""

    @abstractmethod
    def cancel(self, operation: Operation) -> bool:
        """Try to undo an operation that is not done; True if it now is done and cancelled. If that
        takes a message to another rank, it may be so later."""

    @abstractmethod
    def progress(self) -> None:
        """Look once for news; costs host time, does not block."""

    def pass_polls(self, took: int, most: int) -> None:  # noqa: B027  # most devices do not know
        """Let polls pass that find nothing for certain, at most `most`, each of which takes as long as `took`: what a
        call with one `progress` has taken."""

    @abstractmethod
    def wait(self, operations: Sequence[Operation] | None, why: Wait) -> None:
        """Block until one of `operations` is done; with None, until anything arrived or ended since
        the last look."""

    def finish(self, operations: Sequence[Operation], why: Wait) -> None:
        """Block until all of `operations` are done."""
        for operation in operations:
            while not operation.done:
                self.wait([operation], why)

    @abstractmethod
    def now(self) -> int:
        """Host time in picoseconds."""

    @abstractmethod
    def price(self, what: HostCost) -> int:
        """Picoseconds that a unit of host work takes."""

    @abstractmethod
    def charge(self, what: HostCost, count: int = 1) -> None:
        """Let the host pay for work done above the device."""

    @abstractmethod
    def report_charges(self, sink: ChargeSink) -> None:
        """Call `sink` with all host work from now on, the device's own included, before its time
        passes."""

    def report_room(self, sink: RoomSink) -> None:  # noqa: B027  # most devices have none to tell of
        """Call `sink` whenever this host sees that room at a receiver is taken or given back which no packet tells
        of."""

    def multicast(self, dests: Sequence[int], tag: int, context: int, body: Body) -> Operation | None:
        """Start a standard send of one message to several other ranks, each of which receives it as
        it does any other; never blocks. None if the device has none; see `Choices.multicast`."""
        return None

    def barrier(self, members: Sequence[int], number: int) -> Operation | None:
        """Start a barrier of some ranks; never blocks. Done when all `members` have started it.

        `number` (below 2**47) is the same at all of them, and that of no other barrier that one of
        them takes part in at the time. None if messages must do: either at all members or at none.
        If it fails with PEER_FAILED, the error's text says who is lost."""
        return None

    def counters(self) -> Mapping[str, str]:
        """Return the hardware's counters by name, each with a description. They run on from its boot, and may wrap."""
        return {}

    def read_counter(self, name: str) -> int:
        """Return the present value of one of `counters`; costs host time."""
        raise KeyError(name)

    def unexpected(self) -> list[Envelope]:
        """Messages that this process keeps and no receive has taken, in order of arrival. Those on
        a NIC are not among them."""
        return []

    def unmatched(self, context: int) -> int:
        """Return how many messages of a context lie at this process, on its NIC too, and no receive has taken them.
        Takes no simulated time if there are none."""
        return sum(message.context == context for message in self.unexpected())

    def pending(self) -> list[Pending]:
        """Sends and receives of this process that are not done, each kind in the order in which they were started."""
        return []

    @abstractmethod
    def close(self) -> None:
        """Finish: all traffic of this process has ended."""
