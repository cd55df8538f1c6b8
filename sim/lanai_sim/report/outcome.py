"""A run's program, settings and figures, read from a result as JSON or from a trace."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lanai_host.errors import UserError

from ..figures import DIGEST
from ..tables import flat
from ..trace import Trace
from ..trace.schema import BEGIN
from ..units import counted
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
            traced = file.read(len(BEGIN)) == BEGIN
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


# Changes from one result to another of the same program, largest first, and a verdict in a sentence.

TIME = re.compile(r"_us(\.|$)|, us$")


@dataclass(frozen=True)
class Change:
    """A figure that is not the same in both; one that a result does not have is 0."""

    name: str
    before: float
    after: float

    @property
    def difference(self) -> float:
        return self.after - self.before

    @property
    def percent(self) -> float:
        """The difference as a share of the value before; infinite if that was 0."""
        return 100 * self.difference / abs(self.before) if self.before else float("inf") * (self.after or 1)

    @property
    def is_time(self) -> bool:
        return TIME.search(self.name) is not None


def check(before: Outcome, after: Outcome) -> None:
    """Raise UserError for results that say nothing about each other."""
    if before.traced != after.traced:
        kinds = {True: "a trace", False: "a result as JSON"}
        raise UserError(
            f"{before.path} is {kinds[before.traced]}, {after.path} {kinds[after.traced]}; name two of one kind"
        )
    if before.program != after.program:
        raise UserError(
            f"{before.path} is of {_words(before)}, {after.path} of {_words(after)}: results of other programs cannot "
            "be compared"
        )
    if not before.figures.keys() & after.figures.keys():
        raise UserError(f"{before.path} and {after.path} have no figure in common; name two results of one command")


def _words(outcome: Outcome) -> str:
    return repr(" ".join(outcome.program)) if outcome.program else "no program"


def changes(before: Outcome, after: Outcome) -> list[Change]:
    """Return what differs: times by their difference, then other figures by their share, the largest first."""
    names = dict.fromkeys([*before.figures, *after.figures])
    found = [Change(name, before.figures.get(name, 0), after.figures.get(name, 0)) for name in names]
    differing = [one for one in found if one.difference]
    times = sorted((one for one in differing if one.is_time), key=lambda one: -abs(one.difference))
    others = sorted((one for one in differing if not one.is_time), key=lambda one: -abs(one.percent))
    return [*times, *others]


def settings(before: Outcome, after: Outcome) -> list[str]:
    """Return the settings that differ, as 'host.call: 300000 -> 900000'."""
    names = dict.fromkeys([*before.settings, *after.settings])
    pairs = ((name, before.settings.get(name), after.settings.get(name)) for name in names)
    return [f"{name}: {old} -> {new}" for name, old, new in pairs if old != new]


def leading(found: Sequence[Change], before: Outcome, after: Outcome) -> Change | None:
    """Return the change that the verdict is about: that of the simulated time, or of a figure that changed by the
    largest share if the results have no such time. None: it did not change."""
    if SIMULATED in before.figures and SIMULATED in after.figures:
        return next((one for one in found if one.name == SIMULATED), None)
    return max(found, key=lambda one: abs(one.percent), default=None)


def verdict(found: Sequence[Change], before: Outcome, after: Outcome) -> str:
    """Return one sentence: how much changed, and where most of it is."""
    if not found:
        count = len(before.figures)
        return f"nothing changed: {'the only figure is' if count == 1 else f'all {count:,} figures are'} equal"
    main = leading(found, before, after)
    if main is None:
        return (
            f"the simulated time is equal; {counted(len(found), 'other figure')} changed, most of all {found[0].name}"
        )
    if main.name != SIMULATED:
        values = f"{main.before:,g} -> {main.after:,g} ({share(main)})"
        return f"{counted(len(found), 'figure')} changed, most of all {main.name}: {values}"
    word = "more" if main.difference > 0 else "less"
    text = (
        f"{after.path} took {abs(main.percent):.1f} % {word} simulated time than {before.path}: {main.after:,.3f} us "
        f"instead of {main.before:,.3f} us"
    )
    parts = [one for one in found if one.name in before.parts | after.parts and one.difference * main.difference > 0]
    if parts:
        largest = parts[0]
        name = largest.name.removeprefix("run.").removesuffix("_us").removesuffix(", us").replace("_", " ")
        text += f"; the largest part of it is {name}, {largest.difference:+,.3f} us of all ranks"
    return text


def share(change: Change) -> str:
    """The change in percent, as text."""
    return "new" if not change.before else f"{change.percent:+.1f} %"


def exceeds(main: Change | None, limit: float) -> bool:
    """Return true if simulated time grew by more than `limit` percent, or another figure moved by more."""
    if main is None:
        return False
    return (main.percent if main.name == SIMULATED else abs(main.percent)) > limit
