"""Options, messages, and the ways in which they travel."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple, Self

from lanai_firmware.vocabulary import Room, SeenSend, Sends
from lanai_hdl import ranges
from lanai_hdl.remote.fifo import MOST_RING_PAGES
from lanai_hdl.remote.messages import HEADER_BYTES, EnvelopeWord, HeaderWord
from lanai_hdl.remote.tables import TAG_BITS

from ...adapter import trace
from ...adapter.lending import Lent
from ...adapter.operation import Token
from ...body import Body
from ...errors import UserError
from ...host_model import meter as operations
from ...operation import ANY_SOURCE, ANY_TAG

RANGES = {"fifo_pages": (1, MOST_RING_PAGES), "place": (1, 4096), "timeout": (0, 50_000)}


@dataclass(frozen=True)
class Lanai2Options:
    """Attributes:
    fifo_pages: of 4 KiB, of the FIFO that holds a rank's messages of all senders.
    place: bytes of a receive from which its memory is lent to the NIC, which writes a message of one packet there.
        A message for a shorter one is copied.
    timeout: microseconds without an answer until packets are sent again. 0: what the fabric needs
        (`on_adapter.timeout_on`).
    """

    fifo_pages: int = 16
    place: int = 256
    timeout: int = 0

    def __post_init__(self) -> None:
        ranges.check(self, RANGES)
        if self.fifo_pages & (self.fifo_pages - 1):
            raise UserError(f"{type(self).__name__}.fifo_pages={self.fifo_pages} must be a power of two")


class Kind(IntEnum):
    """The kind of a packet. Those from ANSWER on go aside: they are not matched."""

    MESSAGE = 0  # its bytes follow
    SYNCHRONOUS = 1  # ... and its sender waits for ANSWER
    LONG = 2  # a `Notice` follows; the receiver reads the bytes, then sends ANSWER
    HELD_BACK = 3  # ... without a token: the receiver sends WANT, and the bytes come as DATA
    ANSWER = 4
    WANT = 5
    DATA = 6
    UNKNOWN = 7


MOST_TAG = (1 << TAG_BITS) - 1
SIGNALLED = frozenset((Kind.LONG, Kind.HELD_BACK, Kind.WANT))  # they interrupt the receiver's own work
SIGNALS = 2  # number of the exposure by which they come: the first after the adapter's own
SERIAL_BITS = 13  # of messages from one rank to another that wait for an answer


def note(kind: Kind, serial: int = 0) -> int:
    """The `note` of a packet's header."""
    return kind << SERIAL_BITS | serial


def noted(value: int) -> tuple[Kind, int]:
    return Kind(value >> SERIAL_BITS), value & ((1 << SERIAL_BITS) - 1)


NOTICE = struct.Struct(f">Q{Token.SIZE}s")


class Notice(NamedTuple):
    """The bytes of a LONG or HELD_BACK message: its length, and where it is."""

    length: int
    token: bytes = bytes(Token.SIZE)

    def pack(self) -> bytes:
        return NOTICE.pack(*self)

    @classmethod
    def unpack(cls, data: memoryview) -> Self:
        return cls(*NOTICE.unpack(data))


class Send(operations.Send):
    """A message to `dest`.

    Attributes:
        serial: of a message that waits for an answer.
    """

    __slots__ = ("serial",)

    def __init__(self, source: int, dest: int, tag: int, context: int, body: Body, synchronous: bool) -> None:
        super().__init__(source, dest, tag, context, body, synchronous)
        self.serial = 0


class Receive(operations.Receive):
    """A receive. `posted` and `order` count while it is among the host's own.

    Attributes:
        slot: in which it is asked for; None: in none.
        lent: its memory, while the NIC may write there.
    """

    __slots__ = ("lent", "slot")

    def __init__(self, source: int, tag: int, context: int, body: Body) -> None:
        super().__init__(source, tag, context, body)
        self.slot: int | None = None
        self.lent: Lent | None = None


class Message:
    """A message that has come, or a notice of it.

    Attributes:
        serial: of a message whose sender waits for an answer.
        data: its bytes, or its `Notice`.
        number: of its record.
        kept: it came before its receive.
        order: the matcher's to use.
    """

    __slots__ = ("context", "data", "kept", "kind", "length", "number", "order", "serial", "source", "tag", "token")

    def __init__(self, source: int, tag: int, context: int, note: int, data: memoryview, number: int) -> None:
        self.source = source
        self.tag = tag
        self.context = context
        self.kind, self.serial = noted(note)
        self.data = data
        self.token = b""
        self.length = len(data)
        if self.kind in (Kind.LONG, Kind.HELD_BACK) and len(data) == NOTICE.size:
            self.length, self.token = Notice.unpack(data)
        elif self.kind is not Kind.SYNCHRONOUS:  # whatever a sender means by it
            self.kind = Kind.MESSAGE
        self.number = number
        self.kept = False
        self.order = 0

    def keep(self) -> None:
        """Copy the bytes: their record is dropped."""
        self.data = memoryview(bytes(self.data))
        self.kept = True

    def fits(self, source: int, tag: int, context: int) -> bool:
        """Return whether a receive takes it."""
        return context == self.context and source in (ANY_SOURCE, self.source) and tag in (ANY_TAG, self.tag)


# This device's messages as traces find them in the adapter's packets.

PLACE = struct.Struct(">QxBHI")  # of a `Notice`, as far as it is known: length; exposure, key, offset


def see(offset: int, words: Sequence[int]) -> SeenSend | None:
    """A SEND that begins a message. `words`: of its data, as far as they are known."""
    header, tag = HeaderWord.from_bits(words[0]), int(EnvelopeWord.from_bits(offset).tag)
    kind, context = noted(int(header.note))[0], int(header.context)
    data = struct.pack(f">{len(words)}I", *words)[HEADER_BYTES:]
    if kind is Kind.LONG and len(data) >= PLACE.size:
        return SeenSend(context, tag, True, *PLACE.unpack_from(data))
    return SeenSend(context, tag, kind is Kind.HELD_BACK) if kind <= Kind.HELD_BACK else None


UNEXPECTED = Room(
    "unexpected messages", "messages", "messages that have come to it and that no receive has taken", at_owner=True
)
VOCABULARY = replace(trace.VOCABULARY, messages=Sends(see), rooms=(UNEXPECTED,))
