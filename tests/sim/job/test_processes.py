"""The file that is executed: names as a user types them."""

import resource
import subprocess
import sys

import pytest

from lanai_host.errors import UserError
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
            command, cwd=tmp_path, capture_output=True, text=True, timeout=100,
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
