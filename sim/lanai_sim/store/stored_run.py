"""A run as the store has it: what ran, on what, by which code, and what it gave; and runs as rows of a table."""

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from lanai_hdl.errors import UserError, did_you_mean

from ..tables import filled, flat


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
        system: a name of `lanai list systems`; empty: the machine is none of these.
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


# Chooses stored runs by plain conditions.

AGE = re.compile(r"(\d{1,6})\s*([dh])")
CONDITION = re.compile(r"(.+?)(!=|>=|<=|=|>|<)(.*)", re.S)
COMPARED: dict[str, Callable[[Any, Any], bool]] = {"=": eq, "!=": ne, ">=": ge, "<=": le, ">": gt, "<": lt}


@dataclass(frozen=True)
class Condition:
    """`NAME=VALUE`, or another comparison, of a figure or a setting."""

    name: str
    sign: str
    value: str

    @classmethod
    def of(cls, text: str) -> "Condition":
        """Read a condition. Raises UserError."""
        found = CONDITION.fullmatch(text)
        if not found or not found[3]:
            raise UserError(f"--where {text!r} is not understood; write, for example: --where nic.link_kbytes=20000")
        return cls(found[1].strip(), found[2], found[3].strip())

    def holds(self, run: StoredRun) -> bool:
        """Return true if it is so. A run without the value fulfils no condition."""
        value = facts(run).get(self.name)
        if value is None:
            return False
        pair = _number(value), _number(self.value)
        if None not in pair:
            return COMPARED[self.sign](*pair)
        return COMPARED[self.sign](_text(value), self.value)


def facts(run: StoredRun) -> dict[str, Any]:
    """Return what conditions may name."""
    own = {name: value for name, value in run.row().items() if name not in run.figures}
    return {**run.settings, **run.figures, **own}


def chosen(runs: Sequence[StoredRun], conditions: Sequence[Condition]) -> list[StoredRun]:
    """Return the runs that fulfil all conditions. Raises UserError for a name that no run has."""
    known = dict.fromkeys(name for run in runs for name in facts(run)) if conditions else {}
    for one in conditions:
        if runs and one.name not in known:
            raise UserError(
                f"--where {one.name}{one.sign}{one.value}: no run has a figure or setting {one.name!r}; "
                f"{did_you_mean(one.name, known)}`lanai results show ID` tells the names"
            )
    return [run for run in runs if all(one.holds(run) for one in conditions)]


def since(text: str, now: datetime) -> datetime:
    """Return the moment of '2026-11-27', '2026-11-27T10:30' (UTC), '3d' or '12h' before now. Raises UserError."""
    try:
        if age := AGE.fullmatch(text):
            return now - timedelta(**{"days" if age[2] == "d" else "hours": int(age[1])})
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise UserError(f"--since {text!r} is not a date; write 2026-11-27, 2026-11-27T10:30, 3d or 12h") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
