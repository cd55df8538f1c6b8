"""Runs tests on ranks in place of pytest's own way, with one report for each."""

import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest
from _pytest._code.code import ExceptionChainRepr, ReprEntryNative, ReprFileLocation, ReprTraceback

from lanai_host.errors import UserError
from lanai_host.stacks import stack

from ..job.forked import WarmServers
from ..job.job import Job
from ..job.launcher import Run
from ..job.output import Output
from ..job.result import Exit, Result
from ..kernel.kernel import FOREVER
from ..units import duration
from .counts import Counts, Wish
from .rank import ENV_TASK, TEXT, Task, repeat
from .verdict import PHASES, RankReports, Verdict, judge

# At which rank counts a test fails that has run at several.

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


# The ranks of one test: a run of the simulator, and the reports of it, as pytest has them.

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


IMPORTED = "lanai_sim.pytest_plugin.rank"


class Bench:
    """The plugin of a session that runs tests on ranks. `replaced`: the plugins that it stands for."""

    def __init__(self, config: pytest.Config, counts: Counts, replaced: Sequence[str]) -> None:
        self._config = config
        self._counts = counts
        self._replaced = replaced
        self._device = config.getoption("lanai_device") or config.getini("lanai_device")
        stack(self._device)
        self._wall = _seconds(config.getoption("lanai_timeout") or config.getini("lanai_timeout"))
        limit = config.getoption("lanai_max_sim_time")
        self._sim_time = FOREVER if limit is None else duration(limit)
        self._plugins = installed_plugins(config)
        imports = [IMPORTED, *shared_modules(self._plugins), *config.getini("lanai_preload")]
        self._servers = WarmServers(imports, sys.path)

    def pytest_report_header(self) -> str:
        instead = f", in place of {', '.join(self._replaced)}" if self._replaced else ""
        return f"lanai: MPI tests run on simulated ranks, device {self._device}{instead}"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say at which rank counts a test fails that has run at several, and what could not be imported ahead."""
        for name in self._config.getini("lanai_preload"):
            if name in self._servers.failed:
                error = self._servers.failed[name]
                terminalreporter.write_line(f"lanai: lanai_preload: {name!r} cannot be imported: {error}")
        for line in rank_lines(terminalreporter.stats):
            terminalreporter.write_line(f"lanai: {line}")

    def pytest_unconfigure(self) -> None:
        self._servers.close()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run a test on ranks, if it is to."""
        try:
            wish = self._counts.wish(item)
        except UserError as error:
            raise pytest.UsageError(f"{item.nodeid}: {error}") from None
        if wish is None or not wish.ranks or item.get_closest_marker("skip"):
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self._reports(item, wish, nextitem):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _reports(self, item: pytest.Item, wish: Wish, nextitem: pytest.Item | None) -> Iterator[pytest.TestReport]:
        """The reports of a test, which runs at each count until it fails."""
        began = time.time()
        for ranks in wish.ranks:
            verdict, sections = self._judged(item, wish, ranks)
            if verdict.outcome == "failed":
                break
        yield from phases(item, verdict, sections, ranks, began)
        broken = _tear_down(item, nextitem)
        if broken is not None:
            yield report(item, broken, sections, ranks, began)
        elif verdict.when != "teardown":
            yield report(item, Verdict("teardown", "passed"), sections, ranks, began)

    def _judged(self, item: pytest.Item, wish: Wish, ranks: int) -> tuple[Verdict, Sections]:
        """Run the test at one count, whatever comes of it but an interrupt."""
        try:
            return self._run(item, wish, ranks)
        except INTERRUPTS:
            raise
        except BaseException:
            return _not_run(pytest.ExceptionInfo.from_current()), []

    def _run(self, item: pytest.Item, wish: Wish, ranks: int) -> tuple[Verdict, Sections]:
        """Run the test at one count. Its verdict, and what ranks printed."""
        folder = tempfile.mkdtemp(prefix="lanai-", dir=self._base())
        try:
            task = self._task(item, ranks, folder)
            task.write()
            ended = run_ranks(
                folder, ranks, self._device, self._servers, wall=wish.timeout or self._wall, sim_time=self._sim_time,
                show=self._config.getoption("capture") == "no",
            )  # fmt: skip
            found = [self._read(task, rank) for rank in range(ranks)]
            repeat(item, [one for rank in found for one in rank.warnings])
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if ended.result.code == Exit.INTERRUPTED:
            raise KeyboardInterrupt(ended.result.report)
        return judge(found, ended.result, _expected(item)), sections(found, ended)

    def _base(self) -> str:
        factory = getattr(self._config, "_tmp_path_factory", None)
        return tempfile.gettempdir() if factory is None else str(factory.getbasetemp())

    def _task(self, item: pytest.Item, ranks: int, folder: str) -> Task:
        config = self._config
        worker = getattr(config, "workerinput", {"workerid": "master", "testrunuid": "", "workercount": 1})
        named = {key: worker[key] for key in ("workerid", "testrunuid", "workercount") if key in worker}
        words = [str(word) for word in config.invocation_params.args]
        end = words.index("--") if "--" in words else len(words)
        words[end:end] = ["--capture=no", *(["--no-cov"] if hasattr(config.option, "no_cov") else [])]
        return Task(
            item.nodeid, str(item.path), ranks, words, str(config.invocation_params.dir),
            list(sys.path), {**named, "mainargv": list(sys.argv)}, self._plugins, folder,
        )  # fmt: skip

    def _read(self, task: Task, rank: int) -> RankReports:
        found = RankReports(rank)
        for said in task.reports(rank):
            if "warning" in said:
                found.warnings.append(said["warning"])
            elif "collecting" in said:
                found.collecting = said["collecting"]
            else:
                report = self._config.hook.pytest_report_from_serializable(config=self._config, data=said)
                found.reports.append(report)
        return found


