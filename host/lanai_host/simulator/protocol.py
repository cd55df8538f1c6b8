"""The protocol between a rank process and the simulator over a Unix stream socket.

A frame is a header and a payload. The rank's frames carry the picoseconds of host work since its frame before; the
simulator keeps the rank's clock and answers each blocking request with one frame that carries its absolute time. Posted
frames get no answer; they may wait in the rank until its next blocking request, since the simulation does not advance
meanwhile.
"""

import json
import mmap
import os
import struct
import threading
from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from ..device import Queued, Unreceived
from ..errors import UserError
from ..operation import Wait
from ..process_memory import memory_file

VERSION = 15
ENV_SOCKET = "LANAI_SIMULATOR_FD"
ENV_RANK = "LANAI_RANK"
ENV_SIZE = "LANAI_SIZE"
ENV_DEVICE = "LANAI_DEVICE"
ENV_RACES = "LANAI_RACES"  # if not empty: tell which one-sided operations race
ENV_LEAKS = "LANAI_LEAKS"  # if not empty: tell at MPI_Finalize what was left behind
ENV_CHECK = "LANAI_CHECK"  # the directory in which each rank records its calls for `lanai check`, if not empty
ENV_SYNCHRONOUS = "LANAI_SYNCHRONOUS"  # if not empty: standard sends are done when a receive has taken them


class Op(IntEnum):
    """Requests, and what they carry: records of `requests`. Those up to POSTED_LAST are posted, the
    others block."""

    ELAPSE = 0  # only the header's time
    PIO_WRITE = 2  # PioWrite, bytes
    UNPIN = 3  # Unpin
    FINAL_STATE = 4  # the reply to Status.RUN_OVER: JSON of a `FinalState`
    DATAGRAM = 5  # Datagram, its bytes: to another rank, where the simulator relays
    LEAVE = 6  # no more datagrams go to or come from this rank
    NO_SNAPSHOT = 7  # the reply to Status.SNAPSHOT if none could be taken: why
    LEAVES = 8  # a notice: the program ends, and MPI with it -> text: the error that it ends by, if one is known
    POLLS = 9  # a notice: polls in vain for long -> a wait record; empty when that is over
    CRASHED = 10  # a notice: a signal is about to kill the process -> what `crash.c` says; any bytes as an answer
    LEFT = 11  # a notice: MPI has ended, and the program has left objects behind -> JSON, how many by kind
    TYPES = 12  # a notice: MPI has ended -> JSON, the types that were sent and received (`mpi.seen_types`)
    UNRECEIVED = 13  # a notice, which is answered: JSON of the `Envelope`s on its NIC that no receive has taken
    POSTED_LAST = 15
    HELLO = 16  # Hello -> JSON configuration
    STOPPED = 17  # Stopped, wait record; no answer: the run ends
    CATCH_UP = 18  # until the rest of the world has come to the rank's time, which takes CATCH_UP_TIME -> Quiet
    PIO_READ = 19  # PioRead -> bytes
    PIN = 20  # Pin -> Pinned, a BusAddress for each page
    ALLOC = 21  # Allocate -> BusAddress
    WAIT_ANY = 22  # WaitAny, its WatchedWords, wait record -> nothing, when one of them has changed or time is up
    SYNC = 23  # until all that was posted has reached the NIC -> nothing
    FINALIZE = 24  # Finalize; the rank leaves the simulation -> nothing
    ABORT = 25  # Abort; no answer
    REPORT_LOST = 26  # text: this rank can be reached no more -> nothing
    LOST = 27  # -> JSON, by rank: why it can be reached no more
    EXAMINE = 28  # have the NIC checked -> text: what is wrong with it, empty if nothing is
    MANAGE = 29  # JSON of a question to the process manager -> JSON of its answer
    COLLECT = 30  # Collect, wait record -> datagrams, a `Relayed` and its bytes each
    STORE = 31  # BusAddress, bytes: into memory that a process of this host shares -> nothing
    WORK = 32  # as WAIT_ANY, for a processor that works until the time is up -> nothing
    LOOK_AND_WAIT = 33  # Look, what WAIT_ANY has: CATCH_UP, polls that find nothing, WAIT_ANY -> Waited


