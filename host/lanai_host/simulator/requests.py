"""The records with which requests and answers between a rank and the simulator begin, each with its size.

Some are followed by bytes of any length, as `protocol.Op` says.
"""

import struct
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar

from ..errors import UserError

RECORD = TypeVar("RECORD", bound=tuple[Any, ...])


class Format(Generic[RECORD]):
    """A record as bytes, little-endian without padding. `size` is asserted, so that no record
    changes its size by accident."""

    def __init__(self, record: type[RECORD], fields: str, size: int) -> None:
        self.struct = struct.Struct("<" + fields)
        self.size = self.struct.size
        self.record = record
        assert self.size == size, f"{record.__name__} has {self.size} bytes, not {size}"
        assert len(self.struct.unpack(bytes(size))) == len(record.__annotations__), f"fields of {record.__name__}"

    def pack(self, record: RECORD, rest: bytes = b"") -> bytes:
        return self.struct.pack(*record) + rest

    def unpack(self, payload: bytes) -> RECORD:
        """The record that a payload consists of. Raises UserError if it has another size."""
        if len(payload) != self.size:
            raise self.wrong(payload)
        return self.record(*self.struct.unpack(payload))

    def split(self, payload: bytes) -> tuple[RECORD, bytes]:
        """The record that a payload begins with, and what follows. Raises UserError if it is too
        short."""
        if len(payload) < self.size:
            raise self.wrong(payload)
        return self.record(*self.struct.unpack_from(payload)), payload[self.size :]

    def wrong(self, payload: bytes) -> UserError:
        """Return the error to raise for a payload that is not such a record."""
        return UserError(f"{self.record.__name__} of {len(payload)} bytes; it has {self.size}")


class Hello(NamedTuple):
    version: int
    pid: int


class Stopped(NamedTuple):
    """A wait record follows."""

    wake: int  # picoseconds, when it might go on; FOREVER for never


class PioWrite(NamedTuple):
    """The bytes to write follow."""

    offset: int


class PioRead(NamedTuple):
    offset: int
    size: int


class Pin(NamedTuple):
    address: int
    size: int
    writable: int


class Pinned(NamedTuple):
    """The bus address of each page follows, a `BusAddress` each."""

    token: int


class Unpin(NamedTuple):
    token: int


class Allocate(NamedTuple):
    file: int  # a descriptor of the rank's
    size: int
    shared: int  # 1: other ranks of the node may store to it


class BusAddress(NamedTuple):
    address: int


class WaitAny(NamedTuple):
    """So many `WatchedWord`s follow, then a wait record."""

    words: int
    timeout: int  # picoseconds; 0: none


class WatchedWord(NamedTuple):
    address: int  # on the bus
    seen: int


class Look(NamedTuple):
    """The polls of a LOOK_AND_WAIT: the members of `bus.base.KnownPoll`. A `WaitAny` follows it."""

    picoseconds: int
    place: int  # among the words of `WaitAny`
    value: int
    noting: int
    first: int
    decisive: int  # so many of the words of `WaitAny`, the last ones, are not waited for


class Waited(NamedTuple):
    noted: int  # 1: the word at `Look.place` was noted
    polls: int
    picoseconds: int  # without the time of polls


class Quiet(NamedTuple):
    until: int  # picoseconds, before which nothing can change for the rank unless it asks for something; 0: unknown


class Finalize(NamedTuple):
    """`Device.handover` follows."""

    placement: int  # `Device.placement`


class Abort(NamedTuple):
    code: int


class Datagram(NamedTuple):
    """Its bytes follow."""

    dest: int
    charged: int  # bytes that take time on the link


class Collect(NamedTuple):
    """A wait record follows."""

    awaited: int  # `transport.Awaited`


class Relayed(NamedTuple):
    """A datagram that has arrived; so many bytes follow."""

    source: int
    size: int


class Snapshot(NamedTuple):
    """With Status.SNAPSHOT. The name of the socket to which the snapshot connects follows."""

    serial: int


class SnapshotHello(NamedTuple):
    """The hello of a process of `snapshot.c`: it keeps a rank's snapshot, or was made from one and is the rank now."""

    rank: int
    serial: int
    pid: int
    live: int


HELLO = Format(Hello, "II", 8)
STOPPED = Format(Stopped, "q", 8)
PIO_WRITE = Format(PioWrite, "I", 4)
PIO_READ = Format(PioRead, "II", 8)
PIN = Format(Pin, "QQI", 20)
PINNED = Format(Pinned, "I", 4)
UNPIN = Format(Unpin, "I", 4)
ALLOCATE = Format(Allocate, "III", 12)
BUS_ADDRESS = Format(BusAddress, "I", 4)
WAIT_ANY = Format(WaitAny, "Iq", 12)
WATCHED_WORD = Format(WatchedWord, "II", 8)
LOOK = Format(Look, "qiIqII", 32)
WAITED = Format(Waited, "IIq", 16)
QUIET = Format(Quiet, "q", 8)
FINALIZE = Format(Finalize, "I", 4)
ABORT = Format(Abort, "i", 4)
DATAGRAM = Format(Datagram, "IQ", 12)
COLLECT = Format(Collect, "I", 4)
RELAYED = Format(Relayed, "IQ", 12)
SNAPSHOT = Format(Snapshot, "I", 4)
SNAPSHOT_HELLO = Format(SnapshotHello, "IIII", 16)


def split_pio_write(payload: bytes) -> tuple[int, bytes]:
    """`PIO_WRITE.split` without a record: the offset, and what is to be written there."""
    if len(payload) < PIO_WRITE.size:
        raise PIO_WRITE.wrong(payload)
    return int.from_bytes(payload[:4], "little"), payload[4:]


def split_look(payload: bytes) -> tuple[Look, WaitAny, list[WatchedWord], bytes]:
    """A `Look` and what `split_wait_any` gives."""
    look, rest = LOOK.split(payload)
    return (look, *split_wait_any(rest))


def pack_wait_any(words: list[tuple[int, int]], timeout: int, why: bytes) -> bytes:
    """A request to wait for `words`, each a bus address and what it held."""
    numbers = struct.pack(f"<{2 * len(words)}I", *chain.from_iterable(words))
    return WAIT_ANY.struct.pack(len(words), timeout) + numbers + why


def pack_wait_word(address: int, seen: int, timeout: int, why: bytes) -> bytes:
    """The same for one word."""
    return WAIT_ANY.struct.pack(1, timeout) + WATCHED_WORD.struct.pack(address, seen) + why


def split_wait_any(payload: bytes) -> tuple[WaitAny, list[WatchedWord], bytes]:
    """The request's head, its words, its wait record. Raises UserError if it is cut short."""
    head, rest = split_words(payload)
    end = head.words * WATCHED_WORD.size
    return head, [WatchedWord(*word) for word in WATCHED_WORD.struct.iter_unpack(rest[:end])], rest[end:]


def split_words(payload: bytes) -> tuple[WaitAny, bytes]:
    """The same, with the words and the wait record as they came."""
    head, rest = WAIT_ANY.split(payload)
    if len(rest) < head.words * WATCHED_WORD.size:
        raise UserError(f"WaitAny of {head.words} words has {len(rest)} bytes after its head")
    return head, rest
