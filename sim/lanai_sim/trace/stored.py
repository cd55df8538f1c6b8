"""Reads a trace file: what is in it, and the tables that need no other table."""

import io
import json
import struct
import zlib
from collections.abc import Iterator
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
from .schema import BEGIN, BOOT, END, META, NAMES, STORED, TEXTS, VERSION, member, record

MEMBER = struct.Struct("<4s5H3I2H")  # the head of a zip's member: BEGIN, ..., CRC-32, bytes as stored, bytes, ...
DIRECTORY = b"PK\1\2"  # begins what follows the last member
MOST_BYTES = 1 << 28  # of a member


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
        members = _members(data)
        name, content = next(members, ("", ""))
        if name != member(0, META):
            start = f"starts with {data[:8]!r}" if data else "is empty"
            what = f"is a zip with {name!r} in it" if name else start
            raise UserError(
                f"{str(path)!r} is not a trace of this openlanai: it {what}; make one with `lanai run --trace FILE`"
            )
        trace = cls._begun(path, content)
        for number, (name, content) in enumerate(members, 1):
            # Rows refer to rows before them, so none is taken after damaged ones.
            if not trace.missing or name == member(number, END):
                trace.missing += filter(None, [trace._take(number, name, content)])
        trace.missing += trace.outcome.get("lost", [])
        if not trace.outcome:
            trace.missing.append("the end of the run: it was killed, or its disk was full")
        return trace

    @classmethod
    def _begun(cls, path: Path, content: bytes | str) -> Self:
        """A trace of which the first member is known."""
        try:
            if isinstance(content, str):
                raise ValueError(content)
            meta = json.loads(content)
            if (version := meta.get("format")) != VERSION:
                what = f"of format {version!r:.40}, this openlanai reads {VERSION}"
                raise UserError(f"{str(path)!r} is a trace {what}; trace the run again")
            if wrong := check.meta(meta):
                raise ValueError(wrong)
            return cls(path, meta)
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
            raise UserError(
                f"{str(path)!r} is a trace whose beginning is damaged ({error}); trace the run again"
            ) from None

    def _take(self, number: int, name: str, content: bytes | str) -> str:
        """Add a member; what is wrong with it, or nothing."""
        tag = next((tag for tag in (*STORED, *TEXTS) if name == member(number, tag)), b"")
        if not tag:
            return f"what follows member {number - 1}: no member of a trace begins there, but {name:.40}"
        try:
            if isinstance(content, str):
                raise ValueError(content)
            wrong = self._take_rows(tag, content) if tag in STORED else self._take_text(tag, json.loads(content))
        except (ValueError, TypeError, MemoryError, OverflowError, RecursionError) as error:
            wrong = str(error)
        return wrong and f"{name}: damaged ({wrong:.80}), and the rows after it"

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

    def _take_rows(self, tag: bytes, content: bytes) -> str:
        table = _rows(tag, content)
        calls, requests = (sum(map(len, self._parts[kind])) for kind in (b"CALL", b"RQST"))
        wrong = check.rows(tag, table, self.meta, calls, requests)
        if not wrong:
            self._parts[tag].append(table)
        return wrong

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


def _rows(tag: bytes, content: bytes) -> Any:
    """The rows of a member. Raises ValueError if they are not of this table."""
    file = io.BytesIO(content)
    np.lib.format.read_magic(file)
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    names = dtype.names or ()
    count = dtype[0].shape[0] if names and dtype[0].shape else 0
    if shape or dtype != record(tag, count) or len(content) != file.tell() + dtype.itemsize:
        raise ValueError(f"it has other columns than {tag.decode().strip()}")
    (columns,) = np.frombuffer(content, dtype, 1, file.tell())
    table = np.empty(count, STORED[tag])
    for name, stored in zip(table.dtype.names, names, strict=True):
        values = columns[stored]
        table[name] = values if name == stored else np.cumsum(values, dtype=values.dtype)
    return table


def _members(data: bytes) -> Iterator[tuple[str, bytes | str]]:
    """Each member of a zip: its name, and its content or what is wrong with it. The heads of members are read, not
    the directory behind them, which a run that was killed has not written."""
    at = 0
    while data.startswith(BEGIN, at) and at + MEMBER.size <= len(data):
        *_, crc, stored, size, name, extra = MEMBER.unpack_from(data, at)
        begin = at + MEMBER.size + name + extra
        at, name = begin + stored, data[at + MEMBER.size : at + MEMBER.size + name].decode(errors="replace")
        inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            content = inflate.decompress(data[begin:at], min(size, MOST_BYTES) + 1)
        except (zlib.error, MemoryError) as error:
            yield name, f"it cannot be uncompressed: {error}"
            continue
        sound = inflate.eof and len(content) == size and zlib.crc32(content) == crc
        yield name, content if sound else "its checksum differs, or it is cut"
    if at < len(data) and not data.startswith(DIRECTORY, at) and at:
        yield repr(data[at : at + 4]), ""
