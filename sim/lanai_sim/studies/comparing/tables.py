"""The tables of a comparison, a column for each system, and what stands below them."""

import re
from collections.abc import Iterator, Mapping, Sequence

from rich.table import Table

from ...report.tables import table
from ...units import counted
from .measured import FIGURES, Measured

DASH = "-"
KIT = "The kit, on each system"
Found = Mapping[str, Measured]  # by system


def counters(found: Found) -> Table:
    """Return where the time went and what moved, by the same names on all systems."""
    made = table("What the runs took", ["", *found])
    for one in FIGURES:
        made.add_row(one.title, *(number(result.figures.get(one.name), one.places) for result in found.values()))
    made.add_row("bytes are moved by", *(result.mover or DASH for result in found.values()))
    for protocol in dict.fromkeys(name for result in found.values() for name in result.protocols):
        made.add_row(f"messages: {protocol}", *(number(result.protocols.get(protocol)) for result in found.values()))
    return made


def own(found: Mapping[str, Mapping[str, float]], title: str) -> Table:
    """The figures that a program printed itself."""
    made = table(title, ["", *found])
    for name in dict.fromkeys(name for values in found.values() for name in values):
        values = [values.get(name) for values in found.values()]
        places = 0 if max((abs(value) for value in values if value is not None), default=0) >= 10_000 else 1
        made.add_row(name, *(number(value, places) for value in values))
    return made


def number(value: float | None, places: int = 0) -> str:
    return DASH if value is None else f"{value:,.{places}f}"


def refusals(found: Found) -> Iterator[str]:
    """Say why systems have no figures."""
    for system, result in found.items():
        if result.why:
            yield f"{system}: {result.why}"


def notes(found: Found) -> Iterator[str]:
    """Say why there are dashes."""
    yield from refusals(found)
    reasons: dict[str, dict[str, list[str]]] = {}
    for system, result in found.items():
        for name, why in result.reasons.items():
            reasons.setdefault(why, {}).setdefault(system, []).append(name)
    for why, systems in reasons.items():
        yield f"{DASH} ({', '.join(systems)}): {why}"


def sameness(found: Found, answers: re.Pattern[str] | None = None) -> str:
    """Say whether the ranks printed the same on all systems, else what differs first. `answers`: only lines in which
    it is found count."""
    ran = {system: result.outputs for system, result in found.items() if not result.why}
    if len(ran) < 2:
        return "outputs are not compared: fewer than two systems ran the program"
    kept = {system: [matching(text, answers) for text in outputs] for system, outputs in ran.items()}
    if answers and not any(map(any, kept.values())):
        return f"outputs are not compared: no line has {answers.pattern!r}"
    first, *others = kept
    for other in others:
        if difference := first_difference(kept[first], kept[other]):
            rank, line, ours, theirs = difference
            which = "matching line" if answers else "line"
            return f"outputs differ, first in {which} {line} of rank {rank}: {first} {ours!r}, {other} {theirs!r}"
    if answers is None:
        return f"outputs are equal on all {len(ran)} systems"
    count = sum(len(text.splitlines()) for text in kept[first])
    return f"{counted(count, 'line')} of output with {answers.pattern!r}: equal on all {len(ran)} systems"


def matching(text: str, answers: re.Pattern[str] | None) -> str:
    """Return the lines that count."""
    if answers is None:
        return text
    return "".join(line for line in text.splitlines(keepends=True) if answers.search(line))


def first_difference(ours: Sequence[str], theirs: Sequence[str]) -> tuple[int, int, str, str] | None:
    """Return rank, line and both texts of the first line that differs; None if there is none."""
    for rank, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        if mine != other:
            lines, others = [*mine.splitlines(keepends=True), ""], [*other.splitlines(keepends=True), ""]
            for number, (one, two) in enumerate(zip(lines, others, strict=False), start=1):
                if one != two:
                    return rank, number, one.rstrip("\n"), two.rstrip("\n")
    return None
