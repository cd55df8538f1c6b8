"""The files by which the ranks of a test get their task and report its outcome."""

import importlib
import json
import os
import pickle
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

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
