"""The table of a sweep: one JSON line a point, appended as points end, so that a sweep that was
stopped goes on where it was.

Rows are found by content: the point, the study's revision, and all code that could change a figure
(see `sources`). Rows of other versions stay and are passed over.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lanai_host.errors import UserError

from ... import sources
from .point import Figures, Point, Row


class Table:
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
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"cannot read the table {str(self.path)!r}: {error}") from error
        rows = {}
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
                rows[str(record["key"])] = Row(record["point"], record["figures"])
            except (json.JSONDecodeError, KeyError, TypeError) as error:
                if number == len(lines):
                    break
                raise UserError(
                    f"{self.path.name}, line {number}: {line[:40]!r} is not a row of a sweep; name another table"
                ) from error
        return rows

    def find(self, point: Point) -> Row | None:
        return self._rows.get(self._key(point))

    def missing(self, points: Sequence[Point]) -> list[Point]:
        return [point for point in points if self.find(point) is None]

    def add(self, point: Point, figures: Figures) -> None:
        """Append a row; it is in the file when this returns. A line that a crash cut short goes."""
        key = self._key(point)
        self._rows[key] = Row(point, figures)
        record = {"sweep": self.name, "key": key, "point": point, "figures": figures}
        try:
            if self.path.exists():
                whole = self.path.read_bytes()
                if not whole.endswith(b"\n"):
                    os.truncate(self.path, whole.rfind(b"\n") + 1)
            with open(self.path, "a") as file:
                file.write(json.dumps(record, sort_keys=True) + "\n")
        except OSError as error:
            raise UserError(
                f"cannot write the table {str(self.path)!r}: {error.strerror}; name one with --table"
            ) from error
