"""One rank of a test: a pytest session that runs this test alone, and reports to a file."""

import importlib
import json
import os
import sys
import warnings
from typing import Any, TextIO

import pytest

from lanai_host.simulator.protocol import ENV_RANK

from .task import Task, current, packed

NO_AUTOLOAD = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"
# What a session asks for that concerns more than one test, or a terminal.
SETTLED: dict[str, Any] = {
    "usepdb": False, "numprocesses": None, "maxprocesses": None, "dist": "no", "distload": False,
    "tx": [], "looponfail": False, "lf": False, "failedfirst": False, "newfirst": False, "stepwise": False,
    "keyword": "", "markexpr": "", "deselect": None, "xmlpath": None, "maxfail": 0, "cacheclear": False,
    "ignore": None, "ignore_glob": None, "pyargs": False, "reportlog": None,
}  # fmt: skip


class RankSession:
    """The plugin that makes a session that of a rank."""

    def __init__(self, task: Task, rank: int) -> None:
        self._task = task
        self._rank = rank
        self._log: TextIO = task.log(rank).open("w")
        self._autoload = os.environ.get(NO_AUTOLOAD)
        self.failed = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_parse(self, pluginmanager: pytest.PytestPluginManager) -> None:
        """Register the installed plugins, which are imported already: looking for them would take longer
        than the rest of the start."""
        os.environ[NO_AUTOLOAD] = "1"
        for name, module in self._task.plugins:
            if not (pluginmanager.has_plugin(name) or pluginmanager.is_blocked(name)):
                pluginmanager.register(importlib.import_module(module), name)

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> None:
        """Collect this test alone. To plugins, the session is a worker that another one controls."""
        _restore(NO_AUTOLOAD, self._autoload)
        for name, value in SETTLED.items():
            if hasattr(config.option, name):
                setattr(config.option, name, value)
        config.option.basetemp = os.path.join(self._task.folder, f"rank-{self._rank}")
        config.args[:] = [self._task.argument]
        config.workerinput = self._task.worker  # type: ignore[attr-defined]
        config.workeroutput = {}  # type: ignore[attr-defined]
        self._config = config

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Print no progress and no summary."""
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            config.pluginmanager.unregister(reporter)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid == self._task.node][:1]

    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> None:
        """Let the library know by which error this rank leaves, if others wait for it then."""
        if call.excinfo is not None and not isinstance(call.excinfo.value, pytest.skip.Exception):
            sys.last_value = call.excinfo.value

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed
        self._write(self._config.hook.pytest_report_to_serializable(config=self._config, report=report))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed = True
            self._write({"collecting": str(report.longrepr)})

    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage, location: Any) -> None:
        self._write({"warning": packed(warning_message, location)})

    def _write(self, said: Any) -> None:
        self._log.write(json.dumps(said) + "\n")
        self._log.flush()


def _restore(variable: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(variable, None)
    else:
        os.environ[variable] = value


def main() -> None:
    """Be a rank of the test that the environment names."""
    task = current()
    assert task is not None
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, write_through=True)  # type: ignore[union-attr]
    os.chdir(task.directory)
    sys.path[:] = task.path
    session = RankSession(task, int(os.environ[ENV_RANK]))
    code = int(pytest.main(list(task.arguments), plugins=[session]))
    sys.exit(1 if session.failed else 0 if code == pytest.ExitCode.TESTS_FAILED else code)
