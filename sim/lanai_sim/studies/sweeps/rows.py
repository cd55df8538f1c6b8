"""The rows of a sweep as a table: one row a run, one column a parameter or a figure."""

from collections.abc import Sequence
from typing import Any

from ...executors.journal import Row
from ...row_files import filled


def tidy(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the rows with all columns each, None where a run has no such figure."""
    return filled([
        {
            **row.point["vary"],
            **{name: row.figures[name] for name in ("ok", "ending", "code")},
            **dict(sorted(row.figures["figures"].items())),
        }
        for row in rows
    ])  # fmt: skip
