"""The files by which the ranks of a test get their task and report its outcome."""

import importlib
import json
import os
import pickle
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TextIO

import pytest

from lanai_host.simulator.protocol import ENV_RANK

ENV_TASK = "LANAI_TEST"  # the folder of the test whose rank a process is
FILE = "task"
TEXT = "from lanai_sim.pytest_plugin.rank import main; main()"  # what the interpreter of a rank runs


@dataclass(frozen=True)
class Task:
    """One test, on ranks. `arguments` are those of the session, `path` is its `sys.path`, `plugins`
    are the names and modules of installed plugins that it uses; `folder` holds what is said of the test, and
    the ranks' temporary folders."""

    node: str
    file: str
    ranks: int
    arguments: Sequence[str]
    directory: str
    path: Sequence[str]
    worker: dict[str, Any]
    plugins: Sequence[tuple[str, str]]
    folder: str

    @property
    def argument(self) -> str:
        """The test as pytest takes it on a command line."""
        _, separator, name = self.node.partition("::")
        return f"{self.file}{separator}{name}"

    def write(self) -> None:
        Path(self.folder, FILE).write_bytes(pickle.dumps(self))

    def log(self, rank: int) -> Path:
        """The file to which a rank appends its reports, a line each."""
        return Path(self.folder, f"reports-{rank}")

    def reports(self, rank: int) -> list[dict[str, Any]]:
        """Return the reports of a rank. A last line that is not whole is left out: its process was killed."""
        try:
            text = self.log(rank).read_text()
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def is_rank() -> bool:
    """Return whether this process is a rank of a test."""
    return bool(os.environ.get(ENV_TASK)) and bool(os.environ.get(ENV_RANK))


@cache
def current() -> Task | None:
    """The test whose rank this process is."""
    if not is_rank():
        return None
    task = pickle.loads(Path(os.environ[ENV_TASK], FILE).read_bytes())
    assert isinstance(task, Task)
    return task


# Warnings of ranks, for the summary of the session that started them.


def packed(message: warnings.WarningMessage, location: Any) -> dict[str, Any]:
    """A warning in JSON's types."""
    return {
        "text": str(message.message), "module": message.category.__module__, "name": message.category.__qualname__,
        "file": message.filename, "line": message.lineno, "location": location,
    }  # fmt: skip


def repeat(item: pytest.Item, found: Sequence[dict[str, Any]]) -> None:
    """Tell the session of warnings, of those that several ranks gave once."""
    for said in {str(one): one for one in found}.values():
        message = warnings.WarningMessage(_made(said), type(_made(said)), said["file"], said["line"])
        location = said["location"]
        item.ihook.pytest_warning_recorded.call_historic(
            kwargs={
                "warning_message": message, "when": "runtest", "nodeid": item.nodeid,
                "location": None if location is None else tuple(location),
            }
        )  # fmt: skip


def _made(said: dict[str, Any]) -> Warning:
    """The warning again; a plain one where its class cannot be made from its text."""
    try:
        kind = getattr(importlib.import_module(said["module"]), said["name"])
        made = kind(said["text"])
        return made if isinstance(made, Warning) else UserWarning(said["text"])
    except Exception:
        return UserWarning(said["text"])


# One rank of a test: a pytest session that runs this test alone, and reports to a file.


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
