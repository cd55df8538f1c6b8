"""Reads a trace file: what is in it, and the tables that need no other table."""

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from lanai_firmware.vocabulary import Vocabulary
from lanai_hdl.errors import UserError
from lanai_host.stacks import names as devices
from lanai_host.stacks import stack
from lanai_host.stacks.base import NicStack

from . import schema
from . import schema as check
from .firmware import FirmwareMap
from .schema import BOOT, CHECKED, CHUNK, END, HEAD, MAGIC, META, NAMES, READABLE, STORED, TEXTS, VERSION
from .writer import unpack

MOST_TEXT = 1 << 28  # bytes of JSON in a chunk


class StoredTrace:
    """A stored run. `missing` lists, line by line, what the file should hold and does not; `complete` is
    True if it lacks nothing.

    Tables (`schema` has their columns) are made when first asked for. `outcome` is empty where the
    end is missing."""

    def __init__(self, path: Path, meta: dict[str, Any]) -> None:
        self.path = path
        self.meta = meta
        self.outcome: dict[str, Any] = {}
        self.names: list[str] = []
        self.missing: list[str] = []
        self._damaged = False
        self._left_out = 0  # chunks after damaged ones
        self._parts: dict[bytes, list[Any]] = {tag: [] for tag in STORED}
        self.firmware = FirmwareMap(meta.get("firmware") or {})

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Read a file. Raises UserError if it is none of ours; one that is cut short or damaged is
        read as far as it is whole."""
        path = Path(path)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise UserError(f"cannot read the trace {str(path)!r}: {error.strerror}") from error
        chunks = _chunks(data, _head(path, data))
        tag, content, at = next(chunks, (b"", b"", 0))
        if tag != META:
            raise UserError(f"{str(path)!r} is a trace without its beginning; trace the run again")
        trace = cls._begun(path, content)
        for tag, content, at in chunks:
            if wrong := trace._take(tag, content):
                trace._lacks(tag, at, wrong)
        trace.missing += trace.outcome.get("lost", [])
        if not trace.outcome:
            trace.missing.append("the end of the run: it was killed, or its disk was full")
        return trace

    @classmethod
    def _begun(cls, path: Path, content: Any) -> Self:
        """A trace of which the first chunk is known."""
        try:
            if isinstance(content, str):
                raise ValueError(content)
            meta = json.loads(content.data)
            if wrong := check.meta(meta):
                raise ValueError(wrong)
            return cls(path, meta)
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
            raise UserError(
                f"{str(path)!r} is a trace whose beginning is damaged ({error}); trace the run again"
            ) from None

    def _take(self, tag: bytes, content: "Content | str") -> str:
        """Add a chunk; what is wrong with it, or nothing. Rows refer to rows before them, so none
        is taken after a damaged chunk."""
        if isinstance(content, str):
            return content
        if self._damaged and tag != END:
            self._left_out += 1
            return ""
        try:
            if tag in STORED:
                return self._take_rows(tag, unpack(content.data, STORED[tag], content.rows))
            return self._take_text(tag, json.loads(content.data))
        except (ValueError, RecursionError) as error:
            return str(error)

    def _take_text(self, tag: bytes, values: Any) -> str:
        if tag == NAMES and not (wrong := check.names(values)):
            self.names += values
        elif tag == BOOT and not (wrong := check.boot(values)):
            self.meta |= values
        elif tag == END and not (wrong := check.end(values, self.ranks)):
            self.outcome = values
        elif tag == META:
            wrong = "a trace has one beginning"
        return wrong

    def _take_rows(self, tag: bytes, table: Any) -> str:
        calls, requests = (sum(map(len, self._parts[kind])) for kind in (b"CALL", b"RQST"))
        wrong = check.rows(tag, table, self.meta, calls, requests)
        if not wrong:
            self._parts[tag].append(table)
        return wrong

    def _lacks(self, tag: bytes, at: int, wrong: str) -> None:
        self._damaged = True
        what = f"{tag.decode().strip()} at byte {at}: damaged ({wrong}), and the rows after it" if tag else wrong
        if not self.missing:
            self.missing.append(what)

    @property
    def complete(self) -> bool:
        return not self.missing

    @property
    def made_by(self) -> dict[str, Any]:
        """The configuration of the run, as in its JSON, and the versions that made it."""
        keys = ("version", "versions", "commit")
        written = {key: self.meta[key] for key in keys if key in self.meta}
        return {"program": self.meta.get("command", []), **self.meta.get("config", {}), "traced_by": written}

    # Who and when.

    @property
    def ranks(self) -> int:
        return int(self.meta["ranks"])

    @property
    def nodes(self) -> list[list[int]]:
        """The ranks on each node; empty where the run had no NICs."""
        nodes: list[list[int]] = self.meta["nodes"]
        return nodes

    def node_of(self, rank: int) -> int:
        return rank // int(self.meta["ranks_per_node"])

    @property
    def started(self) -> int:
        """Picoseconds at which the ranks began, after the NICs had booted."""
        return int(self.meta.get("started", 0))

    @cached_property
    def ends(self) -> list[int]:
        """Picoseconds at which each rank's part ended; where the trace was cut, its last event."""
        if "clocks" in self.outcome:
            return [int(clock) for clock in self.outcome["clocks"]]
        ends = [self.started] * self.ranks
        for table, column in ((self.calls, "end"), (self.calls, "begin"), (self.host, "end")):
            for rank in range(self.ranks):
                ends[rank] = max(ends[rank], int(table[column][table["rank"] == rank].max(initial=-1)))
        return ends

    @cached_property
    def vocabulary(self) -> Vocabulary | None:
        """Return how to read packets and the NICs' memory; None if the run had no NICs. UserError if the
        device is not known here."""
        device = self.meta.get("device")
        if device is None or not self.nodes:
            return None
        if device not in devices():
            raise UserError(
                f"{str(self.path)!r} is a trace of the device {device!r}, which is not known here; put its "
                "folder on LANAI_PATH"
            )
        chosen = stack(device)
        if not isinstance(chosen, NicStack):
            return None
        return chosen.on({block for block, *_ in self.meta.get("blocks", ())}).vocabulary

    def picoseconds(self, slot: Any) -> Any:
        """Return when a slot begins, rounded down; of a number or an array. -1 stays -1."""
        slots = np.asarray(slot, np.int64)
        khz = int(self.meta["slot_khz"])
        # n * 10^9 / khz, in two steps that 64 bits hold
        times = np.where(slots < 0, -1, slots // khz * 1_000_000_000 + slots % khz * 1_000_000_000 // khz)
        return int(times) if times.ndim == 0 else times

    # Tables.

    def stored(self, tag: bytes) -> Any:
        """A table as it is in the file."""
        parts = self._parts[tag]
        return np.concatenate(parts) if parts else np.zeros(0, STORED[tag])

    @cached_property
    def calls(self) -> Any:
        """MPI calls; `id` is the row. One that never ended has end -1."""
        calls = _widen(self.stored(b"CALL"), schema.CALLS)
        ends = self.stored(b"CEND")
        ends = ends[ends["id"] < len(calls)]
        calls["end"] = -1
        calls["end"][ends["id"]] = ends["end"]
        sites = self.stored(b"SITE")
        calls["site"] = -1
        calls["site"][sites["call"]] = sites["site"]
        return calls

    def site(self, call: int) -> str:
        """Return where the program made a call, such as "ring.py:12"; empty if it is not known."""
        number = int(self.calls["site"][call])
        return self.name(number) if number >= 0 else ""

    def name(self, number: int) -> str:
        """Return a call's name, its place, or the reason of a wait."""
        return self.names[number] if 0 <= number < len(self.names) else f"name {number} (missing)"

    @cached_property
    def host(self) -> Any:
        """The activity of each rank's processor: stretches that follow each other without a gap, by rank
        and time."""
        host = self.stored(b"HOST")
        return host[np.lexsort((host["begin"], host["rank"]))]

    @cached_property
    def lbus(self) -> Any:
        """Slots used and waited for by each user of the LBUS, window by window."""
        stored = self.stored(b"LBUS")
        return _widen(stored[np.lexsort((stored["begin"], stored["node"]))], schema.LBUS)

    @cached_property
    def blocks(self) -> Any:
        """Slots in which an event of an optional block happened, or one of its counters counted."""
        stored = self.stored(b"BLCK")
        return _widen(stored[np.lexsort((stored["slot"], stored["node"]))], schema.BLOCKS)

    @property
    def block_signals(self) -> list[tuple[str, str, str]]:
        """Block, name and meaning of each `signal` of `blocks`."""
        return [(block, name, meaning) for block, name, meaning in self.meta.get("blocks", [])]


def _widen(table: Any, dtype: Any) -> Any:
    """Return the table in a wider type, whose other columns are zero."""
    wide = np.zeros(len(table), dtype)
    for name in table.dtype.names:
        wide[name] = table[name]
    return wide


def _head(path: Path, data: bytes) -> int:
    """Length of the file's head, if it is one of ours."""
    if len(data) < HEAD.size:
        what = "empty" if not data else "not a lanai trace: it is too short"
        raise UserError(f"{str(path)!r} is {what}; make one with `lanai run --trace FILE`")
    magic, version, _ = HEAD.unpack_from(data)
    if magic != MAGIC:
        raise UserError(
            f"{str(path)!r} is not a lanai trace: it starts with {data[:8]!r}; make one with `lanai run --trace FILE`"
        )
    if version not in READABLE:
        raise UserError(
            f"{str(path)!r} is a trace of format {version}, this openlanai reads {VERSION}; trace the run again"
        )
    return HEAD.size


@dataclass(frozen=True)
class Content:
    """A chunk's content, uncompressed, and how many rows its head promises."""

    data: bytes
    rows: int


def _chunks(data: bytes, at: int) -> Iterator[tuple[bytes, Content | str, int]]:
    """Each chunk: tag, content or what is wrong with it, place. After what is not a chunk, tag b"",
    there are no more."""
    while at < len(data):
        rest = len(data) - at
        if rest < CHUNK.size:
            yield b"", f"what follows byte {at}: {rest} bytes are not a whole chunk", at
            return
        tag, rows, size, crc = CHUNK.unpack_from(data, at)
        if tag not in STORED and tag not in TEXTS:
            yield b"", f"what follows byte {at}: no chunk begins there, but {data[at : at + 4]!r}", at
            return
        if size > rest - CHUNK.size:
            yield b"", f"what follows byte {at}: a chunk of {size} bytes is cut after {rest - CHUNK.size}", at
            return
        stored = data[at + CHUNK.size : at + CHUNK.size + size]
        if zlib.crc32(stored, zlib.crc32(CHECKED.pack(tag, rows, size))) != crc:
            yield tag, "its checksum differs", at
        else:
            yield tag, _inflated(tag, rows, stored), at
        at += CHUNK.size + size


def _inflated(tag: bytes, rows: int, stored: bytes) -> Content | str:
    """A chunk's bytes, if they are as many as its rows take; a text takes at most MOST_TEXT."""
    room = rows * STORED[tag].itemsize if tag in STORED else MOST_TEXT
    inflate = zlib.decompressobj()
    try:
        data = inflate.decompress(stored, room + 1)
    except (zlib.error, OverflowError, MemoryError) as error:
        return f"it cannot be uncompressed: {error}"
    if len(data) > room or (tag in STORED and len(data) != room) or (not inflate.eof and len(data) < room):
        return f"{rows} rows take {room} bytes, not {len(data)}" if tag in STORED else "it is too long, or cut"
    return Content(data, rows)
