"""The line on the terminal that tells how a long run is getting on."""

import io
import re
import sys
import time

import pytest
from pairs import first_of

from lanai_sim.job import progress
from lanai_sim.job.job import Job
from lanai_sim.job.progress import Progress, pace
from lanai_sim.job.result import Exit

MS = 10**9


def test_the_pace_of_a_run():
    assert pace(4 * MS, None, 8.0) == "4.000 ms simulated in 8 s: 500.000 us a second"


def test_a_limit_says_how_long_it_takes_at_most():
    assert pace(5 * MS, 20 * MS, 10.0).endswith("a second; at most 30 s more")
    assert "more" not in pace(0, 20 * MS, 3.0)


@pytest.mark.parametrize(("after", "lines"), [(0.01, True), (60.0, False)])
def test_a_short_run_tells_nothing(monkeypatch, after, lines):
    terminal = io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "AFTER", after)
    monkeypatch.setattr(progress, "PERIOD", 0.01)
    line = Progress(lambda: "half way")
    time.sleep(0.1)
    line.finish()
    assert ("half way" in terminal.getvalue()) == lines
    assert terminal.getvalue().endswith("\r\x1b[K") == lines


def test_the_line_of_a_run(monkeypatch):
    """It is asked for while the run begins and while it goes on."""
    terminal = io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "AFTER", 0.01)
    monkeypatch.setattr(progress, "PERIOD", 0.01)
    monkeypatch.setenv("COLUMNS", "200")
    text = "import time; from mpi4py import MPI; MPI.COMM_WORLD.Barrier(); time.sleep(0.3)"
    job = Job((sys.executable, "-c", text), 2).but(max_sim_time="20ms", progress=True, clock="real")
    assert job.run().code == 0
    assert re.search(
        r"us simulated in \d+ s: .* a second; at most [\d,]+ s more \| 0: runs \| 1: runs", terminal.getvalue()
    )


# Ranks that poll in vain: they are reported once, and the run ends if a rank has failed that they poll for.


PROGRAM = """\
import os, sys
from lanai_host.mpi import polling
polling.VAIN = 500
from mpi4py import MPI
world, how = MPI.COMM_WORLD, sys.argv[1]
if world.rank == 1:
    if how == "raises":
        raise ValueError(how)
    if how == "exits":
        os._exit(0)
    if how == "ends":
        sys.exit(4)
    world.Recv(bytearray(1), 0, 8)
elif world.rank == 2:
    world.Recv(bytearray(1), 0, 8)
elif how == "exits":
    request = world.Irecv(bytearray(1), 1, 9)
    while not request.Test():
        pass
else:
    while not world.Iprobe(1, 9):
        pass
"""
HINT = "lanai: hint: rank 0 polls in MPI_Iprobe at {}:21, peer 1, tag 9, probe on MPI_COMM_WORLD; nothing has come in "


def play(tmp_path, how, device="ideal", **options):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    return Job((sys.executable, str(program), how), 3, device).but(**options).run(), program


@pytest.mark.parametrize("device", first_of("ideal", "mpi-np"))
def test_a_rank_that_failed_ends_the_run_of_those_that_poll_for_it(tmp_path, capfd, device):
    result, program = play(tmp_path, "raises", device, max_wall=100)
    assert result.code == 1
    head, polls, *_ = result.report.splitlines()
    assert head == f"rank 1 left by ValueError at {program}:8 and finalized; ranks 0, 2 wait for it"
    assert polls.endswith(f"polls in MPI_Iprobe at {program}:21, peer 1, tag 9, probe on MPI_COMM_WORLD")
    assert capfd.readouterr().err.count(HINT.format(program)) == 1


def test_so_does_one_that_exits_without_finalizing(tmp_path):
    result, program = play(tmp_path, "exits", max_wall=100)
    assert result.code == Exit.NOT_FINALIZED
    assert "without MPI_Finalize; the other ranks cannot go on without it" in result.report
    assert f"polls in MPI_Test at {program}:18, peer 1, tag 9, for MPI_Irecv" in result.report


@pytest.mark.parametrize("how", first_of("ends", "waits"))
def test_else_a_line_tells_of_it(tmp_path, capfd, how):
    """Another rank may still do something, as far as is known."""
    result, program = play(tmp_path, how, max_sim_time="1s")
    assert result.code == Exit.TIME_LIMIT
    errors = capfd.readouterr().err
    assert errors.count(HINT.format(program)) == 1
    assert ("; rank 1 has ended" in errors) == (how == "ends")
    assert ("rank 1 left with exit code 4" in result.report) == (how == "ends")
