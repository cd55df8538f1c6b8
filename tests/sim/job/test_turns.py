"""Processes of a run that share a processor: the decision with invented times, and a program that looks at its
masks all the time."""

import os
import sys

import pytest

from lanai_host.simulator.spin import NOWHERE
from lanai_sim.job import turns as module
from lanai_sim.job.turns import RunDelay, Turns
from openlanai import Job

US, MS = 1e-6, 1e-3


class Steering:
    processor = NOWHERE

    def here(self):
        return 3


class Play:
    """A simulator whose waits take what they are said to take."""

    def __init__(self, processors=2):
        self.time = self.delay = 0.0
        self.steering = Steering()
        self.turns = Turns(self.steering, processors, lambda: self.delay, lambda: self.time)

    @property
    def shares(self):
        return self.steering.processor == 3

    def waits(self, released, seconds, count=100, delay=0.0, on_one=None):
        """Let so many waits pass. `on_one`: what each takes while a processor is shared. The simulator's own work in
        between takes as long as a wait."""
        for _ in range(count):
            took = on_one if on_one is not None and self.shares else seconds
            self.time += 2 * took + delay
            self.delay += delay if self.shares else 0
            self.turns.waited(released, took)
        return self


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
    play.waits(1, 100 * US, 2 * module.WINDOW, delay=200 * US)
    assert not play.shares
    began = play.time
    while not play.shares:
        play.waits(1, 100 * US, 1)
    first = play.time - began
    assert first < 0.1
    play.waits(1, 100 * US, module.WINDOW, delay=200 * US)
    began = play.time
    while not play.shares:
        play.waits(1, 100 * US, 1)
    assert play.time - began > 1.5 * first  # longer each time


def test_the_delay_until_the_peer_sleeps_is_no_other_work():
    play = Play().waits(1, 100 * US).waits(1, 100 * US, 10 * module.WINDOW, delay=25 * US)
    assert play.shares


def test_pauses_are_short_again_after_quiet_times():
    play = Play()
    for _ in range(8):
        while not play.shares:
            play.waits(1, 100 * US, 10)
        play.waits(1, 100 * US, module.WINDOW, delay=400 * US)
    assert play.turns._pause == module.LAST_PAUSE
    while not play.shares:
        play.waits(1, 100 * US, 10)
    play.waits(1, 100 * US, 10 * module.WINDOW)
    assert play.turns._pause == module.FIRST_PAUSE


def test_the_delay_of_this_thread_grows():
    delay = RunDelay()
    before = delay()
    sum(range(10**6))
    assert delay() >= before >= 0
    delay.close()


def test_where_the_system_tells_no_delay(monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(module.os, "open", refuse)
    assert RunDelay()() == 0


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
