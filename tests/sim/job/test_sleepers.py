"""Ranks that sleep in real time, such as event loops with timers: simulated time passes without
them while they sleep."""

import os
import signal
import subprocess
import sys
import time

import pytest
from pairs import first_of

from lanai_host.clocks.library import Clock
from lanai_sim.job import turns
from lanai_sim.job.system_calls import Times
from lanai_sim.job.turns import NOTE, Sleepers
from openlanai import Job

CHILD = "import subprocess, time; subprocess.Popen(['sleep', '60'])\n"
PROCESSES = {
    "import time\nwhile True: time.sleep(0.002)": True,
    "import time; time.sleep(60)": True,
    "import threading\nwhile True: threading.Event().wait(0.01)": True,
    "import asyncio; asyncio.run(asyncio.sleep(60))": True,
    "import socket; socket.create_server(('127.0.0.1', 0)).accept()": True,
    CHILD + "time.sleep(60)": True,
    "while True: pass": False,
    "import time\nwhile True:\n  time.sleep(0.01)\n  sum(range(1_000_000))": False,
    "import sys; sys.stdin.read()": False,
    "import subprocess; subprocess.run(['sleep', '60'])": False,
    "import subprocess; subprocess.run([sys.executable, '-c', 'while True: pass'], timeout=60)": False,
}


def test_sleepers_are_told_from_processes_that_compute_or_wait_for_their_own_children(monkeypatch):
    monkeypatch.setattr(turns, "PATIENCE", 0.5)
    pids = {}
    try:
        for text in PROCESSES:
            pids[text] = subprocess.Popen(
                [sys.executable, "-c", f"import sys; {text}"], stdin=subprocess.PIPE, start_new_session=True
            )
        judge, give_up = Sleepers(), time.monotonic() + 20
        wanted = {text for text, sleeps in PROCESSES.items() if sleeps}
        while not wanted <= {text for text, process in pids.items() if judge.knows(process.pid)}:
            for process in pids.values():
                judge.sleeps(process.pid, 0)
            time.sleep(0.02)
            assert time.monotonic() < give_up
        assert {text for text, process in pids.items() if judge.knows(process.pid)} == wanted
    finally:
        for process in pids.values():
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def test_a_process_that_calls_mpi_now_and_then_is_not_a_sleeper(monkeypatch):
    monkeypatch.setattr(turns, "PATIENCE", 0.1)
    with subprocess.Popen([sys.executable, "-c", "import time\nwhile True: time.sleep(0.002)"]) as process:
        try:
            judge = Sleepers()
            for clock in range(20):
                assert not judge.sleeps(process.pid, clock), "its clock has moved"
                time.sleep(0.02)
        finally:
            process.kill()


LOOP = """\
import asyncio, socket
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank == 0:
    async def tick():
        while True: await asyncio.sleep(0.005)
    async def main():
        done = asyncio.Event()
        async def handle(reader, writer):
            await reader.read(2); writer.write(b"ok"); await writer.drain(); done.set()
        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        world.bcast(server.sockets[0].getsockname()[1]); world.Barrier()
        ticking = asyncio.ensure_future(tick()); await done.wait(); ticking.cancel()
    asyncio.run(main())
else:
    port = world.bcast(None); world.Barrier()
    for _ in range(20): world.sendrecv(None, 3 - world.rank, source=3 - world.rank)
    if world.rank == 1:
        own = socket.create_connection(("127.0.0.1", port)); own.sendall(b"hi"); print(own.recv(2), flush=True)
world.Barrier()
"""


@pytest.mark.parametrize("device", first_of("mpi-np", "ideal"))
def test_an_event_loop_with_timers_does_not_stop_simulated_time(device, monkeypatch, tmp_path, capfd):
    monkeypatch.setattr(turns, "PATIENCE", 0.3)
    program = tmp_path / "loop.py"
    program.write_text(LOOP)
    result = Job((sys.executable, str(program)), 3, device, clock=Clock.REAL, max_wall=30).run()
    assert result.code == 0, result.report
    assert capfd.readouterr().out == "b'ok'\n"
    assert result.notes.count(NOTE) == 1


@pytest.mark.ci
@pytest.mark.parametrize("device", ["ideal", "mpi-np"])
def test_an_event_loop_beside_other_work(device, busy_machine, tmp_path, capfd):
    program = tmp_path / "loop.py"
    program.write_text(LOOP)
    result = Job((sys.executable, str(program)), 3, device, clock=Clock.REAL, max_wall=600).run()
    assert result.code == 0, result.report
    assert capfd.readouterr().out == "b'ok'\n"
    assert result.notes.count(NOTE) == 1


def test_a_sleeper_is_judged_by_its_own_time(monkeypatch):
    """Not by that in which the machine had other work: neither as its work nor as its sleep."""
    now, threads = [0.0], {}
    monkeypatch.setattr(turns.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(turns, "sleeps_in", lambda pid: "nanosleep")
    monkeypatch.setattr(turns, "times_of_all", lambda pid: dict(threads[pid]))

    def judged(seconds, *last):
        judge, now[0] = Sleepers(), 0.0
        threads[1] = {str(number): Times(5.0, 7.0) for number in range(len(last))}
        judge.sleeps(1, 0)
        now[0] = seconds
        threads[1] = {str(number): Times(5.0 + ran, 7.0 + delayed) for number, (ran, delayed) in enumerate(last)}
        return judge.sleeps(1, 0)

    assert judged(2.5, (0.1, 0.0))
    assert judged(40.0, (0.1, 37.5)), "an event loop on a busy machine"
    assert not judged(2.5, (1.0, 0.0))
    assert not judged(40.0, (1.0, 37.5)), "it has computed for a third of what it had"
    assert not judged(40.0, (0.1, 38.5)), "it has had 1.5 s"
    assert not judged(2.5, (0.15, 0.0), (0.15, 0.0)), "two threads"
    assert judged(2.5, (0.1, 0.0), (0.1, 0.0))


SHORT = """\
import time
from mpi4py import MPI
world = MPI.COMM_WORLD
for turn in range(3):
    if turn == world.rank: time.sleep(0.15)
    if world.rank < 2: world.sendrecv(None, 1 - world.rank, source=1 - world.rank)
world.Barrier()
"""


def test_time_stands_still_for_ranks_that_sleep_for_a_while():
    runs = [Job((sys.executable, "-c", SHORT), 3, max_wall=30).run() for _ in range(2)]
    assert [(run.code, run.notes) for run in runs] == [(0, ())] * 2
    assert runs[0].clocks == runs[1].clocks