class Status(IntEnum):
    """The end of a request; the payload of an ERROR is its text. RUN_OVER ends no request: the run
    has ended, and the rank, which waits on, is to say what it is in and which messages lie at it.
    The payload is a JSON list of the `Envelope`s on its NIC. SNAPSHOT ends no request either: the
    rank is to take a snapshot of itself (`snapshot.c`) and to wait on. The payload is a `Snapshot`
    and a name. RELEASED ends the request: the run is over, and the rank's program goes on to its
    end without MPI."""

    OK = 0
    ERROR = 1
    RUN_OVER = 2
    SNAPSHOT = 3
    RELEASED = 4


# Posted; they reach the launcher at once and take no part in simulated time.
NOTICES = frozenset({int(Op.LEAVES), int(Op.POLLS), int(Op.CRASHED), int(Op.LEFT), int(Op.TYPES), int(Op.UNRECEIVED)})


class SeenType(NamedTuple):
    """Messages of one type that a rank has sent to a `peer` or received from it; `kind` is None if they are of several
    at once."""

    sent: bool
    context: int
    peer: int
    tag: int
    kind: str | None


class FinalState(NamedTuple):
    """The state of a rank when a run has ended: the MPI call that it is in, its place as
    `Wait.site` has it, messages that lie there, sends and receives that are not done."""

    call: str
    site: str
    unreceived: list[Unreceived]
    queued: list[Queued]

    def pack(self) -> bytes:
        return json.dumps(self).encode()

    @classmethod
    def unpack(cls, payload: bytes) -> "FinalState":
        call, site, unreceived, queued = json.loads(payload)
        return cls(call, site, [Unreceived(*one) for one in unreceived], [Queued(*one) for one in queued])


CATCH_UP_TIME = 10_000  # picoseconds, so that a free host that only polls still lets time pass
# payload bytes, op or status, the processor that the run shares and one more (an answer's; else 0), picoseconds
HEADER = struct.Struct("<IHHq")
WAIT = struct.Struct(
    "<iii"
)  # peer, tag, context; then call, site, "all" or "any", note, ranks awaited, with \0 between them
FOREVER = 2**63 - 1
# Seconds of its own in which another rank may come to a wait when one aborts: what it prints until then is the same
# in each run.
ABORT_TIMEOUT = 1.0
NONE = -(2**31)  # stands for None in a wait record
TEXT = "utf-8", "surrogateescape"  # the encoding of texts, as names of files may be any bytes

assert HEADER.size == 16
assert WAIT.size == 12


@lru_cache(maxsize=256)  # programs wait for the same again and again
def pack_wait(why: Wait | None) -> bytes:
    if why is None:
        return b""
    peer, tag, context = why.peer, why.tag, why.context
    record = WAIT.pack(
        NONE if peer is None else peer, NONE if tag is None else tag, NONE if context is None else context
    )
    ranks = ",".join(map(str, why.awaits))
    return record + "\0".join((why.call, why.site, "all" if why.every else "any", why.note, ranks)).encode(*TEXT)


def unpack_wait(record: bytes | memoryview) -> Wait | None:
    if not len(record):
        return None
    numbers = [None if number == NONE else number for number in WAIT.unpack_from(record)]
    call, site, kind, note, ranks, *_ = (
        *bytes(record[WAIT.size :]).decode(*TEXT).split("\0"),
        "",
        "",
        "",
        "",
        "",
    )
    awaits = tuple(int(rank) for rank in ranks.split(",") if rank.isdecimal())
    return Wait(call, numbers[0], numbers[1], numbers[2], note, awaits, kind != "any", site)


# Notes of a traced rank for the simulator, in memory that both share.
#
# They bypass the rank's socket and use almost none of its heap: where a program's buffers lie
# within their pages decides how long the NIC takes, and tracing must not change that.
#
# A note is NOTE, for NAME and SITE followed by `d` bytes of text. It was made after `frame` posted
# frames since the last answer, `offset` picoseconds later than the last of them; `call` is the
# number, in this rank, of the MPI call in which it was made, or -1. Each answer empties the area:
# the simulator has read all notes by then.
#
# An area that is full takes no more notes until the rank begins anew, and counts those that it did
# not take: the trace says how many it lacks.

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
