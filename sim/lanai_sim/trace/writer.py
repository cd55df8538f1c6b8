"""Appends chunks to a trace file. A full disk ends the trace, not the run."""

import fcntl
import json
import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from lanai_hdl.errors import UserError

from .schema import BOOT, CHECKED, CHUNK, END, HEAD, MAGIC, META, NAMES, STORED, VERSION

LEVEL = 1  # of compression: a run should not wait for it
ROWS_AT_ONCE = 1 << 16


def pack(rows: Any) -> bytes:
    """A table's rows, column by column."""
    parts = []
    for name in rows.dtype.names:
        column = np.ascontiguousarray(rows[name])
        if column.dtype.itemsize == 8 and column.ndim == 1:
            column = np.diff(column, prepend=column.dtype.type(0))
        parts.append(column.tobytes())
    return b"".join(parts)


def unpack(data: bytes, dtype: Any, rows: int) -> Any:
    """The inverse of `pack`. Raises ValueError if the bytes are not that many rows."""
    if len(data) != rows * dtype.itemsize:
        raise ValueError(f"{len(data)} bytes are not {rows} rows of {dtype.itemsize}")
    table = np.zeros(rows, dtype)
    at = 0
    for name in dtype.names:
        kind = dtype[name]
        size = rows * kind.itemsize
        column = np.frombuffer(data, kind.base, size // kind.base.itemsize, at).reshape((rows, *kind.shape))
        table[name] = np.cumsum(column) if column.dtype.itemsize == 8 and column.ndim == 1 else column
        at += size
    return table


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
            self._file: IO[bytes] | None = _opened(self.path)
        except OSError as error:
            raise UserError(f"cannot write the trace {str(path)!r}: {error.strerror}; name a writable file") from error
        self._append(HEAD.pack(MAGIC, VERSION, 0))

    def name(self, text: str) -> int:
        """The number that stands for a text."""
        number = self._names.get(text)
        if number is None:
            number = self._names[text] = len(self._names)
            self._new.append(text)
        return number

    def meta(self, values: Mapping[str, Any]) -> None:
        """Write how the run began: the first chunk."""
        self._text(META, values)

    def boot(self, values: Mapping[str, Any]) -> None:
        """The NICs are up and the ranks begin."""
        self._text(BOOT, values)

    def rows(self, tag: bytes, rows: Any) -> None:
        """Append rows of one table: an array of its type."""
        self._flush_names()
        for first in range(0, len(rows), ROWS_AT_ONCE):
            part = rows[first : first + ROWS_AT_ONCE]
            self._chunk(tag, len(part), pack(part))

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
        if self._file is not None:
            self._file.close()
            self._file = None

    def _flush_names(self) -> None:
        if self._new:
            names, self._new = self._new, []
            self._text(NAMES, names)

    def _text(self, tag: bytes, values: Any) -> None:
        self._chunk(tag, 0, json.dumps(values, sort_keys=True, separators=(",", ":")).encode())

    def _chunk(self, tag: bytes, rows: int, data: bytes) -> None:
        stored = zlib.compress(data, LEVEL)
        crc = zlib.crc32(stored, zlib.crc32(CHECKED.pack(tag, rows, len(stored))))
        self._append(CHUNK.pack(tag, rows, len(stored), crc) + stored)

    def _append(self, data: bytes) -> None:
        """All of it, or nothing and no more from now on."""
        if self._file is None:
            return
        view = memoryview(data)
        try:
            while view:
                view = view[self._file.write(view) :]
            self._size += len(data)
        except OSError as error:
            self.failed = f"the trace {str(self.path)!r} ends after {self._size} bytes: {error.strerror}"
            with suppress(OSError):  # a device such as /dev/full has no length
                self._file.truncate(self._size)
            self.close()


def _opened(path: Path) -> IO[bytes]:
    """Open a file, locked against other runs, and empty it. It is read while the run goes on, so it
    is written in place. UserError if another run writes it."""
    file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666), "wb", buffering=0)
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
