"""One verdict on a test from what each of its ranks reports, and from how the run ended."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, Literal

import pytest
from _pytest._io import TerminalWriter

from ..job.result import Result
from ..job.waiting import ranks_text

When = Literal["setup", "call", "teardown"]
Outcome = Literal["passed", "failed", "skipped"]
PHASES: tuple[When, ...] = ("setup", "call", "teardown")


@dataclass
class RankReports:
    """The reports of one rank. `collecting`: why it could not collect the test; `warnings` as `warned`
    packs them."""

    rank: int
    reports: list[pytest.TestReport] = field(default_factory=list)
    collecting: str = ""
    warnings: list[dict[str, Any]] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        """The rank came to the end of the test."""
        return any(report.when == "teardown" for report in self.reports)

    def of(self, outcome: Outcome) -> list[pytest.TestReport]:
        return [report for report in self.reports if report.outcome == outcome]

    @property
    def expected(self) -> str | None:
        """The reason of an xfail marker that this rank has come upon."""
        return next((report.wasxfail for report in self.reports if hasattr(report, "wasxfail")), None)


@dataclass
class Verdict:
    """The outcome of the phases of a test. `text` says why, `brief` in one line. `xfail`: the reason of an
    xfail marker that the outcome is owed to."""

    when: When
    outcome: Outcome
    text: str = ""
    brief: str = ""
    xfail: str | None = None


def judge(ranks: Sequence[RankReports], result: Result, expected: str | None = None) -> Verdict:
    """Return the verdict. `expected`: the reason of an xfail marker that holds, as far as is known without
    ranks."""
    failures = [(rank.rank, report) for rank in ranks for report in rank.of("failed")]
    broken = [rank for rank in ranks if rank.collecting]
    unfinished = [rank for rank in ranks if not (rank.ended or rank.collecting)]
    reasons = [reason for reason in (rank.expected for rank in ranks) if reason is not None]
    if failures or broken or unfinished or (result.code and not reasons):
        if not (failures or broken) and (expected is not None or reasons):  # the others wait for one that has failed
            return Verdict("call", "skipped", result.report, xfail=(reasons or [expected or ""])[0])
        return _failed(ranks, failures, result)
    if reasons:
        xfailed = any(report.outcome == "skipped" for rank in ranks for report in rank.reports)
        return Verdict("call", "skipped" if xfailed else "passed", xfail=reasons[0])
    skipped = [report for rank in ranks for report in rank.of("skipped")]
    if len(skipped) == len(ranks):
        return Verdict(skipped[0].when or "call", "skipped", _reason(skipped[0]))
    return Verdict("call", "passed")


def _reason(report: pytest.TestReport) -> str:
    """Return why a test was skipped. A report that came from a rank has a list for a tuple."""
    place = report.longrepr
    return str(place[2]) if isinstance(place, tuple | list) else report.longreprtext


def _failed(ranks: Sequence[RankReports], failures: Sequence[tuple[int, pytest.TestReport]], result: Result) -> Verdict:
    whens: list[When] = [report.when for _, report in failures if report.when is not None]
    when: When = min(whens, key=PHASES.index, default="call")
    if whens and when == "setup" and len(failures) < len(ranks):
        when = "call"  # of the others, some came further
    text = "\n".join([*_collecting(ranks), *_tracebacks(failures, len(ranks)), *_end(ranks, result)])
    return Verdict(when, "failed", text + "\n", _brief(ranks, failures, result))


def _brief(ranks: Sequence[RankReports], failures: Sequence[tuple[int, pytest.TestReport]], result: Result) -> str:
    for rank, report in failures:
        crash = getattr(report.longrepr, "reprcrash", None)
        message = crash.message if crash is not None else report.longreprtext
        return f"rank {rank}: {message.strip().partition(chr(10))[0]}"
    for one in ranks:
        if one.collecting:
            return f"rank {one.rank} could not collect the test"
    return result.report.partition("\n")[0] or "a rank did not run the test"


def _collecting(ranks: Sequence[RankReports]) -> list[str]:
    return _same([(rank.rank, rank.collecting) for rank in ranks if rank.collecting], len(ranks))


def _tracebacks(failures: Sequence[tuple[int, pytest.TestReport]], total: int) -> list[str]:
    lines = []
    for when in PHASES:
        where = "" if when == "call" else f", in {when}"
        lines += _same([(rank, _shown(report)) for rank, report in failures if report.when == when], total, where)
    return lines


def _shown(report: pytest.TestReport) -> str:
    """The traceback as pytest prints it."""
    page = StringIO()
    report.toterminal(TerminalWriter(page))
    return page.getvalue()


def _same(texts: Sequence[tuple[int, str]], total: int, where: str = "") -> list[str]:
    """Each text below the ranks that have it."""
    by_text: dict[str, list[int]] = {}
    for rank, text in texts:
        by_text.setdefault(text, []).append(rank)
    return [
        line
        for text, ranks in by_text.items()
        for line in (f"{f' {ranks_text(ranks)} of {total}{where} ':-^79}", text.rstrip("\n"))
    ]


def _end(ranks: Sequence[RankReports], result: Result) -> list[str]:
    """Return how the run ended, if that is more than the reports say."""
    unfinished = [rank.rank for rank in ranks if not (rank.ended or rank.collecting)]
    lines = result.report.splitlines()
    if not unfinished and len(lines) <= 1 and any(rank.of("failed") or rank.collecting for rank in ranks):
        return []  # all came to the end, and the exit code of one that failed adds nothing
    if not lines and unfinished:
        lines = [f"{ranks_text(unfinished)} ended before the test did"]
    return [f"{' the run ':-^79}", *lines, *result.notes]
