"""Ranks that wait for each other in system calls, which the simulation does not see: simulated time
passes for the others."""

import errno
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from pairs import first_of

from lanai_sim.job import system_calls
from lanai_sim.job.result import Exit
from lanai_sim.job.system_calls import end_left_sessions, end_sessions
from openlanai import Job

PEER = "import socket; a, b = socket.socketpair(); "
WAITING = {
    "import socket; a = socket.socket(); a.bind(('127.0.0.1', 0)); a.listen(); a.accept()": "accept",
    PEER + "a.recv(1)": "recvfrom",
    PEER + "import select; select.select([a], [], [])": "pselect",
    "import os; r, w = os.pipe(); os.read(r, 1)": "read",
    PEER + "import threading; t = threading.Thread(target=a.recv, args=(1,)); t.start(); t.join()": "recvfrom",
    "import time; time.sleep(60)": "",
    "import subprocess; subprocess.run(['sleep', '60'])": "",
    "import sys; sys.stdin.read()": "",
    PEER + "import threading; threading.Thread(target=a.recv, args=(1,)).start()\nwhile True: pass": "",
}


def test_waiting_for_another_process_is_told_from_computing_and_sleeping():
    """A sleep, a child's work and the user's input last as long as the machine has it: no simulated time may pass."""
    pids = {}
    try:
        for text in WAITING:
            pids[text] = subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE)
        give_up = time.monotonic() + 20
        found = {}
        while found != WAITING and time.monotonic() < give_up:
            time.sleep(0.05)
            found = {text: system_calls.waits_in(process.pid) for text, process in pids.items()}
        assert found == WAITING
        watch = system_calls.Watch()
        first = [watch.waits(process.pid) for process in pids.values()]
        assert not any(first)
        time.sleep(system_calls.WAIT_SECONDS)
        assert {text: watch.waits(process.pid) for text, process in pids.items()} == {
            text: bool(call) for text, call in WAITING.items()
        }
    finally:
        for process in pids.values():
            process.kill()
            process.communicate()


def test_a_process_that_is_gone_does_not_wait():
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    assert system_calls.waits_in(process.pid) == ""


JOIN = """\
import socket
from mpi4py import MPI
world = MPI.COMM_WORLD
server = socket.create_server(("127.0.0.1", 0), backlog=0)
address = world.bcast(server.getsockname(), 0)
world.Barrier()
begun = MPI.Wtime()
if world.rank == 0:
    own = server.accept()[0]  # long before rank 1 comes to its connect()
else:
    for number in range(3):
        MPI.COMM_SELF.sendrecv(number, 0, source=0)
    own = socket.create_connection(address)
joined = MPI.Comm.Join(own.fileno())
text = joined.bcast("hello" if world.rank == 0 else None, MPI.ROOT if world.rank == 0 else 0)
joined.Disconnect()
print(world.rank, text, f"{1e9 * (MPI.Wtime() - begun):.3f}", flush=True)
"""


@pytest.mark.parametrize("device", first_of("mpi-np", "ideal"))
def test_a_rank_may_wait_in_accept_for_one_that_waits_for_simulated_time(device, tmp_path, capfd):
    program = tmp_path / "join.py"
    program.write_text(JOIN)
    times = set()
    for _ in range(2 if device == "ideal" else 1):
        result = Job((sys.executable, str(program)), 2, device, max_wall=100).run()
        assert result.code == 0, result.report
        printed = sorted(capfd.readouterr().out.splitlines())
        assert [line.split()[:2] for line in printed] == [["0", "None"], ["1", "hello"]]
        times.add(tuple(printed))
    assert len(times) == 1, "simulated time does not depend on how long the ranks waited"


@pytest.mark.ci
def test_a_rank_to_which_no_rank_connects_does_not_stop_the_others():
    """The report says where it waits."""
    text = (
        "from mpi4py import MPI; import socket\nrank = MPI.COMM_WORLD.rank\n"
        "if not rank: socket.create_server(('127.0.0.1', 0)).accept()\n"
        "for _ in range(9): MPI.COMM_SELF.sendrecv(1, 0, source=0)\nMPI.COMM_WORLD.recv(source=0)"
    )
    result = Job((sys.executable, "-c", text), 2, max_wall=8).run()
    assert result.code == Exit.TIME_LIMIT
    assert "rank 0 at" in result.report
    assert ": waits in the system's accept()" in result.report
    assert "waits in MPI_Mprobe at <string>:5, peer 0" in result.report


def test_waits_that_cannot_be_seen_are_told_once(monkeypatch, capfd):
    def refused(thread):
        raise PermissionError(errno.EACCES, "Permission denied", str(thread / "syscall"))

    text = (
        "from mpi4py import MPI; import socket\nrank = MPI.COMM_WORLD.rank\n"
        "if not rank: socket.create_server(('127.0.0.1', 0)).accept()\nMPI.COMM_WORLD.recv(source=0)"
    )
    job = Job((sys.executable, "-c", text), 2, max_wall=6)
    assert system_calls.unseen(os.getpid()) == ""
    monkeypatch.setattr(system_calls, "_syscall", refused)
    assert job.run().code == Exit.TIME_LIMIT
    said = capfd.readouterr().err
    assert said.count("simulated time stands still while a rank waits outside of MPI") == 1
    assert re.search(r"lanai: note: /proc/\d+/syscall: Permission denied; ", said)


# Processes that ranks have started end with the run, whatever process groups they have.


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
