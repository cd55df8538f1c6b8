"""The commands of `lanai env`, first on PATH."""

import os
import subprocess
import sys

import pytest

from lanai_sim.commands import env


@pytest.fixture(scope="session")
def commands(tmp_path_factory):
    """The environment in which `lanai env`'s folder is first on PATH."""
    folder = env.make(tmp_path_factory.mktemp("env"))
    python = os.path.dirname(sys.executable)
    return {**os.environ, "PATH": os.pathsep.join((str(folder), python, os.environ["PATH"]))}


@pytest.fixture
def call(commands, tmp_path):
    """Run a command there; what it printed, if its exit code is `code`."""

    def run(*words, code=0, **variables):
        done = subprocess.run(
            words, env={**commands, **variables}, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return run
