"""Operations that a device performs without blocking its caller: how they end, and how they can fail."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

ANY_SOURCE = -1
ANY_TAG = -1


class ErrorKind(Enum):
    TRUNCATED = auto()  # the message was longer than the receive; the receive got its first bytes
    PEER_FAILED = auto()
    RANK_LOST = auto()  # a rank is lost, not always the peer, and with it the device; the text says which
    BUS_ERROR = auto()  # the program's buffer cannot be read, or written
    DAMAGED = auto()  # the sender could not read its buffer, or the body was damaged on its way
    CANCELLED = auto()
    BAD_REQUEST = auto()
    NOT_READY = auto()  # a ready send met no posted receive
    MIXED = auto()  # members of a group gave the NICs calls that do not fit each other
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
        keep: what must live as long as the device may read or write the operation's memory. The
            caller sets it, unless the operation is done already; a device refers to an operation
            until it is done.
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


# The reason why a process waits, for reports.


class Wait(NamedTuple):
    """The reason why a process waits: what a report of a stopped run says about it. None is "any" or "does not
    apply".

    Members:
        peer, tag: as the program gave them: a rank of the communicator, a tag of its own.
        note: what is waited for, in words.
        awaits: ranks of the world of which `every` one (else any one) must do something before the
            wait can end.
        site: where the program called: "file:line", or "@address" of the instruction in its memory
            (`call_site`).
    """

    call: str
    peer: int | None = None
    tag: int | None = None
    context: int | None = None
    note: str = ""
    awaits: tuple[int, ...] = ()
    every: bool = True
    site: str = ""
