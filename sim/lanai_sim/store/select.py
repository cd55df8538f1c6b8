"""Chooses stored runs by plain conditions."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from lanai_hdl.errors import UserError, did_you_mean

from .stored_run import StoredRun

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
