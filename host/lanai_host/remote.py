"""Remote memory, which a device may offer beside messages: writing, reading and changing the memory
of another rank (`Remote`), or only writing it (`Writes`).

A process exposes memory of its own and sends the token to others in a message. A process that has
the token reaches the memory, without any work of the owner's processor. One operation may overtake
another until `settle`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum, Flag, auto

from .body import Body
from .operation import Operation

TOKEN_BYTES = 32  # at most


class Access(Flag):
    """The ways in which others may use exposed memory."""

    READ = auto()
    WRITE = auto()
    ATOMIC = auto()
    APPEND = auto()  # to FIFOs that lie in it
    SIGNAL = auto()  # what is appended interrupts this process
    MESSAGES = auto()  # to be matched with receives by the NIC


class Atomic(Enum):
    """An operation that replaces a word in one step. Its result is the word before."""

    ADD = auto()
    AND = auto()
    OR = auto()
    XOR = auto()
    SWAP = auto()
    COMPARE_AND_SWAP = auto()


@dataclass(frozen=True)
class Segment:
    """Memory that the device allocated. `handle` means something to its device only, here as
    below."""

    address: int
    size: int
    handle: object = None


@dataclass(frozen=True)
class Exposure:
    """Memory of this process that others may reach. `token` tells them how: any bytes, at most
    TOKEN_BYTES."""

    token: bytes
    handle: object = None


@dataclass(frozen=True)
class Reach:
    """Another rank's exposed memory, as this process sees it."""

    rank: int
    handle: object = None


class Remote(ABC):
    """Ranks are world ranks, offsets count from the start of the exposed memory. No method blocks.

    Attributes:
        atomics: what the hardware can do to a word, with the word's bytes.
        private: windows expose memory of the program's own too, not only what `allocate` gave.
        longest_get: bytes beyond which windows ask for what they read by message; None: never.
    """

    atomics: frozenset[tuple[Atomic, int]] = frozenset()
    private: bool = True
    longest_get: int | None = None

    @abstractmethod
    def allocate(self, size: int) -> Segment:
        """Memory that others reach sooner than memory of the program's own."""

    @abstractmethod
    def release(self, segment: Segment) -> None:
        """Give up what `allocate` returned. It must not be exposed any more."""

    @abstractmethod
    def expose(self, address: int, size: int, access: Access) -> Exposure:
        """Let others reach a range of this process's memory. Raises BusError if it is not all
        there."""

    @abstractmethod
    def conceal(self, exposure: Exposure) -> None:
        """End an exposure. Operations that come later fail at their origin."""

    @abstractmethod
    def reach(self, rank: int, token: bytes) -> Reach:
        """Make another rank's exposed memory reachable from here."""

    @abstractmethod
    def leave(self, reach: Reach) -> None:
        """Give up what `reach` returned."""

    @abstractmethod
    def put(self, reach: Reach, offset: int, body: Body) -> Operation:
        """Write a body's bytes there. When the operation is done, the body's memory is the
        program's again."""

    @abstractmethod
    def get(self, reach: Reach, offset: int, body: Body) -> Operation:
        """Read bytes from there into a body. When the operation is done, they are here."""

    @abstractmethod
    def atomic(
        self, reach: Reach, offset: int, what: Atomic, size: int, operand: int, compare: int, result: int
    ) -> Operation:
        """Change one word of `size` bytes, one that `changes` allows. The word before goes to the
        address `result`.

        `compare` counts for COMPARE_AND_SWAP only.
        """

    def changes(self, reach: Reach, offset: int, what: Atomic, size: int) -> bool:
        """Return whether `atomic` can change the word of `size` bytes there. The answer depends on where the word lies,
        so it is the same for all who reach it.
        """
        return (what, size) in self.atomics

    @abstractmethod
    def watch(self, segment: Segment, offset: int, seen: bytes) -> Operation:
        """Done when a word of memory that `allocate` gave holds something else than was seen."""

    @abstractmethod
    def settle(self, rank: int | None) -> Operation:
        """Done when all that this process began before has taken effect at a rank, or at all with
        None. Its error says what did not arrive."""


class Writes(ABC):
    """Memory that other ranks can write to, all of it allocated here. Ranks are world ranks. No method
    blocks, and the owner's processor has no part in what others write.

    Writes to one rank, and what this process sends to it later, take effect in their order.
    """

    @abstractmethod
    def allocate(self, size: int) -> Segment | None:
        """Memory that others may write to, all 0; None if there is no room."""

    @abstractmethod
    def release(self, segment: Segment) -> None:
        """Give up what `allocate` returned. Nothing may be on its way to it."""

    @abstractmethod
    def place(self, segment: Segment) -> int:
        """Return the place of the segment's first byte, a number of 63 bits to which others write."""

    @abstractmethod
    def put(self, rank: int, place: int, body: Body) -> Operation:
        """Write a body's bytes to a place of a rank's. When the operation is done, the body's memory
        is the program's again."""

    @abstractmethod
    def settle(self, rank: int) -> Operation:
        """Done when all that this process has written to a rank has taken effect."""
