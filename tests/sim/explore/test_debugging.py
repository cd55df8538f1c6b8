"""`lanai run --replay FILE --debug RANK`: a rank under a debugger."""

import os
import pty
import select
import subprocess
import sys
import time

import pytest

from lanai_hdl.errors import UserError
from lanai_host.orders import Choice
from lanai_sim.cli import main
from lanai_sim.explore import debugging
from lanai_sim.explore.records import Made
from lanai_sim.explore.running import job_of
from lanai_sim.explore.schedule import Schedule
from lanai_sim.job.data import NO_LIMIT
from lanai_sim.job.result import Ending, Result

from .programs import FOLDER


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(os, "ttyname", lambda stream: "/dev/pts/9")


def test_one_rank_runs_in_pdb_and_the_others_as_usual(terminal):
    job = debugging.job_with(job_of(["python", "a.py", "x"], 3, max_wall=60.0), 1)
    assert [program.ranks for program in job.programs] == [1, 1, 1]
    assert job.programs[0].command == job.programs[2].command == ("python", "a.py", "x")
    assert job.programs[1].command[-6:] == ("/dev/pts/9", sys.executable, "-m", "pdb", "a.py", "x")
    assert job.max_wall == NO_LIMIT
    assert [program.ranks for program in debugging.job_with(job_of(["python", "a.py"], 2), 0).programs] == [1, 1]


def test_compiled_programs_run_in_gdb(monkeypatch):
    monkeypatch.setattr(debugging, "resolve_program", str)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert debugging.debugger(["/bin/true", "1"]) == ["gdb", "-q", "--args", "/bin/true", "1"]
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(UserError, match="gdb, which shows compiled programs, is not in PATH"):
        debugging.debugger(["/bin/true"])


def test_what_cannot_be_debugged_is_told(terminal, monkeypatch, capsys):
    with pytest.raises(UserError, match="--debug 3: the schedule has 3 ranks, from 0 to 2"):
        debugging.job_with(job_of(["python", "a.py"], 3), 3)
    with pytest.raises(UserError, match="pdb runs files and modules"):
        debugging.job_with(job_of(["python", "-c", "pass"], 3), 0)

    def no_terminal(stream):
        raise OSError

    monkeypatch.setattr(os, "ttyname", no_terminal)
    with pytest.raises(UserError, match="--debug needs a terminal"):
        debugging.job_with(job_of(["python", "a.py"], 3), 0)
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
