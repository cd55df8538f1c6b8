"""Appends members to a trace file. A full disk ends the trace, not the run."""

import ctypes
import fcntl
import io
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np

from lanai_firmware.image import Image
from lanai_firmware.vocabulary import Table, Touch, Vocabulary
from lanai_hdl.errors import UserError

from ..engines.base import Event, Layout
from ..engines.declared import ROWS, TOUCH_RANGE
from ..engines.rtl import POINTER, RtlEngine
from .schema import BOOT, END, META, NAMES, STORED, VERSION, member, record

LEVEL = 3  # of compression: a run should not wait for it
ROWS_AT_ONCE = 1 << 16


def npy(tag: bytes, rows: Any) -> bytes:
    """The member that has these rows."""
    columns = np.empty((), record(tag, len(rows)))
    for name, stored in zip(rows.dtype.names, columns.dtype.names, strict=True):
        values = rows[name]
        columns[stored] = values if name == stored else np.diff(values, prepend=values.dtype.type(0))
    place = io.BytesIO()
    np.lib.format.write_array(place, columns)
    return place.getvalue()


class Writer:
    """`failed` says why the trace ends early, once it does; what was written before stays
    readable."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.failed = ""
        self._size = 0
        self._names: dict[str, int] = {}
        self._new: list[str] = []
        try:
            self._file = _opened(self.path)
        except OSError as error:
            raise UserError(f"cannot write the trace {str(path)!r}: {error.strerror}; name a writable file") from error
        self._zip = ZipFile(self._file, "w")
        self._members = 0

    def name(self, text: str) -> int:
        """The number that stands for a text."""
        number = self._names.get(text)
        if number is None:
            number = self._names[text] = len(self._names)
            self._new.append(text)
        return number

    def meta(self, values: Mapping[str, Any]) -> None:
        """Write how the run began: the first member."""
        self._text(META, {"format": VERSION, **values})

    def boot(self, values: Mapping[str, Any]) -> None:
        """The NICs are up and the ranks begin."""
        self._text(BOOT, values)

    def rows(self, tag: bytes, rows: Any) -> None:
        """Append rows of one table: an array of its type."""
        self._flush_names()
        for first in range(0, len(rows), ROWS_AT_ONCE):
            part = rows[first : first + ROWS_AT_ONCE]
            self._append(tag, npy(tag, part))

    def table(self, tag: bytes, rows: list[tuple[Any, ...]]) -> None:
        """Write rows that are tuples."""
        if rows:
            self.rows(tag, np.array(rows, STORED[tag]))

    def end(self, values: Mapping[str, Any]) -> None:
        """Write how the run ended; the file is whole then."""
        self._flush_names()
        self._text(END, values)
        self.close()

    def close(self) -> None:
        """Write the zip's directory."""
        if not self._file.closed:
            try:
                self._zip.close()
            except OSError as error:
                self._fails(error)
            self._file.close()

    def _flush_names(self) -> None:
        if self._new:
            names, self._new = self._new, []
            self._text(NAMES, names)

    def _text(self, tag: bytes, values: Any) -> None:
        self._append(tag, json.dumps(values, sort_keys=True, separators=(",", ":")).encode())

    def _append(self, tag: bytes, data: bytes) -> None:
        """All of it, or nothing and no more from now on."""
        if self._file.closed:
            return
        try:
            self._zip.writestr(ZipInfo(member(self._members, tag)), data, ZIP_DEFLATED, LEVEL)
            self._members, self._size = self._members + 1, self._file.tell()
        except OSError as error:
            self._fails(error)

    def _fails(self, error: OSError) -> None:
        self.failed = f"the trace {str(self.path)!r} ends after {self._size} bytes: {error.strerror}"
        with suppress(OSError):  # a device such as /dev/full has no length
            self._file.truncate(self._size)
        self._zip.fp = None  # there is no room for the zip's directory
        self._file.close()


