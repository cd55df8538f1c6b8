"""Runs tests on ranks in place of pytest's own way, with one report for each."""

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from types import ModuleType

import pytest

from lanai_host.errors import UserError
from lanai_host.stacks import stack

from ..job.result import Exit
from ..job.warm import WarmServers
from ..kernel.kernel import FOREVER
from ..units import duration
from . import reports, warned
from .at_counts import rank_lines
from .counts import Counts, Wish
from .reports import run_ranks
from .task import Task
from .verdict import RankReports, Verdict, judge

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
        yield from reports.phases(item, verdict, sections, ranks, began)
        broken = _tear_down(item, nextitem)
        if broken is not None:
            yield reports.report(item, broken, sections, ranks, began)
        elif verdict.when != "teardown":
            yield reports.report(item, Verdict("teardown", "passed"), sections, ranks, began)

    def _judged(self, item: pytest.Item, wish: Wish, ranks: int) -> tuple[Verdict, reports.Sections]:
        """Run the test at one count, whatever comes of it but an interrupt."""
        try:
            return self._run(item, wish, ranks)
        except INTERRUPTS:
            raise
        except BaseException:
            return _not_run(pytest.ExceptionInfo.from_current()), []

    def _run(self, item: pytest.Item, wish: Wish, ranks: int) -> tuple[Verdict, reports.Sections]:
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
            warned.repeat(item, [one for rank in found for one in rank.warnings])
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if ended.result.code == Exit.INTERRUPTED:
            raise KeyboardInterrupt(ended.result.report)
        return judge(found, ended.result, _expected(item)), reports.sections(found, ended)

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
