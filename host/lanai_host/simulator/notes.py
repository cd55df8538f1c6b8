"""Notes of a traced rank for the simulator, in memory that both share.

They bypass the rank's socket and use almost none of its heap: where a program's buffers lie within their pages decides
how long the NIC takes, and tracing must not change that.

A note is NOTE, for NAME and SITE followed by `d` bytes of text. It was made after `frame` posted frames since the last
answer, `offset` picoseconds later than the last of them; `call` is the number, in this rank, of the MPI call in which
it was made, or -1. Each answer empties the area: the simulator has read all notes by then.

An area that is full takes no more notes until the rank begins anew, and counts those that it did not take: the trace
says how many it lacks.
"""

import mmap
import os
import struct
import threading
from collections.abc import Iterator
from enum import IntEnum

from ..errors import UserError
from ..process_memory import memory_file

ENV_NOTES = "LANAI_NOTES"  # path of the shared memory in a traced run, else nothing; padded to PATH_ROOM characters
PATH_ROOM = 40
AREA = 1 << 30  # bytes for each rank; only what is used takes memory


class Note(IntEnum):
    """Kinds of notes, and what a, b, c, d, e hold."""

    NAME = 0  # `name` stands for the text that follows
    BEGIN = 1  # an MPI call e of that `name` in `call`: peer, tag, context, bytes
    END = 2  # the call e
    WORK = 3  # host work of kind `sub`: count, -, -, picoseconds. It begins at `offset`
    WAIT = 4  # waiting without the NIC, for the reason `name`: peer, tag, context, picoseconds. It begins at `offset`
    REQUEST = 5  # a request e to the device, of kind `sub` & 15 and mode `sub` >> 4: peer, tag, context, bytes
    DONE = 6  # the end of request e, with error `sub`: source, tag, -, bytes
    SENT = 7  # the datagram of request e is on its way: -, -, -, picoseconds until it arrives. It leaves at `offset`
    SITE = 8  # the program made the call e, which begins next, at the place that the text tells (`call_site`)
    ROOM = 9  # rank a has taken room `name` at rank b, or has got it back: user, owner, -, change


NOTE = struct.Struct("<BBHIiqiiiqi")  # kind, sub, name, frame, call, offset, a, b, c, d, e
USED = struct.Struct("<QQ")  # at the start of an area: bytes of notes in it, notes that it did not take
CANCELLED = 255  # `sub` of DONE; other errors are numbers of `device.ErrorKind`
WITH_TEXT = (Note.NAME, Note.SITE)  # kinds that `d` bytes of text follow
OUTSIDE = -1  # `call`, outside all MPI calls
NOT_SAID = -1  # a, b, c, d where the call has no such argument
Fields = tuple[int, ...]


class Notebook:
    """A rank's end. What does not fit is counted."""

    def __init__(self, path: str, rank: int) -> None:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            self._area = mmap.mmap(handle, AREA, offset=rank * AREA)
        except OSError as error:
            raise UserError(
                f"cannot map {AREA} bytes of shared memory to trace: {error.strerror}; raise `ulimit -v`"
            ) from error
        finally:
            os.close(handle)
        self._used = 0
        self._lost = 0
        self._lock = threading.Lock()

    def put(self, fields: Fields, text: bytes = b"") -> bool:
        """Append a note; False if there is no room for it, or was none for one before it."""
        with self._lock:
            at = USED.size + self._used
            end = at + NOTE.size + len(text)
            if self._lost or end > AREA:
                self._lost += 1
                USED.pack_into(self._area, 0, self._used, self._lost)
                return False
            NOTE.pack_into(self._area, at, *fields)
            if text:
                self._area[at + NOTE.size : end] = text
            self._used = end - USED.size
            USED.pack_into(self._area, 0, self._used, 0)
            return True

    def begin_anew(self) -> None:
        """All notes have been read."""
        self._used = self._lost = 0
        USED.pack_into(self._area, 0, 0, 0)


class Notebooks:
    """The simulator's end: of all ranks. `path` names the memory to them."""

    def __init__(self, ranks: int) -> None:
        self._file = memory_file("lanai-notes")
        os.ftruncate(self._file, ranks * AREA)
        self.path = f"/proc/{os.getpid()}/fd/{self._file}"

    def read(self, rank: int) -> Iterator[tuple[Fields, str]]:
        """The notes that a rank has made since its last answer, which it must be waiting for:
        fields, text."""
        used, _ = USED.unpack(os.pread(self._file, USED.size, rank * AREA))
        data = os.pread(self._file, used, rank * AREA + USED.size) if used else b""
        place = 0
        while place < len(data):
            fields = NOTE.unpack_from(data, place)
            place += NOTE.size
            text = ""
            if fields[0] in WITH_TEXT:
                text = data[place : place + fields[9]].decode(errors="replace")
                place += fields[9]
            yield fields, text

    def lost(self, rank: int) -> int:
        """Return how many notes found no room since the rank's last answer, which it must be waiting
        for."""
        return int(USED.unpack(os.pread(self._file, USED.size, rank * AREA))[1])

    def close(self) -> None:
        os.close(self._file)
