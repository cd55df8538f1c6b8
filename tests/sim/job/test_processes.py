"""The file that is executed: names as a user types them."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from lanai_host.errors import UserError
from lanai_sim.job import forked
from lanai_sim.job.data import Program
from lanai_sim.job.processes import prepare, resolve_program


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working directory, with programs in it that are not on PATH."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (tmp_path / "sub").mkdir()
    for name in ("prog", "sub/prog"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "script.py").write_text("print()\n")
    for name in ("data", "my data"):
        (tmp_path / name).write_text("")
    return tmp_path


@pytest.mark.parametrize("name", ["./prog", "sub/prog", "./sub/prog", "sub/../prog"])
def test_a_name_with_a_slash_is_of_the_working_directory(folder, name):
    assert resolve_program(name) == str((folder / name).resolve())


def test_an_absolute_name_is_itself(folder):
    assert resolve_program(str(folder / "prog"), directory="/usr") == str(folder / "prog")


def test_or_of_the_directory_that_is_given(folder):
    assert resolve_program("./prog", directory=str(folder / "sub")) == str(folder / "sub/prog")


def test_other_names_are_looked_for_on_path(folder):
    assert resolve_program("sh").endswith("/bin/sh")
    assert resolve_program("prog", search=str(folder / "sub")) == str(folder / "sub/prog")
    assert resolve_program("python") == sys.executable


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("./script.py", "'./script.py' is not executable; write: python ./script.py"),
        ("./data", "'./data' is not executable; make it executable: chmod +x ./data"),
        ("./my data", "'./my data' is not executable; make it executable: chmod +x './my data'"),
        ("./sub", "'./sub' is a directory; name a program"),
        ("./absent", "program './absent' was not found, neither as a file nor on PATH"),
        ("prog", "'prog' is not on PATH; to run the file here write: ./prog"),
        ("absent", "program 'absent' was not found, neither as a file nor on PATH"),
    ],
)
def test_what_cannot_be_executed_is_refused(folder, name, text):
    with pytest.raises(UserError) as refusal:
        resolve_program(name)
    assert str(refusal.value) == text


def test_too_few_open_files_are_told_with_a_limit_that_does(tmp_path):
    def run(limit):
        command = [sys.executable, "-m", "lanai_sim", "run", "-n", "40", "--quiet", "true"]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=500,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)),
        )  # fmt: skip

    done = run(64)
    assert done.returncode == 2
    assert done.stderr == (
        "lanai: error: 40 ranks need more open files than the 64 that this process may have; write: ulimit -n 224\n"
    )
    assert "open files" not in run(224).stderr


def test_without_proc_a_line_says_so_before_anything_is_built(folder, monkeypatch):
    monkeypatch.setattr("lanai_sim.job.processes.PROC", str(folder))
    with pytest.raises(UserError, match="is not mounted, and it shows what ranks do; write: mount -t proc proc"):
        prepare([Program(("sub/prog",), 1)])


# The first run after an installation takes the same time as the next.


PLACES = """
import numpy
from mpi4py import MPI
numpy.random.default_rng(1)  # numpy imports this only now
buffers = [numpy.zeros(size, "u1") for size in (3, 500, 2000, 9000)]
print(MPI.COMM_WORLD.gather([buffer.ctypes.data for buffer in buffers]))
"""


@pytest.mark.ci
@pytest.mark.parametrize("fork", [(), ("--no-fork",)])
def test_buffers_of_the_first_run_lie_as_those_of_the_next(fork, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path))
    command = [sys.executable, "-m", "lanai_sim", "run", "-q", "-n", "2", *fork, sys.executable, "-c", PLACES]
    runs = [subprocess.run(command, capture_output=True, text=True, check=False) for _ in range(2)]
    assert [(run.returncode, run.stderr) for run in runs] == [(0, "")] * 2
    assert runs[0].stdout == runs[1].stdout


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package that stands for ours, in a folder that is on the path."""
    folder = tmp_path / "alone"
    (folder / "inner").mkdir(parents=True)
    for name in ("__init__.py", "early.py", "inner/__init__.py", "inner/late.py"):
        (folder / name).write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "alone", raising=False)
    monkeypatch.setattr(forked, "OURS", ("alone",))
    monkeypatch.setattr(forked, "OTHERS", ())
    monkeypatch.setattr(sys, "pycache_prefix", None)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return folder


def variables(**others):
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | others


def codes(folder):
    return sorted(path.name.split(".")[0] for path in Path(folder).rglob("*.pyc"))


def test_modules_that_ranks_import_late_are_compiled_too(package):
    forked.keep("ideal", variables())
    assert codes(package) == ["__init__", "__init__", "early", "late"]


def test_packages_in_those_of_others_are_compiled_too(package, monkeypatch):
    monkeypatch.setattr(forked, "OURS", ())
    monkeypatch.setattr(forked, "OTHERS", ("alone",))
    (package / "tests").mkdir()
    (package / "tests" / "__init__.py").write_text("")
    whole = ["__init__", "__init__", "early", "late"]
    forked.keep("ideal", variables())
    assert codes(package) == whole
    for code in (package / "inner").rglob("*.pyc"):
        code.unlink()
    forked.keep("ideal", variables())
    assert codes(package) == whole


def test_a_module_is_compiled_again_when_its_source_is_newer(package):
    forked.keep("ideal", variables())
    (code,) = package.rglob("late.*.pyc")
    before = code.read_bytes()
    (package / "inner" / "late.py").write_text("value = 22\n")
    os.utime(package / "inner" / "late.py", (4_000_000_000, 4_000_000_000))
    forked.keep("ideal", variables())
    assert code.read_bytes() != before


def test_a_module_is_compiled_again_when_its_bytecode_is_gone(package):
    forked.keep("ideal", variables())
    (code,) = package.rglob("late.*.pyc")
    code.unlink()
    forked.keep("ideal", variables())
    assert code.exists()


def test_nothing_is_started_when_all_is_compiled(package, monkeypatch):
    forked.keep("ideal", variables())
    monkeypatch.setattr(subprocess, "run", None)
    forked.keep("ideal", variables())


def test_who_writes_no_bytecode_needs_none(package):
    forked.keep("ideal", variables(PYTHONDONTWRITEBYTECODE="1"))
    assert codes(package) == []


def test_a_folder_that_is_read_only_stays_as_it_is(package, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setattr(subprocess, "run", None)
    forked.keep("ideal", variables())


def test_what_ranks_start_with_is_made_again_when_the_cache_was_emptied(tmp_path):
    """A notebook goes on meanwhile."""
    text = """
import shutil
from lanai_host.clocks.library import library
from lanai_sim.job.data import page_malloc
from lanai_sim.job.processes import starter
for file in (library, page_malloc, starter):
    first = file()
    assert file() is first
    shutil.rmtree(first.parent)
    assert file().exists()
"""
    subprocess.run(
        [sys.executable, "-c", text], check=True, timeout=300, env={**os.environ, "LANAI_CACHE": str(tmp_path)}
    )
