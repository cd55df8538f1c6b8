"""The reports of a test that has run on ranks, as pytest has them."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from _pytest._code.code import ExceptionChainRepr, ReprEntryNative, ReprFileLocation, ReprTraceback

from .at_counts import KEPT
from .running import Ended
from .verdict import PHASES, RankReports, Verdict

Sections = list[tuple[str, str]]  # captured text below its heading


def sections(found: list[RankReports], ended: Ended) -> Sections:
    """Return the sections with the output and the log of each rank."""
    texts = [(f"Captured {name}, rank {rank}", text) for (rank, name), text in ended.printed.items()]
    for one in found:
        logged = {name: text for report in one.reports for name, text in report.sections}
        texts += [(f"{name}, rank {one.rank}", text) for name, text in logged.items()]
    return texts


def phases(
    item: pytest.Item, verdict: Verdict, captured: Sections, ranks: int, began: float
) -> Iterator[pytest.TestReport]:
    """The reports up to the phase that the verdict is on."""
    for when in PHASES[: PHASES.index(verdict.when)]:
        yield report(item, Verdict(when, "passed"), [], ranks, began)
    yield report(item, verdict, captured, ranks, began)


def report(item: pytest.Item, verdict: Verdict, captured: Sections, ranks: int, began: float) -> pytest.TestReport:
    """The report of one phase. The test began at a time as `time.time` has it."""
    now = time.time()
    made = pytest.TestReport(
        item.nodeid, item.location, dict.fromkeys(item.keywords, 1), verdict.outcome, _longrepr(item, verdict),
        verdict.when, captured, now - began if verdict.when == "call" else 0.0, began, now,
        [*item.user_properties, (KEPT, ranks)],
    )  # fmt: skip
    if verdict.xfail is not None:
        made.wasxfail = verdict.xfail
    return made


def _longrepr(item: pytest.Item, verdict: Verdict) -> Any:
    path, line = str(item.path), (item.location[1] or 0) + 1
    if verdict.outcome == "skipped" and verdict.xfail is None:
        return (path, line, verdict.text)
    if not verdict.text:
        return None
    crash = ReprFileLocation(path, line, verdict.brief)
    return ExceptionChainRepr([(ReprTraceback([ReprEntryNative([verdict.text])], None, "native"), crash, None)])
