"""Sends and receives under way."""

from dataclasses import dataclass
from enum import Enum, auto

from ...body import NOTHING, Body
from ...bus.base import Pinned
from ...config import HostCost
from ...host_model import meter as operations
from ...host_model.meter import Meter, Receive
from ...scratch_pool import Bytes
from .heap import NONE, T3dOptions
from .puts import Window


class Send(operations.Send):
    """`matched`: the flag that the receiver sets; None for sends that need no answer, or have had
    it."""

    __slots__ = ("matched",)

    def __init__(self, source: int, dest: int, tag: int, context: int, body: Body, synchronous: bool) -> None:
        super().__init__(source, dest, tag, context, body, synchronous)
        self.matched: int | None = None


@dataclass(slots=True, eq=False)
class Message(operations.Message):
    """A message that has arrived, or is arriving. `data` has its bytes once it is `whole`.

    Attributes:
        matched: name of the sender's flag to set when a receive takes it; NONE for none.
        receive: that is to have it once it is whole.
    """

    data: bytes | bytearray | memoryview = b""
    whole: bool = True
    matched: int = NONE
    receive: Receive | None = None


@dataclass
class Landing:
    """Memory of this process that a long message is written to, in chunks.

    Attributes:
        reply: the sender's reply structure.
        arrival: the number of this rank's word that the sender writes.
        private: where it stands in this rank's private memory, for validation.
        asked: bytes whose names the sender has been told.
        buffer: memory of ours; None: the receive's own memory.
        window: what the sender may put to now; None while the NIC has no room for the next one.
    """

    message: Message
    reply: int
    arrival: int
    address: int
    pinned: Pinned
    private: int
    asked: int = 0
    chunks: int = 0
    buffer: memoryview | None = None
    window: Window | None = None


@dataclass
class LongSend:
    """A long message that leaves when its receiver replies."""

    send: Send
    reply: int  # the number of the reply structure
    body: Body = NOTHING  # the bytes that leave: the message's memory, or that of a copy
    pinned: Pinned | None = None
    packed: Bytes | None = None  # a copy of a message that cannot leave from where it lies
    sent: int = 0  # bytes
    chunks: int = 0  # replies answered
    last: int = 0  # number of the last put


# Address validation: a put checks the remote address in the memory of its own process (T3-18 to T3-20).
#
# On the T3D, memory from the shared heap has one address at all processes. Private memory does not:
# a process that has not as much of it as its peer has no memory at the address that it puts to, and
# gets an operand range error. So the device extends its own memory before such a put.
#
# The private memory of a rank is a model. It begins with `private` bytes above BASE. What it lends
# to peers stands above that, one range behind the other, so that addresses depend on the messages
# alone.

BASE = 0x0100_0000
STACK = 0x8000_0000  # the stack grows down from here
STACK_BYTES = 0x10_0000  # in use


class OperandRangeError(Exception):
    """A put to an address that the process does not have itself."""


class Limit(Enum):
    """The limit of the address space that was extended to make an address valid."""

    HEAP = auto()
    STACK = auto()


class AddressSpace:
    """The private memory of one process: all below the break, and all above the end of the stack.

    Attributes:
        stack_pointer: is saved before the stack is extended and restored after (T3-20).
        restored: how often.
    """

    def __init__(self, private: int) -> None:
        self.break_ = BASE + private
        self.stack = STACK - STACK_BYTES
        self.stack_pointer = self.stack
        self.restored = 0
        self._lent: dict[int, int] = {}  # end by begin
        self._start = self.break_

    def lend(self, size: int) -> int:
        """The address of memory that a peer shall write. The process's own break is above it."""
        address = max(self._lent.values(), default=self._start)
        self._lent[address] = address + size
        self.break_ = max(self.break_, address + size)
        return address

    def give_back(self, address: int) -> None:
        del self._lent[address]

    def valid(self, address: int, size: int) -> bool:
        return address + size <= self.break_ or address >= self.stack

    def extend(self, address: int, size: int) -> Limit:
        """Make an address valid: whichever limit is nearer moves."""
        if address + size - self.break_ <= self.stack - address:
            self.break_ = address + size
            return Limit.HEAP
        saved = self.stack_pointer
        self.stack = self.stack_pointer = address
        self.stack_pointer = saved
        self.restored += 1
        return Limit.STACK


class Validation:
    """The checks of one rank, and their prices."""

    def __init__(self, meter: Meter, options: T3dOptions, rank: int) -> None:
        self.space = AddressSpace(options.private)
        self._meter = meter
        self._how = options.validation
        self._rank = rank

    def check(self, peer: int, address: int, size: int) -> None:
        """Before a put to private memory of a peer. Raises OperandRangeError."""
        if self._how == "none":
            return
        self._meter.spend(HostCost.ADDRESS_CHECK)
        if self.space.valid(address, size):
            return
        if self._how == "refuse":
            raise OperandRangeError(
                f"operand range error: rank {self._rank} puts {size} bytes to {address:#x} of rank {peer}, "
                f"but its own memory ends at {self.space.break_:#x}; the option validation=extend extends it"
            )
        if self.space.extend(address, size) is Limit.HEAP:
            self._meter.spend(HostCost.SYSTEM_CALL, 2)  # malloc_brk and sbrk