INTERRUPTS = (KeyboardInterrupt, pytest.exit.Exception)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not seconds > 0:
        raise UserError(f"--lanai-timeout {text!r} must be a positive number of seconds")
    return seconds


def _expected(item: pytest.Item) -> str | None:
    """The reason of an xfail marker that holds here, whatever the test raises."""
    from _pytest.skipping import evaluate_xfail_marks

    try:
        found = evaluate_xfail_marks(item)
    except pytest.fail.Exception:
        return None  # the condition is wrong: ranks say so
    return None if found is None or found.raises else found.reason


def _not_run(raised: pytest.ExceptionInfo[BaseException]) -> Verdict:
    """A run that was not begun, or was ended by an exception such as another plugin's time limit."""
    text = str(raised.value) if isinstance(raised.value, UserError | pytest.fail.Exception) else str(raised.getrepr())
    return Verdict("call", "failed", f"{text}\n", str(raised.value).partition("\n")[0])


def _tear_down(item: pytest.Item, nextitem: pytest.Item | None) -> Verdict | None:
    """End fixtures of earlier tests that the next one does not need. The verdict, if one fails."""
    try:
        item.session._setupstate.teardown_exact(nextitem)
    except INTERRUPTS:
        raise
    except BaseException:
        raised = pytest.ExceptionInfo.from_current()
        return Verdict("teardown", "failed", f"{raised.getrepr()}\n", str(raised.value))
    return None


def installed_plugins(config: pytest.Config) -> list[tuple[str, str]]:
    """The names and modules of installed plugins, which each rank's session has, too."""
    found = {}
    for plugin, distribution in config.pluginmanager.list_plugin_distinfo():
        if isinstance(plugin, ModuleType):
            names = [entry.name for entry in distribution.entry_points if entry.value == plugin.__name__]
            found[names[0] if names else plugin.__name__] = plugin.__name__
    return list(found.items())


def shared_modules(plugins: list[tuple[str, str]]) -> list[str]:
    """Return the modules of Python's own library, of pytest and of installed plugins that a session has imported."""
    tops = {"_pytest", *sys.stdlib_module_names, *(module.partition(".")[0] for _, module in plugins)}
    return sorted(name for name in sys.modules if name.partition(".")[0] in tops and name != "__main__")
