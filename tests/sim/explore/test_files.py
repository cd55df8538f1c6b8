"""Files that a run has written, compared with those of another run."""

import os
import time

import pytest
from warm import lanai

from lanai_sim.cli import main
from lanai_sim.explore.failure import differs
from lanai_sim.explore.files import LONGEST, Written
from lanai_sim.explore.running import Outcome
from lanai_sim.job.result import RankOutput, Result

RESULT = Result(0, 0, outputs=(RankOutput("1\n"),))


def test_files_that_were_written_since_a_time_are_found(tmp_path):
    old, new, long = tmp_path / "old", tmp_path / "below" / "new", tmp_path / "long"
    old.write_text("a")
    os.utime(old, (1, 1))
    (tmp_path / "below").mkdir()
    begin = time.time_ns()
    new.write_bytes(b"1\n\xff")
    long.write_bytes(bytes(LONGEST + 1))
    (tmp_path / "mine.json").write_text("{}")
    found = Written(tmp_path, [str(tmp_path / "mine.json")]).since(begin)
    assert found["below/new"] == "1\n\\xff"
    assert found["long"].startswith(f"{LONGEST + 1} bytes, digest ")
    assert set(found) == {"below/new", "long"}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a": "1\n2\n"}, ""),
        ({"a": "1\n3\n"}, "line 2 of the file a is '3' instead of '2'"),
        ({}, "the file a is not written"),
        ({"a": "1\n2\n", "b": ""}, "the file b is written"),
    ],
)
def test_the_first_line_of_a_file_that_differs_is_told(files, said):
    usual = Outcome(frozenset(), (), RESULT, files={"a": "1\n2\n"})
    assert differs(usual, Outcome(frozenset(), (), RESULT, files=files)) == said


def test_runs_that_write_files_are_not_made_side_by_side(capsys):
    assert main(["explore", "--files", "--jobs", "2", "--", "python", "a.py"]) == 2
    assert "--files: runs write the same files, one after the other" in capsys.readouterr().err


@pytest.mark.ci
def test_a_file_that_depends_on_the_order_is_a_failure(tmp_path, monkeypatch):
    script = tmp_path / "log.py"
    script.write_text(
        "from mpi4py import MPI\n"
        "comm = MPI.COMM_WORLD\n"
        "if comm.rank:\n"
        "    comm.send(comm.rank, dest=0)\n"
        "else:\n"
        "    with open('log.txt', 'w') as log:\n"
        "        for _ in range(2):\n"
        "            print(comm.recv(source=MPI.ANY_SOURCE), file=log)\n"
    )
    monkeypatch.chdir(tmp_path)
    done = lanai("explore", "-n", 3, "--files", "--", "python", script, timeout=200)
    assert done.returncode == 10, done.stderr
    assert "line 1 of the file log.txt is '2' instead of '1'" in done.stderr
    assert "log.py:4 and rank 1 at" in done.stderr
