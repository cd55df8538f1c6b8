"""The ranks of one test: a run of the simulator, and the reports of it, as pytest has them."""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from _pytest._code.code import ExceptionChainRepr, ReprEntryNative, ReprFileLocation, ReprTraceback

from ..job.job import Job
from ..job.launcher import Run
from ..job.output import Output
from ..job.result import Result
from ..job.warm import WarmServers
from .at_counts import KEPT
from .task import ENV_TASK, TEXT
from .verdict import PHASES, RankReports, Verdict

OUT, ERR = "stdout", "stderr"
Sections = list[tuple[str, str]]  # captured text below its heading


@dataclass(frozen=True)
class Ended:
    """The end of the ranks of a test."""

    result: Result
    printed: dict[tuple[int, str], str] = field(default_factory=dict)


def run_ranks(
    folder: str, ranks: int, device: str, servers: WarmServers, *, wall: float, sim_time: int, show: bool = False
) -> Ended:
    """Run the test whose task lies in a folder. Raises UserError for what cannot be started."""
    program, task = (sys.executable, "-c", TEXT), {ENV_TASK: folder}
    job = Job(program, ranks, device, max_wall=wall, max_sim_time=sim_time, environment=task)
    result = Run(job, output=Output(prefix=show, capture=True, show=show), servers=servers).execute()
    return Ended(result, _printed(result))


def _printed(result: Result) -> dict[tuple[int, str], str]:
    """Return what was printed, by rank and stream."""
    texts = [{OUT: one.stdout, ERR: one.stderr} for one in result.outputs]
    return {(rank, name): text for rank, both in enumerate(texts) for name, text in sorted(both.items()) if text}


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
