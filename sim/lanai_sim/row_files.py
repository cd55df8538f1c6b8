"""Rows as a file that other tools read: CSV, JSON or Parquet, one column a name."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from lanai_firmware import output_file
from lanai_hdl.errors import UserError

CSV, JSON, PARQUET = "csv", "json", "parquet"
FORMATS = (CSV, JSON, PARQUET)
Rows = Sequence[Mapping[str, Any]]


def filled(rows: Rows) -> list[dict[str, Any]]:
    """Return the rows with all columns each, None where a row has no such value."""
    columns = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in columns} for row in rows]


def format_of(path: str | None, asked: str | None) -> str:
    """Return the format that is asked for, or that the file's name has; CSV without a file. Raises UserError."""
    found = asked or (CSV if path is None else _named(path))
    if found == PARQUET:
        if path is None:
            raise UserError("--format parquet needs a file: name it with --rows FILE")
        try:
            import_module("pyarrow")
        except ImportError as error:
            raise UserError(f"--format parquet needs pyarrow ({error}); pip install 'openlanai[parquet]'") from error
    return found


def _named(path: str) -> str:
    """Return the format by the ending of a file's name. A name without one is CSV, as are devices and pipes."""
    suffix = Path(path).suffix.removeprefix(".")
    if suffix.lower() in FORMATS or not suffix:
        return suffix.lower() or CSV
    endings = ", ".join(f".{form}" for form in FORMATS)
    raise UserError(
        f"--rows {path!r} ends with '.{suffix}', which is not known; end it with {endings}, or add --format"
    )


def as_text(rows: Rows, form: str = CSV) -> str:
    """Return the rows as CSV with a head, or as JSON."""
    found = filled(rows)
    if form == JSON:
        return json.dumps(found, indent=2) + "\n"
    text = io.StringIO()
    writer = csv.DictWriter(text, list(found[0]) if found else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(found)
    return text.getvalue()


def write(rows: Rows, path: str, form: str) -> None:
    """Write the rows to a file."""
    if form != PARQUET:
        output_file.write(path, as_text(rows, form), "the rows")
        return
    pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    found = filled(rows)
    table = pyarrow.table({name: [row[name] for row in found] for name in (found[0] if found else ())})
    with output_file.replaced(Path(path), "the rows") as place:
        parquet.write_table(table, place)
