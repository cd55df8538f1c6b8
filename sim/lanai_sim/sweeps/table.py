"""The table of a sweep: a JSON line a point, appended as points end, so that a sweep which was stopped goes on where it was.

Rows are found by content: the point, and everything whose change could change its figures. Rows of other versions stay and are passed over.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lanai_host.errors import UserError

from .point import Figures, Point, Row, Sweep

MEASURED_BY = ("lanai_hdl", "lanai_firmware", "lanai_host", "lanai_sim.benches.p2p")


@cache
def content() -> str:
    """What the figures depend on, beside the point and the sweep's revision: the sources of gateware, firmware, driver and sides."""
    digest = hashlib.sha256()
    for name in MEASURED_BY:
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        root = Path(spec.origin).parent
        for path in sorted(root.rglob("*.py")):
            digest.update(f"{name}/{path.relative_to(root)}".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def key_of(sweep: Sweep, point: Mapping[str, Any]) -> str:
    text = json.dumps([sweep.name, sweep.revision, point, content()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Table:
    """The rows of one sweep in one file. A last line that a crash cut short is dropped."""

    def __init__(self, path: Path, sweep: Sweep) -> None:
        self.path = path
        self.sweep = sweep
        self._rows = self._read()

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
                    f"{self.path.name}, line {number}: {line[:40]!r} is no row of a sweep; name another table"
                ) from error
        return rows

    def find(self, point: Point) -> Row | None:
        return self._rows.get(key_of(self.sweep, point))

    def missing(self, points: Sequence[Point]) -> list[Point]:
        return [point for point in points if self.find(point) is None]

    def add(self, point: Point, figures: Figures) -> None:
        """Append a row; it is in the file when this returns. A line that a crash cut short goes."""
        key = key_of(self.sweep, point)
        self._rows[key] = Row(point, figures)
        record = {"sweep": self.sweep.name, "key": key, "point": point, "figures": figures}
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
