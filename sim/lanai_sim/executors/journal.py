"""Results that are kept: one JSON line a point, appended as points end, so that a command that was
stopped goes on where it was.

Rows are found by content: the point, the study's revision, and all code that could change a figure
(see `sources`). Rows of other versions stay and are passed over.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from lanai_host.errors import UserError

from .. import sources
from .place import Place
from .workers import each

Point = dict[str, Any]  # what JSON can hold


@dataclass(frozen=True)
class Row:
    """A point and what it gave: figures by name, or other values that JSON can hold."""

    point: Mapping[str, Any]
    figures: Mapping[str, Any]


class Journal:
    """The rows of one study, by its name and revision, in one file. A last line that a crash cut
    short is dropped."""

    def __init__(self, path: Path, name: str, revision: int = 1) -> None:
        self.path = path
        self.name = name
        self._version = [name, revision, sources.digest()]
        self._rows = self._read()

    def _key(self, point: Mapping[str, Any]) -> str:
        text = json.dumps([*self._version, point], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _read(self) -> dict[str, Row]:
        if not self.path.exists():
            return {}
        try:
            lines = self.path.read_text().splitlines()
        except OSError as error:
            raise UserError(f"cannot read the journal {str(self.path)!r}: {error.strerror}; name a file") from error
        except UnicodeDecodeError as error:
            raise UserError(f"{str(self.path)!r} is not a journal, since it is not text; name another file") from error
        rows = {}
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
                rows[str(record["key"])] = Row(record["point"], record["figures"])
            except (json.JSONDecodeError, RecursionError, KeyError, TypeError) as error:
                if number == len(lines):
                    break
                raise UserError(
                    f"{self.path.name}, line {number}: {line[:40]!r} is not a row of a journal; name another file"
                ) from error
        return rows

    def find(self, point: Point) -> Row | None:
        return self._rows.get(self._key(point))

    def missing(self, points: Sequence[Point]) -> list[Point]:
        return [point for point in points if self.find(point) is None]

    @contextmanager
    def kept_alone(self) -> Iterator[None]:
        """Keep other commands off the journal, which is read again first. UserError if another one measures for it."""
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            _lock(handle, self.path)
            self._rows = self._read()
            yield
        finally:
            os.close(handle)

    def add(self, point: Point, figures: Mapping[str, Any]) -> None:
        """Append a row; it is on the disk when this returns. A line that a crash cut short goes."""
        key = self._key(point)
        self._rows[key] = Row(point, figures)
        record = {"sweep": self.name, "key": key, "point": point, "figures": figures}
        try:
            with open(self.path, "a+b") as file:
                _drop_cut_line(file)
                file.write(json.dumps(record, sort_keys=True).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> UserError:
        return UserError(f"cannot write the journal {str(self.path)!r}: {error.strerror}; name one with --journal")


def _drop_cut_line(file: BinaryIO) -> None:
    size = file.seek(0, os.SEEK_END)
    if size and os.pread(file.fileno(), 1, size - 1) != b"\n":
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)


def _lock(handle: int, path: Path) -> None:
    """Lock a journal, until the handle is closed here and in all workers that have it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UserError(
            f"another command measures for the journal {str(path)!r}; wait for it, or name another one with --journal"
        ) from None
    except OSError:
        pass  # this file system has no locks


def each_kept(
    journal: Journal | None,
    points: Sequence[Point],
    function: Callable[[Point], Mapping[str, Any]],
    place: Place,
    tell: Callable[[Point], None] = lambda point: None,
) -> list[Row]:
    """Return the rows of all points, in their order. What the journal does not hold yet is measured, and kept
    as it ends. `tell` is called with each of these."""
    with nullcontext() if journal is None or not journal.missing(points) else journal.kept_alone():
        kept = [None if journal is None else journal.find(point) for point in points]
        found = {number: row for number, row in enumerate(kept) if row is not None}
        missing = [(number, point) for number, point in enumerate(points) if number not in found]
        for (number, point), figures in each(_Numbered(function), missing, place, lambda one: words(one[1])):
            if journal is not None:
                journal.add(point, figures)
            found[number] = Row(point, figures)
            tell(point)
    return [found[number] for number in range(len(points))]


def words(point: Point) -> str:
    """Return a point as a line tells it."""
    return ", ".join(f"{name}={value}" for name, value in point.items())


@dataclass(frozen=True)
class _Numbered:
    """Calls a function for a point that has a number."""

    function: Callable[[Point], Mapping[str, Any]]

    def __call__(self, item: tuple[int, Point]) -> Mapping[str, Any]:
        return self.function(item[1])
