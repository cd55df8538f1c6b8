"""A run's program, settings and figures, read from a result as JSON or from a trace."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lanai_host.errors import UserError

from ..figures import DIGEST
from ..tables import flat
from ..trace import Trace
from ..trace.schema import MAGIC
from . import rows
from .activity import Activity
from .messages import MessageBook
from .ranks import rank_sums

SIMULATED = "run.simulated_us"


@dataclass(frozen=True)
class Outcome:
    """One result.

    Attributes:
        path: its file.
        traced: it is a trace.
        program: what the ranks executed; empty where a result does not say it.
        settings: all others that decided the result, by dotted names, and the commit.
        figures: by name.
        parts: names of those figures that a rank's time is the sum of.
    """

    path: str
    traced: bool
    program: tuple[str, ...]
    settings: Mapping[str, Any]
    figures: Mapping[str, float]
    parts: frozenset[str] = field(default_factory=frozenset)


def read(path: str, lines: bool = False) -> Outcome:
    """Read a result or a trace. `lines`: firmware by line instead of by function. Raises UserError for other files."""
    try:
        with Path(path).open("rb") as file:
            traced = file.read(len(MAGIC)) == MAGIC
    except OSError as error:
        raise UserError(f"cannot read {path!r}: {error.strerror}") from error
    return of_trace(path, lines) if traced else of_json(path)


def of_json(path: str) -> Outcome:
    """Read what a command wrote with --json."""
    try:
        return of_record(path, json.loads(Path(path).read_text()))
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path!r} is neither a trace nor a result with figures and config; write one by `lanai run --json {path}`"
        ) from error


def of_record(path: str, record: Mapping[str, Any]) -> Outcome:
    """Return what a command wrote with --json, or what a store has. `path` names it."""
    config, figures = dict(record["config"]), dict(record["figures"])
    numbers = {name: value for name, value in figures.items() if isinstance(value, int | float) and name != DIGEST}
    if bad := [name for name, value in numbers.items() if not math.isfinite(value)]:
        raise UserError(f"{path}: its figure {bad[0]!r} is {numbers[bad[0]]}, which cannot be compared; measure again")
    parts = frozenset({"run.waiting_us", "run.host_work_us", "run.pio_us"} & numbers.keys())
    others = {name: record[name] for name in ("code", "commit") if name in record}
    return Outcome(path, False, _program(config), _settings(config) | others, numbers, parts)


def of_trace(path: str, lines: bool) -> Outcome:
    """Read a trace, and sum up its calls, messages, firmware and counts."""
    trace = Trace.open(path)
    activity = Activity(trace, lines)
    ranks, messages = rank_sums(activity), list(MessageBook(activity).all())
    tables = rows.tables(ranks, messages)
    figures: dict[str, float] = {SIMULATED: (max(trace.ends, default=trace.started) - trace.started) / 1e6}
    parts: dict[str, float] = {}
    for one in tables["ranks"]:
        for name, time in one.items():
            if name.endswith("_us") and name != "total_us":
                _add(parts, f"{name.removesuffix('_us').replace('_', ' ')}, us", time)
    for one in tables["calls"]:
        figures |= {f"{one['call']}, us": one["total_us"], f"{one['call']}, calls": one["count"]}
    for one in tables["messages"]:
        kind = f"messages of {one['bytes']} B, {one['protocol']}"
        figures |= {f"{kind}, us": one["mean_us"] * one["count"], f"{kind}, count": one["count"]}
    for one in tables["firmware"]:
        for how in ("worked", "stalled"):
            figures[f"firmware {one['firmware']} {how}, us"] = one[f"{how}_us"] * len(messages)
    figures |= {"packets": len(trace.packets), "messages": len(trace.messages)}
    settings = _settings(dict(trace.meta.get("config", {}))) | {"commit": trace.meta.get("commit")}
    program = tuple(trace.meta.get("command", ()))
    return Outcome(path, True, program, settings, figures | parts, frozenset(parts))


def _add(sums: dict[str, float], name: str, value: float) -> None:
    sums[name] = sums.get(name, 0) + value


def _program(config: Mapping[str, Any]) -> tuple[str, ...]:
    program = config.get("program") or ()
    return tuple(map(str, program)) if isinstance(program, list | tuple) else (str(program),)


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    return dict(flat({name: value for name, value in config.items() if name != "program"}))
