"""Reads a trace file: `Trace.open(path)` gives numpy structured arrays."""

import json
import zlib
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from lanai_hdl.errors import UserError

from . import schema
from .firmware import FirmwareMap
from .schema import BOOT, CHECKED, CHUNK, END, HEAD, MAGIC, META, NAMES, STORED, TEXTS, VERSION
from .writer import unpack


class Trace:
    """One run. `missing` tells, line by line, what the file should hold and does not; `complete` that there is nothing to tell.

    Tables (`schema` has their columns) are made when first asked for. `outcome` is empty where the end is missing.
    """

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
        """Read a file. Raises UserError if it is none of ours; one that is cut short or damaged is read as far as it is whole."""
        path = Path(path)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise UserError(f"cannot read the trace {str(path)!r}: {error.strerror}") from error
        head = _head(path, data)
        chunks, missing = _chunks(data, head)
        if not chunks or chunks[0][0] != META:
            raise UserError(f"{str(path)!r} is a trace without its beginning; trace the run again")
        trace = cls(path, json.loads(chunks[0][2]))
        trace.missing = missing
        for tag, rows, content in chunks[1:]:
            trace._take(tag, rows, content)
        trace.missing += trace.outcome.get("lost", [])
        if not trace.outcome:
            trace.missing.append("the end of the run: it was killed, or its disk was full")
        return trace

    def _take(self, tag: bytes, rows: int, content: bytes) -> None:
        if tag == NAMES:
            self.names += json.loads(content)
        elif tag == BOOT:
            self.meta |= json.loads(content)
        elif tag == END:
            self.outcome = json.loads(content)
        elif tag in STORED:
            self._parts[tag].append(unpack(content, STORED[tag], rows))

    @property
    def complete(self) -> bool:
        return not self.missing

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

    def picoseconds(self, slot: Any) -> Any:
        """When a slot begins, rounded down; of a number or an array. -1 stays -1."""
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
        return calls

    def name(self, number: int) -> str:
        """A call's name, or the reason of a wait."""
        return self.names[number] if 0 <= number < len(self.names) else f"name {number} (missing)"

    @cached_property
    def host(self) -> Any:
        """What each rank's processor did: stretches that follow each other without a gap, by rank and time."""
        host = self.stored(b"HOST")
        return host[np.lexsort((host["begin"], host["rank"]))]

    @cached_property
    def requests(self) -> Any:
        """Sends and receives as the MPI library asked its device for them; `id` is the row."""
        return self._linked_messages[0]

    @cached_property
    def messages(self) -> Any:
        """Messages; `id` is the row."""
        messages = self._linked_messages[1]
        _ = self._linked_packets  # tells more of them
        return messages

    @cached_property
    def packets(self) -> Any:
        """Packets, both their ends; `id` is the row."""
        return self._linked_packets[0]

    @cached_property
    def dma(self) -> Any:
        """Transfers of the DMA engines, by node, engine and time."""
        return self._linked_nic[0]

    @cached_property
    def processor(self) -> Any:
        """What each NIC's processor did: stretches that follow each other without a gap, by node and time."""
        return self._linked_nic[1]

    @cached_property
    def lbus(self) -> Any:
        """Slots used and waited for by each user of the LBUS, window by window."""
        stored = self.stored(b"LBUS")
        return _widen(stored[np.lexsort((stored["begin"], stored["node"]))], schema.LBUS)

    @cached_property
    def hostbus(self) -> Any:
        """Transactions on each node's host bus."""
        return self._linked_nic[2]

    @cached_property
    def _linked_messages(self) -> tuple[Any, Any]:
        from .messages import link

        return link(self)

    @cached_property
    def _linked_packets(self) -> tuple[Any, Any]:
        from .packets import link

        return link(self)

    @cached_property
    def _linked_nic(self) -> tuple[Any, Any, Any]:
        from .work import link

        return link(self)


def _widen(table: Any, dtype: Any) -> Any:
    """The same columns in a wider type, others zero."""
    wide = np.zeros(len(table), dtype)
    for name in table.dtype.names:
        wide[name] = table[name]
    return wide


def _head(path: Path, data: bytes) -> int:
    """Length of the file's head, if it is one of ours."""
    if len(data) < HEAD.size:
        what = "empty" if not data else "no lanai trace: it is too short"
        raise UserError(f"{str(path)!r} is {what}; make one with `lanai run --trace FILE`")
    magic, version, _ = HEAD.unpack_from(data)
    if magic != MAGIC:
        raise UserError(
            f"{str(path)!r} is no lanai trace: it starts with {data[:8]!r}; make one with `lanai run --trace FILE`"
        )
    if version != VERSION:
        raise UserError(
            f"{str(path)!r} is a trace of format {version}, this openlanai reads {VERSION}; trace the run again"
        )
    return HEAD.size


def _chunks(data: bytes, at: int) -> tuple[list[tuple[bytes, int, bytes]], list[str]]:
    """(tag, rows, content) of every whole chunk, and what is wrong with the others."""
    chunks: list[tuple[bytes, int, bytes]] = []
    wrong: list[str] = []
    while at < len(data):
        rest = len(data) - at
        if rest < CHUNK.size:
            wrong.append(f"what follows byte {at}: {rest} bytes are no whole chunk")
            break
        tag, rows, size, crc = CHUNK.unpack_from(data, at)
        if tag not in STORED and tag not in TEXTS:
            wrong.append(f"what follows byte {at}: no chunk begins there, but {data[at : at + 4]!r}")
            break
        if size > rest - CHUNK.size:
            wrong.append(f"what follows byte {at}: a chunk of {size} bytes is cut after {rest - CHUNK.size}")
            break
        stored = data[at + CHUNK.size : at + CHUNK.size + size]
        if zlib.crc32(stored, zlib.crc32(CHECKED.pack(tag, rows, size))) != crc:
            wrong.append(f"{rows} rows of {tag.decode().strip()} at byte {at}: damaged")
        else:
            chunks.append((tag, rows, zlib.decompress(stored)))
        at += CHUNK.size + size
    return chunks, wrong
