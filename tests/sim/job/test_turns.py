"""Processes of a run that share a processor: the decision with invented times, and a program that looks at its
masks all the time."""

import os
import signal
import subprocess
import sys
import time

import pytest
from pairs import first_of

from lanai_host.clocks.library import Clock
from lanai_host.simulator.spin import NOWHERE
from lanai_sim.job import system_calls, turns
from lanai_sim.job import turns as module
from lanai_sim.job.system_calls import Times, times
from lanai_sim.job.turns import NOTE, Sleepers, Turns
from openlanai import Job

US, MS = 1e-6, 1e-3


class Steering:
    processor = NOWHERE

    def here(self):
        return 3


class Play:
    """A simulator whose waits take what they are said to take. Its own work in between takes as long as a wait."""

    def __init__(self, processors=2, look=0.0):
        self.time = self.delay = self.own = self.ranks = 0.0
        self.looks, self.look = 0, look  # at the ranks, and how long one takes
        self.steering = Steering()
        own, now = lambda: Times(self.own, self.delay), lambda: self.time
        self.turns = Turns(self.steering, processors, own, self.ranks_ran, now)

    def ranks_ran(self):
        self.looks += 1
        self.time += self.look
        self.own += self.look
        return self.ranks

    @property
    def shares(self):
        return self.steering.processor == 3

    def waits(self, released, seconds, count=100, foreign=0.0, late=0.0, on_one=None):
        """Let so many waits pass. `on_one`: what each takes while a processor is shared. Meanwhile the simulator is
        delayed by other work, or by ranks that are late to sleep."""
        for _ in range(count):
            took = on_one if on_one is not None and self.shares else seconds
            self.time += 2 * took + foreign + late
            self.own += took
            self.ranks += took + late
            self.delay += foreign + late if self.shares else 0
            self.turns.waited(released, took)
        return self

    def until_it_shares(self):
        """Return after how many seconds it does."""
        began = self.time
        while not self.shares:
            self.waits(1, 100 * US, 1)
        return self.time - began


def test_processes_that_take_turns_share_a_processor():
    assert Play().waits(1, 100 * US).shares


def test_not_before_a_few_waits():
    assert not Play().waits(1, 100 * US, 3).shares


def test_with_one_processor_there_is_nothing_to_share():
    assert not Play(1).waits(1, 100 * US).shares


def test_ranks_that_compute_for_long_share_none():
    play = Play().waits(1, 100 * US)
    assert not play.waits(1, 5 * MS).shares
    assert not Play().waits(1, 5 * MS).shares


@pytest.mark.parametrize(("processors", "ranks"), [(2, 2), (2, 64), (64, 2), (64, 64)])
def test_ranks_that_compute_at_the_same_time_share_none(processors, ranks):
    each = 5 * MS
    at_once = min(processors, ranks)
    assert not Play(processors).waits(ranks, each * ranks / at_once, on_one=each * ranks).shares


def test_few_long_waits_among_short_ones_count():
    """Every twentieth time two ranks compute together, which on one processor would take 5 ms longer."""
    play = Play()
    shared = 0
    for _ in range(20):
        for _ in range(20):
            play.waits(1, 100 * US, 1)
            shared += play.shares
        play.waits(2, 5 * MS, 1, on_one=10 * MS)
    assert shared < 40


def test_barriers_of_short_work_share():
    assert Play(2).waits(64, 64 * 20 * US / 2, on_one=64 * 20 * US).shares
    assert not Play(64).waits(64, 20 * US, on_one=64 * 20 * US).shares  # it would take 64 times as long


def test_a_long_pause_is_soon_forgotten():
    play = Play().waits(1, 100 * US).waits(2, 10.0, 1)
    assert not play.shares
    assert play.waits(1, 100 * US, 60).shares


def test_other_work_on_the_processor_ends_it_for_a_while():
    play = Play().waits(1, 100 * US)
    play.waits(1, 100 * US, 3 * module.WINDOW, foreign=200 * US)
    assert not play.shares
    first = play.until_it_shares()
    assert first < 0.1
    play.waits(1, 100 * US, module.WINDOW, foreign=200 * US)  # it looks closely at once
    assert not play.shares
    assert play.until_it_shares() > 1.5 * first  # longer each time