class WholeFile(io.FileIO):
    """A file whose `write` writes all, or raises OSError."""

    def write(self, data: Any) -> int:
        view = memoryview(data)
        while view:
            view = view[super().write(view) :]
        return len(data)


def _opened(path: Path) -> WholeFile:
    """Open a file, locked against other runs, and empty it. It is read while the run goes on, so it
    is written in place. UserError if another run writes it."""
    file = WholeFile(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666), "w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise UserError(f"another run is writing the trace {str(path)!r}; name another file") from None
    except OSError:
        pass  # this file system has no locks
    with suppress(OSError):  # a pipe or a device has no length
        file.truncate()
    return file


# The rtl engine of a traced run: it passes the events of its NICs to the writer.

TABLES = tuple(ROWS)  # as engine_trace_rows numbers them
ENOUGH = 1 << 20  # bytes to collect before they are written: what a killed run loses
BARE = {tag: np.dtype(list(ROWS[tag].columns)) for tag in TABLES}  # without the node


class TracingEngine(RtlEngine):
    """Same slots, same results as the plain one. `close` writes what is left."""

    def __init__(self, layout: Layout, writer: Writer, *, skip: bool = True, threads: int = 1) -> None:
        super().__init__(layout, skip=skip, threads=threads, probes=True)
        self.writer = writer
        self._ends: list[int] = []

    def know(self, nic: int, image: Image | None, vocabulary: Vocabulary, plan: Mapping[str, Any]) -> None:
        """Set the image that the NIC's processor will run, if any, and the places of its tables."""
        tables = vocabulary.tables(plan)
        ranges = [
            (table.begin, table.end, table.stride, table.first, table.last, int(table.kind), number)
            for table, number in zip(tables, first_numbers(tables), strict=True)
        ]
        lines = line_numbers(image)
        packed = b"".join(TOUCH_RANGE.struct.pack(*entry) for entry in ranges)
        self._native.engine_trace_begin(self._engine, nic, packed, len(ranges), lines.tobytes(), len(lines))

    def run(self, limit: int) -> tuple[bool, Sequence[Event]]:
        answer = super().run(limit)
        if not self._ends and self._native.engine_trace_bytes(self._engine) > ENOUGH:
            self.drain()
        return answer

    def drain(self) -> None:
        """Write what has been collected."""
        rows = POINTER()
        for nic in range(self.layout.nics):
            for number, tag in enumerate(TABLES):
                count = self._native.engine_trace_rows(self._engine, nic, number, ctypes.byref(rows))
                if count:
                    raw = ctypes.string_at(rows.value or 0, count * BARE[tag].itemsize)
                    self.writer.rows(tag, with_node(tag, nic, np.frombuffer(raw, BARE[tag])))
            self._native.engine_trace_clear(self._engine, nic)

    def finish(self) -> list[int]:
        """All that is left; the slot at which each NIC stopped."""
        if not self._ends:
            self._ends = [self.slot(nic) for nic in range(self.layout.nics)]
            for nic in range(self.layout.nics):
                self._native.engine_trace_finish(self._engine, nic)
            self.drain()
        return self._ends


def first_numbers(tables: Sequence[Table]) -> list[int]:
    """The number of each table's first entry. Tables of one kind are numbered through."""
    counted: Counter[Touch] = Counter()
    numbers = []
    for table in tables:
        numbers.append(counted[table.kind])
        counted[table.kind] += table.count
    return numbers


def with_node(tag: bytes, nic: int, bare: Any) -> Any:
    """Native rows with their first column."""
    table = np.zeros(len(bare), STORED[tag])
    table["node"] = nic
    for name in bare.dtype.names:
        table[name] = bare[name]
    return table


def line_numbers(image: Image | None) -> Any:
    """For each instruction word a number that changes with the source line."""
    if image is None:
        return np.zeros(0, np.uint16)
    end = max((symbol.address + symbol.size for symbol in image.code), default=0)
    known: dict[Any, int] = {}
    return np.array([known.setdefault(image.where(pc), len(known)) for pc in range(0, end, 4)], np.uint16)
