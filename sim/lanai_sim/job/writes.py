"""PIO writes that came from a rank in a row. They are found, checked and handed to the engine together, in C
(`writes.c`): most messages begin with several."""

from functools import cache
from typing import Any

from lanai_hdl.machine import PIO_WINDOW_SIZE
from lanai_host.c_module import load
from lanai_host.simulator.protocol import HEADER, Op

from ..engines.base import PackedBursts
from .grant import DOORBELL, Grant
from .request import Request, frames_of

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
