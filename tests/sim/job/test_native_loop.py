"""Turns of a run in C. `test_continuations.py` compares what they do with what Python does."""

import ctypes
import signal
import sys
from time import sleep

import pytest

from lanai_host.simulator.protocol import unpack_wait
from lanai_sim.job import launcher
from lanai_sim.job.native_loop import NativeLoop
from lanai_sim.job.nic_world import NicWorld
from lanai_sim.job.result import Ending
from openlanai import Job

TURNS = """
import os, signal, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
word = bytearray(4)
for turn in range(int(sys.argv[1])):
    for rank in (0, 1):
        world.Send(word, dest=1 - rank) if world.rank == rank else world.Recv(word, source=rank)
    if turn == 40 and world.rank == 1 and sys.argv[2:]:
        os.kill(os.getpid(), getattr(signal, sys.argv[2]))
"""
MANY = 1_000_000


def played(*arguments, **options):
    command = (sys.executable, "-c", TURNS, *map(str, arguments))
    return launcher.run(Job(command, 2, "mpi-np", capture=True).but(**options), NicWorld)


def test_a_rank_that_is_killed_meanwhile_ends_the_run():
    result = played(MANY, "SIGKILL")
    assert result.ending == Ending.RANK_FAILED
    assert result.code == 128 + signal.SIGKILL
    assert "rank 1" in result.report


@pytest.mark.parametrize("ending", [Ending.INTERRUPTED, Ending.WALL_LIMIT])
def test_the_run_can_be_ended_meanwhile(ending, monkeypatch):
    calls = []

    def look_after(loop):
        calls.append(1)
        if len(calls) == 3 and ending == Ending.INTERRUPTED:
            signal.raise_signal(signal.SIGTERM)
        elif len(calls) == 3:
            loop._cluster.kernel.deadline = 0.0
        look(loop)

    look = NativeLoop._look_after
    monkeypatch.setattr(NativeLoop, "_look_after", look_after)
    result = played(MANY)
    assert result.ending == ending
    assert "MPI_Recv" in result.report


def test_it_is_known_which_rank_waits_and_what_for(monkeypatch):
    seen = []

    def look_after(loop):
        ranks = [served.rank for served in loop._served.values()]
        for rank in ranks:
            _, runs, why = world[0].look(rank)
            seen.append((runs, unpack_wait(why).call if why else ""))
        look(loop)

    class World(NicWorld):
        def begin(self):
            world.append(self)
            super().begin()

    world, look = [], NativeLoop._look_after
    monkeypatch.setattr(NativeLoop, "_look_after", look_after)
    command = (sys.executable, "-c", TURNS, "100")
    assert launcher.run(Job(command, 2, "mpi-np", capture=True), World).code == 0
    assert len(seen) >= 10
    assert {frozenset(pair) for pair in zip(seen[::2], seen[1::2], strict=True)} == {
        frozenset({(True, ""), (False, "MPI_Recv")})
    }


def test_python_looks_soon_though_turns_take_long(monkeypatch):
    """So that a signal or a limit ends the run soon, however many NICs there are."""

    class World(NicWorld):
        def boot(self):
            super().boot()
            run, calls = self.engine._native.engine_run, self.engine.calls()

            def slow(engine, limit):
                sleep(0.06)
                return run(engine, limit)

            self.slow = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint64)(slow)
            address = ctypes.cast(self.slow, ctypes.c_void_p).value
            self.engine.calls = lambda: calls._replace(run=address)

    looks, look = [], NativeLoop._look_after
    monkeypatch.setattr(NativeLoop, "_look_after", lambda loop: looks.append(1) or look(loop))
    command = (sys.executable, "-c", TURNS, "8")
    assert launcher.run(Job(command, 2, "mpi-np", capture=True), World).code == 0
    assert len(looks) >= 8


@pytest.mark.parametrize("size", [3_000, 40_000])
def test_writes_of_any_size_are_served(size, monkeypatch):
    """Requests that are larger than what is received at first are left to Python, and the next ones are not."""
    program = (
        "from mpi4py import MPI\nworld = MPI.COMM_WORLD\n"
        f"sent = bytes(i % 251 for i in range({size}))\ngot = bytearray({size})\n"
        "for turn in range(4):\n"
        "    for rank in (0, 1):\n"
        "        world.Send(sent, dest=1 - rank) if world.rank == rank else world.Recv(got, source=rank)\n"
        "assert got == sent\nprint(MPI.Wtime())\n"
    )
    said = []
    for used in (True, False):
        monkeypatch.setattr(NativeLoop, "used", used)
        result = launcher.run(Job((sys.executable, "-c", program), 2, "sci", capture=True), NicWorld)
        assert result.code == 0, result.report
        said.append((result.clocks, result.summary.spent, result.outputs))
    assert said[0] == said[1]
