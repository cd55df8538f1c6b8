"""A run as the store has it: what ran, on what, by which code, and what it gave; and runs as rows of a table."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..row_files import filled
from ..tables import flat


def readable(text: str) -> str:
    """Return a text of the system with \\udcNN for bytes that are not UTF-8, which no file may hold."""
    return text.encode(errors="backslashreplace").decode()


@dataclass(frozen=True)
class StoredRun:
    """A run that is stored.

    Attributes:
        id: its number in the store; 0: it is not stored yet.
        date: when it ended, in UTC.
        command: the words of the process that ran it.
        folder: where it ran.
        program: what the ranks executed.
        files: a digest of the files that the program's words name.
        system: a name of `lanai systems`; empty: the machine is none of these.
        ending: why the run ended.
        code: the exit code, as `lanai run` has it.
        version: of openlanai.
        commit: of the checkout, with "-dirty" if files differ from it; empty: it was installed.
        sources: a digest of all sources of openlanai.
        versions: of the packages that may decide a result.
        config: all that decided the result, which `Job.from_json` reads.
        result: the result, which `Result.from_json` reads.
        figures: named numbers; those that simulation gave, so that no computer's speed is among them.
        note: what the user says of it.
    """

    date: str
    command: tuple[str, ...]
    folder: str
    program: tuple[str, ...]
    files: str
    ranks: int
    device: str
    system: str
    ending: str
    code: int
    version: str
    commit: str
    sources: str
    versions: Mapping[str, str]
    config: str
    result: str
    figures: Mapping[str, float] = field(default_factory=dict)
    id: int = 0
    note: str = ""

    @property
    def ok(self) -> bool:
        return self.code == 0

    @property
    def words(self) -> str:
        """The program as a shell takes it; see `readable`."""
        return readable(shlex.join(self.program))

    @cached_property
    def settings(self) -> dict[str, Any]:
        """All settings but the program, by dotted names."""
        config = json.loads(self.config)
        return dict(flat({name: value for name, value in config.items() if name != "program"}))

    def record(self) -> dict[str, Any]:
        """Return the run as `lanai run --json` writes it, with what else the store knows."""
        return {
            "figures": dict(sorted(self.figures.items())), "code": self.code, "ending": self.ending,
            "config": json.loads(self.config), "version": self.version, "versions": dict(self.versions),
            "commit": self.commit or None, "sources": self.sources, "date": self.date, "command": list(self.command),
            "folder": self.folder, "system": self.system or None, "files": self.files,
            "note": self.note,
        }  # fmt: skip

    def row(self) -> dict[str, Any]:
        """Return what identifies the run, and its figures, as a row."""
        return {
            "id": self.id, "date": self.date, "program": self.words, "device": self.device, "system": self.system,
            "ranks": self.ranks, "ok": self.ok, "ending": self.ending, "code": self.code, "commit": self.commit,
            **({"note": self.note} if self.note else {}), **dict(sorted(self.figures.items())),
        }  # fmt: skip


SHOWN = ("ranks", "device")  # settings that each row has in any case


def rows(runs: Sequence[StoredRun]) -> list[dict[str, Any]]:
    """Return a row for each run: what identifies it, the settings that are not the same in all of them, figures."""
    names = dict.fromkeys(name for run in runs for name in run.settings)
    varied = [name for name in names if name not in SHOWN and len({str(run.settings.get(name)) for run in runs}) > 1]
    return filled([run.row() | {name: _plain(run.settings.get(name)) for name in varied} for run in runs])


def _plain(value: Any) -> Any:
    """Return a value as a cell has it; a list is a text."""
    return str(value) if isinstance(value, list) else value
