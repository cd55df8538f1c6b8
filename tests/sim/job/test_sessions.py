"""Processes that ranks have started end with the run, whatever process groups they have."""

import os
import signal
import subprocess
import sys
import time

import pytest

from lanai_sim.job.system_calls import end_left_sessions, end_sessions
from openlanai import Job

LEAVES = """
import os, time
for own_group in (False, True):
    pid = os.fork()
    if not pid:
        if own_group:
            os.setpgid(0, 0)
        time.sleep(600)
    print(pid, flush=True)
"""


def has_ended(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(") ")[2][0] in "ZX"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("ends", ["", "import os; os.kill(os.getpid(), 9)"])
def test_no_process_that_a_rank_has_started_is_left(ends):
    program = ["python", "-c", LEAVES + "from mpi4py import MPI\nMPI.COMM_WORLD.barrier()\n" + ends]
    result = Job(program, ranks=2, capture=True).run()
    assert result.ok is not bool(ends)
    left = [int(pid) for output in result.outputs for pid in output.stdout.split()]
    assert len(left) == 4
    assert all(has_ended(pid) for pid in left)


def test_other_sessions_live_on():
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    one, other = (subprocess.Popen(sleep, start_new_session=True) for _ in range(2))
    try:
        end_sessions({one.pid})
        assert one.wait(60) == -signal.SIGKILL
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
    end_sessions({one.pid, other.pid})  # nobody is left


def test_a_session_of_someone_who_got_the_number_again_lives_on():
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    try:
        end_left_sessions({other.pid})
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_process_that_has_ended_and_that_nobody_reaps_is_none_that_is_left():
    begun = time.monotonic()
    leader = subprocess.Popen(["true"], start_new_session=True)
    os.waitid(os.P_PID, leader.pid, os.WEXITED | os.WNOWAIT)
    end_sessions({leader.pid})
    assert time.monotonic() - begun < 60
    assert leader.wait() == 0
