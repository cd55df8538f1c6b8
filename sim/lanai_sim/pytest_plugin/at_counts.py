"""At which rank counts a test fails that has run at several."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

KEPT = "lanai_ranks"  # the property of a report that holds the number of ranks
_PARAMETER = re.compile(r"ranks=\d+-?")


def rank_lines(stats: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    """A line for each test that has failed at some of several counts. `stats`: reports by their outcome."""
    passed, failed = (_counts(stats, *names) for names in (("passed", "xfailed", "xpassed"), ("failed", "error")))
    for test, counts in failed.items():
        others = passed.get(test, set()) - counts
        if len(counts | others) > 1:
            well = f", passes at {ranges(others)}" if others else ""
            yield f"{test} fails at {ranges(counts)} ranks{well}"


def _counts(stats: Mapping[str, Sequence[Any]], *outcomes: str) -> dict[str, set[int]]:
    """The counts at which each test had one of these outcomes."""
    found: dict[str, set[int]] = {}
    for report in (report for outcome in outcomes for report in stats.get(outcome, ())):
        ranks = dict(getattr(report, "user_properties", ())).get(KEPT)
        if ranks is not None and "ranks=" in report.nodeid:
            test = _PARAMETER.sub("", report.nodeid).replace("[]", "").replace("-]", "]")
            found.setdefault(test, set()).add(ranks)
    return found


def ranges(counts: set[int]) -> str:
    """Counts in order, such as 1-3, 5."""
    parts: list[list[int]] = []
    for count in sorted(counts):
        if parts and parts[-1][-1] == count - 1:
            parts[-1].append(count)
        else:
            parts.append([count])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
