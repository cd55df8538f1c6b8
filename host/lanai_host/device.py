"""The messaging system below MPI: what a network interface, with its driver, offers to the MPI library.

Ranks are world ranks, addresses this process's virtual addresses, contexts 16 bits, tags 31 bits. A message is known by
(source, tag, context); among those that one receive could take, none overtakes another.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple, Protocol

from .bus.base import Wait
from .config import HostCost

ANY_SOURCE = -1
ANY_TAG = -1
MAX_TAG = 2**31 - 1
LONG_VECTOR = 16 * 1024  # measured on mpi-np: 4 and 8 ranks break even between 4 and 16 KB
MAX_CONTEXT = 2**16 - 1

Segments = Sequence[tuple[int, int]]  # (address, bytes) runs, in the order of the message's bytes


class SendMode(Enum):
    STANDARD = auto()
    SYNCHRONOUS = auto()  # done only when the receiver has taken the message
    READY = auto()  # the caller promises that the receive is posted


class ErrorKind(Enum):
    TRUNCATED = auto()  # the message was longer than the receive; the receive got its first bytes
    PEER_FAILED = auto()
    BUS_ERROR = auto()  # the program's buffer cannot be read, or written
    DAMAGED = auto()  # the sender could not read its buffer, or the body was damaged on its way
    CANCELLED = auto()
    BAD_REQUEST = auto()
    NOT_READY = auto()  # a ready send met no posted receive
    NIC_LOST = auto()  # the NIC was reset or its processor stopped


@dataclass(frozen=True)
class DeviceError:
    kind: ErrorKind
    text: str = ""


class Operation:
    """One send or receive under way. Devices subclass it; the MPI library only reads it.

    Attributes:
        done: nothing will change any more, and the buffer is the caller's again.
        source, tag: of the message received (for a send: its own).
        length: bytes that the message had, or for a truncated one the bytes delivered.
        error: None, or why it failed.
        cancelled: ended by `Device.cancel`.
        keep: what must live as long as the device may read or write the operation's memory. The caller sets it, unless the
            operation is done already; a device refers to an operation until it is done.
    """

    __slots__ = ("cancelled", "done", "error", "keep", "length", "source", "tag")

    def __init__(self, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> None:
        self.done = False
        self.source = source
        self.tag = tag
        self.length = 0
        self.error: DeviceError | None = None
        self.cancelled = False
        self.keep: object = None


@dataclass
class Arrived:
    """A message that has arrived and has not been received. `handle` means something to its device only."""

    source: int
    tag: int
    length: int
    context: int = 0
    handle: object = None


class Envelope(NamedTuple):
    """What is known of a message before it is received."""

    source: int
    tag: int
    context: int
    length: int


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


class Quick(Protocol):
    """A shorter way for the calls that programs make most, which a device may offer: the blocking ones with one run of memory. It may
    be taken while no other thread can be in the library and no work is under way in the background. Both pay for the call."""

    def send(self, dest: int, tag: int, context: int, address: int, size: int) -> bool:
        """A standard send that is done at once; False if it cannot be, and nothing was done."""

    def receive(
        self, source: int, tag: int, context: int, address: int, size: int, why: Callable[[], Wait]
    ) -> Operation:
        """A receive that is waited for: one done, good until the next call, or one that the caller waits for in the usual way."""


class Device(ABC):
    """A process's end of the messaging system."""

    rank: int
    size: int
    node: int | None = None  # the node that this process sits on, with others perhaps; None: nobody else's
    max_tag: int = MAX_TAG
    offloads: frozenset[str] = frozenset()
    quick: Quick | None = None
    copies: bool = (
        False  # standard sends are done at once, whatever their length, because the device has copied the message
    )
    placement: int = 0  # a digest of where in their pages the buffers lay that were lent to the NIC
    impaired: bool = False  # its NIC, or one of its peers, is lost: what all must take part in cannot succeed any more

    @abstractmethod
    def send(self, dest: int, tag: int, context: int, segments: Segments, mode: SendMode) -> Operation:
        """Start a send; never blocks. The buffer stays untouched until the operation is done."""

    @abstractmethod
    def receive(self, source: int, tag: int, context: int, segments: Segments) -> Operation:
        """Start a receive; `source` may be ANY_SOURCE and `tag` ANY_TAG. Never blocks."""

    @abstractmethod
    def probe(self, source: int, tag: int, context: int, take: bool) -> Arrived | None:
        """The message that such a receive would take now, or None. With `take` it leaves the queues for `receive_taken`.

        Raises DeviceLost if the NIC is lost, and there is no operation that could say so.
        """

    @abstractmethod
    def receive_taken(self, arrived: Arrived, segments: Segments) -> Operation:
        """Receive a message that `probe` took."""

    @abstractmethod
    def cancel(self, operation: Operation) -> bool:
        """Try to undo an operation that is not done; True if it now is done and cancelled."""

    @abstractmethod
    def progress(self) -> None:
        """Look once for news; costs host time, does not block."""

    @abstractmethod
    def wait(self, operations: Sequence[Operation] | None, why: Wait) -> None:
        """Block until one of `operations` is done; with None, until anything arrived or ended since the last look."""

    @abstractmethod
    def now(self) -> int:
        """Host time in picoseconds."""

    @abstractmethod
    def price(self, what: HostCost) -> int:
        """Picoseconds that a unit of host work takes."""

    @abstractmethod
    def charge(self, what: HostCost, count: int = 1) -> None:
        """Let the host pay for work done above the device."""

    def long_vector(self, ranks: int) -> int:
        """Bytes of a vector from which so many ranks reduce it sooner by parts than whole. The same at all ranks."""
        return LONG_VECTOR

    def unexpected(self) -> list[Envelope]:
        """Messages that this process keeps and no receive has taken, in order of arrival. Those on a NIC are not among them."""
        return []

    @abstractmethod
    def close(self) -> None:
        """Finish: all traffic of this process has ended."""
