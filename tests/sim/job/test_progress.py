"""The line on the terminal that tells how a long run is getting on."""

import io
import re
import sys
import time

import pytest

from lanai_sim.job import progress
from lanai_sim.job.job import Job
from lanai_sim.job.progress import Progress, pace

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
