"""A rank's request as it came."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

from lanai_hdl.machine import COUNTER_NAMES, PIO_WINDOW_SIZE, host_offset
from lanai_host.c_module import load
from lanai_host.simulator.protocol import HEADER, Op
from lanai_host.stacks.attachment import Attachment

from ..engines.base import PackedBursts


class Request:
    """One frame from a rank. `elapsed` is host work in picoseconds since the frame before."""

    __slots__ = ("elapsed", "op", "payload")

    def __init__(self, op: int, elapsed: int, payload: bytes) -> None:
        self.op, self.elapsed, self.payload = op, elapsed, payload

    def each(self) -> "list[Request]":
        """Return the requests that came, a frame each."""
        return [self]


def frames_of(data: bytes) -> list[Request]:
    """Return the requests of whole frames."""
    found, at = [], 0
    while at < len(data):
        size, op, _, elapsed = HEADER.unpack_from(data, at)
        at += HEADER.size + size
        found.append(Request(op, elapsed, data[at - size : at]))
    return found


# The PIO accesses that one rank may make to its NIC: to its own request slots and its own doorbell bit, as the
# driver's attachment says. All may read what the NIC counts.


DOORBELL = host_offset("DOORBELL")
COUNTERS = frozenset(host_offset(name) for name in COUNTER_NAMES)


class Forbidden(Exception):
    """A rank reached for what is not its own. It ends the job, as a bus error ends a process:
    posted writes have no answer."""


@dataclass(frozen=True)
class Grant:
    """The part of one NIC that a rank may reach.

    Members:
        reach: ranges of PIO offsets that it may read and write.
        bells: bits of DOORBELL that it may set.
    """

    rank: int
    reach: Sequence[range] = ()
    bells: int = 0

    @classmethod
    def of(cls, attachment: Attachment) -> Self:
        return cls(attachment.rank, attachment.reach, attachment.doorbell_bits)

    def check_write(self, offset: int, data: bytes) -> None:
        """Raises Forbidden unless the rank may write `data` at `offset`."""
        if self._holds(offset, len(data)):
            return
        if offset == DOORBELL and len(data) == 4:
            value = int.from_bytes(data, "big")
            if not value & ~self.bells:
                return
            raise Forbidden(
                f"rank {self.rank} wrote {value:#x} to DOORBELL at PIO offset {offset:#x}; its own bits are "
                f"{self.bells:#x}"
            )
        raise Forbidden(self._text("wrote", offset, len(data)))

    def check_read(self, offset: int, size: int) -> None:
        """Raises Forbidden unless the rank may read `size` bytes at `offset`."""
        counter = offset in COUNTERS and size == 4
        if not counter and not self._holds(offset, size):
            raise Forbidden(self._text("read", offset, size))

    def _holds(self, offset: int, size: int) -> bool:
        return any(own.start <= offset and offset + size <= own.stop for own in self.reach)

    def _text(self, verb: str, offset: int, size: int) -> str:
        own = ", ".join(f"{own.start:#x} to {own.stop - 1:#x}" for own in self.reach) or "none"
        return f"rank {self.rank} {verb} {size} bytes at PIO offset {offset:#x} of its NIC; its own offsets are {own}"


# PIO writes that came from a rank in a row. They are found, checked and handed to the engine together, in C
# (`writes.c`): most messages begin with several.


DECLARED = """
typedef struct { uint64_t elapsed; uint32_t offset, size; } Burst;
typedef struct { uint32_t first, end; } Range;
typedef struct { uint32_t ranges, bells; Range reach[]; } Reach;
size_t writes_length(const char *data, size_t size, int64_t *elapsed);
uint32_t writes_pack(const char *frames, size_t size, const Reach *reach, Burst *bursts, char *bytes);
"""
HEADER_TEXT = f"enum {{ PIO_WRITE = {int(Op.PIO_WRITE)}, DOORBELL = {DOORBELL}, WINDOW = {PIO_WINDOW_SIZE} }};\n"
SHORTEST = HEADER.size + 4  # bytes of a write's frame
ROOM = 1 << 12  # bytes of frames of writes in a row, usually no more


@cache
def _native() -> Any:
    return load(__package__, "writes", DECLARED, header=HEADER_TEXT)


class Writes(Request):
    """Writes in a row: `payload` has their frames, `elapsed` is the sum of their times."""

    __slots__ = ()

    def each(self) -> list[Request]:
        return frames_of(self.payload)


class WritesFinder:
    """Finds the writes with which what came from a rank begins."""

    def __init__(self) -> None:
        native = _native()
        self._length = native.lib.writes_length
        self._view = native.ffi.from_buffer
        self._elapsed: Any = native.ffi.new("int64_t *")

    def first(self, data: bytes) -> Writes | None:
        """The writes in whole frames at the start, if there are any."""
        length = self._length(self._view(data), len(data), self._elapsed)
        return Writes(Op.PIO_WRITE, self._elapsed[0], data[:length]) if length else None


class Packer:
    """Makes bursts of writes of one rank, if its grant allows all of them."""

    def __init__(self, grant: Grant) -> None:
        native = _native()
        self._ffi, self._pack = native.ffi, native.lib.writes_pack
        reach = [(own.start, own.stop) for own in grant.reach]
        self._reach = self._ffi.new("Reach *", {"ranges": len(reach), "bells": grant.bells, "reach": reach})
        self._make_room(ROOM)

    @property
    def reach(self) -> Any:
        """The grant, for `writes.c`."""
        return self._reach

    def _make_room(self, size: int) -> None:
        self._room = size
        self._bursts = self._ffi.new("Burst[]", size // SHORTEST)
        self._bytes = self._ffi.new("char[]", size)
        self._places = [int(self._ffi.cast("uintptr_t", at)) for at in (self._bursts, self._bytes)]

    def pack(self, writes: Writes) -> PackedBursts | None:
        """The bursts, until `pack` is called again. None if one of the writes writes nothing, or is not allowed."""
        size = len(writes.payload)
        if size > self._room:
            self._make_room(size)
        count = self._pack(self._ffi.from_buffer(writes.payload), size, self._reach, self._bursts, self._bytes)
        return PackedBursts(self._places[0], count, self._places[1]) if count else None