@pytest.mark.parametrize("late", [25 * US, 60 * US, 150 * US, 1 * MS])
def test_the_delay_until_a_rank_sleeps_is_no_other_work(late):
    play = Play().waits(1, 100 * US).waits(1, 100 * US, 20 * module.WINDOW, late=late)
    assert play.shares
    waits = 0
    while play.shares:
        play.waits(1, 100 * US, 1, foreign=100 * US + late, late=late)
        waits += 1
    assert waits <= 3 * module.WINDOW


def test_short_delays_are_not_looked_at_closely():
    assert Play().waits(1, 100 * US, 20 * module.WINDOW, foreign=module.DELAY / 2).looks == 0


def test_looks_at_many_ranks_are_rare():
    play = Play(look=10 * MS).waits(1, 100 * US)
    began = play.time
    play.waits(1, 100 * US, 200 * module.WINDOW, late=100 * US)
    assert play.shares
    assert play.looks * play.look < 0.015 * (play.time - began)


def test_pauses_are_short_again_after_quiet_times():
    play = Play()
    for _ in range(8):
        play.until_it_shares()
        play.waits(1, 100 * US, 2 * module.WINDOW, foreign=400 * US)
    assert play.turns._pause == module.LAST_PAUSE
    play.until_it_shares()
    play.waits(1, 100 * US, 10 * module.WINDOW)
    assert play.turns._pause == module.FIRST_PAUSE


def test_the_times_of_a_thread_grow():
    before = times("thread-self")
    give_up = time.monotonic() + 30
    while times("thread-self").ran <= before.ran and time.monotonic() < give_up:
        sum(range(10**5))
    assert times("thread-self").ran > before.ran > 0
    assert times("thread-self").delayed >= before.delayed >= 0
    assert times(os.getpid()).ran > 0


def test_where_the_system_tells_no_times(monkeypatch):
    assert times(2**30) == (0, 0)  # no such process

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(system_calls.os, "open", refuse)
    assert times("thread-self") == (0, 0)


PROGRAM = """
import os, sys, threading
from mpi4py import MPI
world = MPI.COMM_WORLD
whole, main = os.sched_getaffinity(0), threading.get_native_id()
sys.setswitchinterval(1e-5)
assert len(whole) > 1
over = narrow = False
def look():
    global narrow
    while not (over or (narrow and len(masks) > 50)):
        assert os.sched_getaffinity(0) == whole
        narrow |= len(os.sched_getaffinity(main)) == 1
        made = threading.Thread(target=lambda: masks.append(os.sched_getaffinity(0)))
        made.start()
        made.join()
masks = []
looks = threading.Thread(target=look)
looks.start()
for number in range(60):
    world.sendrecv(number, 1 - world.rank, source=1 - world.rank)
    masks.append(os.sched_getaffinity(0))
    if number % 25 == 0:
        child = os.fork()
        if not child:
            os._exit(0 if os.sched_getaffinity(0) == whole else 1)
        assert os.waitpid(child, 0)[1] == 0
over = True
looks.join()
assert all(mask == whole for mask in masks)
print("narrow" if narrow else "whole", flush=True)
own = {max(whole)}
os.sched_setaffinity(0, own)
for number in range(20):
    world.Barrier()
    assert os.sched_getaffinity(0) == own
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor")
def test_a_program_has_its_own_masks_whenever_it_looks(monkeypatch, capfd):
    monkeypatch.setattr(module, "END", -1.0)  # shares in any case
    monkeypatch.setattr(module, "BEGIN", -1.0)
    monkeypatch.setattr(module, "DELAY", 1e9)
    assert Job((sys.executable, "-c", PROGRAM), 2, "mpi-np", max_wall=100).run().code == 0
    assert "narrow" in capfd.readouterr().out
    assert len(os.sched_getaffinity(0)) > 1


# Ranks that sleep in real time, such as event loops with timers: simulated time passes without them while they sleep.


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
    result = Job((sys.executable, str(program)), 3, device, clock=Clock.REAL, max_wall=300).run()
    assert result.code == 0, result.report
    assert capfd.readouterr().out == "b'ok'\n"
    assert result.notes.count(NOTE) == 1


@pytest.mark.ci
@pytest.mark.parametrize("device", [pytest.param("ideal", marks=pytest.mark.by_hand), "mpi-np"])
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
    runs = [Job((sys.executable, "-c", SHORT), 3, max_wall=300).run() for _ in range(2)]
    assert [(run.code, run.notes) for run in runs] == [(0, ())] * 2
    assert runs[0].clocks == runs[1].clocks
