"""Sessions of pytest with the plugin, in processes of their own."""

import os
import subprocess
import sys
from importlib.metadata import entry_points

import pytest


def installed():
    return any(one.value == "lanai_sim.pytest_plugin.entry" for one in entry_points(group="pytest11"))


def session(folder, *words, **variables):
    """Run pytest in a folder."""
    loaded = [] if installed() else ["-p", "lanai_sim.pytest_plugin.entry"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *loaded, *words],
        cwd=folder, env={**os.environ, "PYTEST_ADDOPTS": "", **variables},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


@pytest.fixture
def run(tmp_path):
    """Run pytest on a test file, and return what it printed, without its time."""

    def call(text, *words, code=0, **variables):
        (tmp_path / "test_it.py").write_text(text)
        done = session(tmp_path, *words, **variables)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return call
