"""Stored runs as rows of a table."""

from collections.abc import Sequence
from typing import Any

from ..row_files import filled
from .stored_run import StoredRun

SHOWN = ("ranks", "device")  # settings that each row has in any case


def rows(runs: Sequence[StoredRun]) -> list[dict[str, Any]]:
    """Return a row for each run: what identifies it, the settings that are not the same in all of them, figures."""
    names = dict.fromkeys(name for run in runs for name in run.settings)
    varied = [name for name in names if name not in SHOWN and len({str(run.settings.get(name)) for run in runs}) > 1]
    return filled([run.row() | {name: _plain(run.settings.get(name)) for name in varied} for run in runs])


def _plain(value: Any) -> Any:
    """Return a value as a cell has it; a list is a text."""
    return str(value) if isinstance(value, list) else value
