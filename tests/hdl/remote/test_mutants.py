"""Each check of the adapter's is held by a test: without the check, that test fails. Each field that names
what may be another's has such a check."""

import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from lanai_hdl.remote import groups, messages, packets, tables
from lanai_hdl.words import Word

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


TABLE = {**tables.JUDGES, **messages.JUDGES, **groups.JUDGES}
JUDGES = [
    pytest.param(judge, id=f"{getattr(word, '__name__', word)}.{field}")
    for word, fields in TABLE.items()
    if isinstance(fields, dict)
    for field, judges in fields.items()
    for judge in judges
]


def test_each_field_of_a_word_is_in_the_table():
    words = {
        kind for one in (packets, tables, messages, groups) for kind in vars(one).values() if isinstance(kind, type)
    }
    assert {kind for kind in words if issubclass(kind, Word)} - {Word} <= set(TABLE)
    for word, fields in TABLE.items():
        if isinstance(word, type) and isinstance(fields, dict):
            assert list(fields) == list(word.fields), word.__name__


@pytest.mark.parametrize("judge", JUDGES)
def test_each_judge_is_there_and_some_test_needs_it(judge):
    assert bool(judge.by) != bool(judge.unjudged), "a judge, or the reason why there is none"
    for place in judge.by:
        module, _, component = place.partition(".")
        assert isinstance(getattr(import_module(f"lanai_hdl.remote.{module}"), component), type)
        assert f"{module}.py" in {mutant.file for mutant in MUTANTS}, f"no mutant removes a check of {place}"
