"""The rows of a sweep as a table that other tools read: one row a run, one column a parameter or a figure."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lanai_firmware import output_file
from lanai_host.errors import UserError

from ...executors.journal import Row

CSV, PARQUET = "csv", "parquet"
FORMATS = (CSV, PARQUET)


def tidy(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the rows with all columns each, None where a run has no such figure."""
    flat = [
        {
            **row.point["vary"],
            **{name: row.figures[name] for name in ("ok", "ending", "code")},
            **dict(sorted(row.figures["figures"].items())),
        }
        for row in rows
    ]
    columns = dict.fromkeys(name for row in flat for name in row)
    return [{name: row.get(name) for name in columns} for row in flat]


def as_csv(rows: Sequence[Row]) -> str:
    """Return the rows as CSV with a head."""
    found = tidy(rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(found[0]) if found else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(found)
    return text.getvalue()


def format_of(path: str | None, asked: str | None) -> str:
    """Return the format that is asked for, or that the file's name has. Raises UserError."""
    found = asked or (PARQUET if path is not None and Path(path).suffix == f".{PARQUET}" else CSV)
    if found == PARQUET:
        if path is None:
            raise UserError("--format parquet needs a file: name it with --rows FILE")
        try:
            import pyarrow  # noqa: F401  # whether it is there
        except ImportError as error:
            raise UserError(f"--format parquet needs pyarrow ({error}); pip install 'openlanai[parquet]'") from error
    return found


def write(rows: Sequence[Row], path: str, form: str) -> None:
    """Write the rows to a file."""
    if form == CSV:
        output_file.write(path, as_csv(rows), "the rows")
        return
    import pyarrow
    from pyarrow import parquet

    found = tidy(rows)
    table = pyarrow.table({name: [row[name] for row in found] for name in (found[0] if found else ())})
    with output_file.replaced(Path(path), "the rows") as place:
        parquet.write_table(table, place)
