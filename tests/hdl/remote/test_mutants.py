"""Each check of the adapter's is held by a test: without the check, that test fails."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .mutants import MUTANTS, SOURCE

FOLDER = Path(__file__).parent
SOME_FAILED = 1  # pytest's exit code; others say that it could not run the test


def run(mutant, package):
    """The mutant's test, with the gateware in `package`."""
    options = ["-q", "-x", "--no-header", "-m", "", "-o", f"cache_dir={package.parent / 'cache'}"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(FOLDER / mutant.test)],
        env={**os.environ, "PYTHONPATH": str(package.parent)},
        cwd=FOLDER.parents[2],
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_each_line_stands_once_in_its_file(mutant):
    assert mutant.applied() != mutant.path.read_text()


@pytest.mark.ci
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_no_check_is_idle(tmp_path, mutant):
    package = tmp_path / "hdl" / SOURCE.name
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    changed = package / mutant.path.relative_to(SOURCE)
    changed.write_text(mutant.applied())
    done = run(mutant, package)
    assert done.returncode == SOME_FAILED, done.stdout[-2000:]
