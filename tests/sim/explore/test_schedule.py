"""Schedules: written, read, refused, and compared with a run."""

import json
import os
import pty
import select
import subprocess
import sys
import time

import pytest
from warm import lanai

from lanai_hdl.errors import UserError as UserError_debugging
from lanai_host.errors import UserError
from lanai_host.orders import Choice
from lanai_sim.cli import main
from lanai_sim.explore import schedule as schedule_module
from lanai_sim.explore.records import LONGEST, Made, Written
from lanai_sim.explore.running import Outcome, differs, job_of
from lanai_sim.explore.schedule import Schedule, job_of_schedule
from lanai_sim.job.data import NO_LIMIT
from lanai_sim.job.result import Ending, RankOutput, Result

from .programs import FOLDER

MADE = (
    Made(Choice(0, "match", 0, 2), (1,), site="a.py:3", tag=7),
    Made(Choice(1, "send", 0, 0)),
    Made(Choice(2, "send", 0, 1)),
)


@pytest.fixture
def schedule(tmp_path):
    program = tmp_path / "a.py"
    program.write_text("pass\n")
    return Schedule.of(job_of(["python", str(program)], 3), MADE, Result(1, 5))


def test_what_was_written_is_read(schedule, tmp_path):
    path = str(tmp_path / "s.json")
    schedule.write(path)
    assert Schedule.read(path) == schedule
    assert schedule.choices == (MADE[0].choice, MADE[2].choice)


def test_another_program_is_refused(schedule, tmp_path):
    with pytest.raises(UserError, match=r"another program: python .*a\.py, and not python b\.py"):
        schedule.check(["python", "b.py"])
    (tmp_path / "a.py").write_text("pass  # changed\n")
    with pytest.raises(UserError, match="has changed since"):
        schedule.check(schedule.program)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 2}', '{"format": 1, "choices": [[0, "match", 0]]}'])
def test_what_is_not_a_schedule_is_refused(text, tmp_path):
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(UserError, match="is not a schedule"):
        Schedule.read(str(tmp_path / "s.json"))


def test_a_bad_member_is_refused(schedule, tmp_path):
    path = tmp_path / "s.json"
    schedule.write(str(path))
    document = json.loads(path.read_text())
    for change in ({"ranks": 0}, {"more": 1}, {"choices": [[0, "tea", 0, 0]]}, {"choices": [[0, "match", "0", 0]]}):
        path.write_text(json.dumps(document | change))
        with pytest.raises(UserError, match="is not a schedule"):
            Schedule.read(str(path))


def test_a_run_that_departs_is_told(schedule):
    assert schedule.departure(MADE) == ""
    other = Made(Choice(0, "match", 0, 1))
    assert "the sender 2 for match 1 of rank 0" in schedule.departure([other, *MADE[1:]])
    assert "only the schedule has" in schedule.departure(MADE[:1])
    missed = Made(Choice(0, "match", 0, 1), site="a.py:3", missed=2)
    assert schedule.departure([missed]).endswith("the schedule says 2")


def test_flags_that_contradict_the_schedule_are_refused(schedule):
    with pytest.raises(UserError, match="3 ranks, not of 4"):
        job_of_schedule(schedule, schedule.program, job_of(schedule.program, 4), ["ranks"])
    on_nics = job_of(schedule.program, 3).but(device="mpi-np", options=None)
    with pytest.raises(UserError, match="not on mpi-np"):
        job_of_schedule(schedule, schedule.program, on_nics, ["device"])
    assert job_of_schedule(schedule, schedule.program, job_of(schedule.program, 1), []).ranks == 3


# Files that a run has written, compared with those of another run.

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
    done = lanai("explore", "-n", 3, "--files", "--", "python", script, timeout=500)
    assert done.returncode == 10, done.stderr
    assert "line 1 of the file log.txt is '2' instead of '1'" in done.stderr
    assert "log.py:4 and rank 1 at" in done.stderr


# `lanai run --replay FILE --debug RANK`: a rank under a debugger.


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(os, "ttyname", lambda stream: "/dev/pts/9")


def test_one_rank_runs_in_pdb_and_the_others_as_usual(terminal):
    job = schedule_module.job_with(job_of(["python", "a.py", "x"], 3, max_wall=60.0), 1)
    assert [program.ranks for program in job.programs] == [1, 1, 1]
    assert job.programs[0].command == job.programs[2].command == ("python", "a.py", "x")
    assert job.programs[1].command[-6:] == ("/dev/pts/9", sys.executable, "-m", "pdb", "a.py", "x")
    assert job.max_wall == NO_LIMIT
    assert [program.ranks for program in schedule_module.job_with(job_of(["python", "a.py"], 2), 0).programs] == [1, 1]


def test_compiled_programs_run_in_gdb(monkeypatch):
    monkeypatch.setattr(schedule_module, "resolve_program", str)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert schedule_module.debugger(["/bin/true", "1"]) == ["gdb", "-q", "--args", "/bin/true", "1"]
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(UserError_debugging, match="gdb, which shows compiled programs, is not in PATH"):
        schedule_module.debugger(["/bin/true"])


def test_what_cannot_be_debugged_is_told(terminal, monkeypatch, capsys):
    with pytest.raises(UserError_debugging, match="--debug 3: the schedule has 3 ranks, from 0 to 2"):
        schedule_module.job_with(job_of(["python", "a.py"], 3), 3)
    with pytest.raises(UserError_debugging, match="pdb runs files and modules"):
        schedule_module.job_with(job_of(["python", "-c", "pass"], 3), 0)

    def no_terminal(stream):
        raise OSError

    monkeypatch.setattr(os, "ttyname", no_terminal)
    with pytest.raises(UserError_debugging, match="--debug needs a terminal"):
        schedule_module.job_with(job_of(["python", "a.py"], 3), 0)
    assert main(["run", "--debug", "0", "python", "a.py"]) == 2
    assert "--debug 0 needs a schedule: lanai run --replay FILE --debug 0" in capsys.readouterr().err


@pytest.mark.ci
def test_a_rank_stops_where_its_program_fails(tmp_path):
    script = str(FOLDER / "first_reply.py")
    made = (Made(Choice(0, "match", 0, 2), (1,)), Made(Choice(0, "match", 1, 1)))
    schedule = Schedule.of(job_of(["python", script], 3), made, Result(1, 5, ending=Ending.RANK_FAILED))
    schedule.write(str(tmp_path / "s.json"))
    words = [sys.executable, "-m", "lanai_sim", "run", "--replay", str(tmp_path / "s.json"), "--debug", "0"]
    said = driven(words, ["b 8", "c", "p 'replies', replies", "q"])
    assert "('replies', [2, 1])" in said


def driven(words, lines):
    """Run a command on a terminal of its own, and type a line at each prompt of pdb. Return what is to be read."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    said, until = b"", time.monotonic() + 120
    typed = iter(lines)
    while time.monotonic() < until:
        if select.select([ours], [], [], 1.0)[0]:
            try:
                said += os.read(ours, 4096)
            except OSError:  # the command has ended
                break
            if said.endswith(b"(Pdb) "):
                os.write(ours, next(typed, "q").encode() + b"\n")
    process.wait(10)
    os.close(ours)
    return said.decode()
