"""Ranks that are killed at random moments of an MPI program: what the ranks print is always the
same, on every device that has NICs and on `ideal`."""

import contextlib
import os
import random
import signal
import sys
import threading

import pytest

from lanai_host.config import HostConfig
from lanai_sim.job.launcher import Run
from lanai_sim.job.restart.plan import Checkpoint, Kill
from openlanai import Job

PROGRAM = """
import sys
import numpy as np
from mpi4py import MPI
world = MPI.COMM_WORLD
n, rank = world.size, world.rank
mine = np.arange(700, dtype=float) + rank
for step in range(ROUNDS):
    got = np.empty_like(mine)
    world.Sendrecv(mine, (rank + 1) % n, 5, got, (rank - 1) % n, 5)
    mine = got * 0.5 + mine
    large = np.full(5000 * (step % 2), float(rank))
    requests = [world.Isend(large, (rank + 1) % n, 6), world.Irecv(other := np.empty_like(large), (rank - 1) % n, 6)]
    MPI.Request.Waitall(requests)
    total = world.allreduce(float(mine.sum() + other.sum()))
    print("rank", rank, "step", step, total, flush=step == 1)
print("ends", rank, mine[:4])
"""
# All its buffers lie where they lay in the beginning. A snapshot allocates and frees in the rank's Python, after which
# what the program allocates may lie elsewhere, and how long a message takes depends on where its bytes lie.
SAME_BUFFERS = """
import numpy as np
from mpi4py import MPI
world = MPI.COMM_WORLD
n, rank = world.size, world.rank
mine, got, total = np.arange(700, dtype=float) + rank, np.empty(700), np.empty(1)
large, other = np.full(5000, float(rank)), np.empty(5000)
world.Barrier()
for step in range(ROUNDS):
    world.Sendrecv(mine, (rank + 1) % n, 5, got, (rank - 1) % n, 5)
    mine += got
    requests = [world.Isend(large, (rank + 1) % n, 6), world.Irecv(other, (rank - 1) % n, 6)]
    MPI.Request.Waitall(requests)
    world.Allreduce(mine[step : step + 1], total)
print("ends", rank, total, mine[:4], other[:4])
"""
RANKS, ROUNDS = 4, 4
KILLS = 10  # in one run
DEVICES = ["mpi-np", "mbcf", "sci", "t3d", "ccu"]
FREE = HostConfig().but(snapshot=0, log_byte=0, restart=0)


def config_of(device, program=PROGRAM, **options):
    command = (sys.executable, "-c", program.replace("ROUNDS", str(ROUNDS)))
    options = {"host": FREE, **options}
    return Job(command, RANKS, device=device, prefix=True).but(**options)


def printed(capfd):
    lines = capfd.readouterr().out.splitlines()
    return [[line for line in lines if line.startswith(f"[{rank}]")] for rank in range(RANKS)]


def play(device, capfd, **options):
    result = config_of(device, **options).run()
    assert (result.code, result.report) == (0, "")
    return result, printed(capfd)


def campaign(device, wanted, kills, capfd):
    """Runs with so many kills each, between the ranks' beginning and their end, until `wanted` ranks were killed. A
    kill does not happen if its rank has ended already."""
    quiet, expected = play(device, capfd)
    started, length = quiet.summary.started, quiet.sim_time - quiet.summary.started
    done = 0
    for seed in range(1, 2 * wanted // kills + 1):
        chance = random.Random(seed)
        moments = [Kill(chance.randrange(RANKS), started + chance.randrange(length)) for _ in range(kills)]
        result, found = play(device, capfd, kills=tuple(moments), checkpoint=Checkpoint(length // 5))
        assert found == expected, (seed, result.notes)
        done += sum("was killed at" in note for note in result.notes)
        if done >= wanted:
            break
    return done


def test_three_kills(capfd):
    assert campaign("ideal", 3, 3, capfd) == 3


@pytest.mark.slow
@pytest.mark.parametrize("device", ["ideal", *DEVICES])
def test_two_hundred_kills(device, capfd):
    assert campaign(device, 200, KILLS, capfd) >= 200


class Killer(threading.Thread):
    """Kills ranks of a run from outside, at random real moments, once they have a snapshot."""

    def __init__(self, one, kills):
        super().__init__()
        self.run_, self.left = one, kills
        self.over = threading.Event()

    def run(self):
        chance = random.Random()
        while self.left and not self.over.wait(chance.random() * 0.3):
            keeper = self.run_.deaths.keepers.get(chance.randrange(RANKS))
            if keeper is not None and keeper.log is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(keeper.rank.pid, signal.SIGKILL)
                    self.left -= 1


@pytest.mark.slow
@pytest.mark.parametrize("device", ["ideal", *DEVICES])
def test_kills_from_outside(device, capfd):
    quiet, expected = play(device, capfd)
    every = (quiet.sim_time - quiet.summary.started) // 5
    config = config_of(device, checkpoint=Checkpoint(every))
    one = Run(config)
    killer = Killer(one, 20)
    killer.start()
    result = one.execute()
    killer.over.set()
    killer.join()
    assert (result.code, result.report) == (0, "")
    assert printed(capfd) == expected
    assert any("was killed at" in note for note in result.notes)


@pytest.mark.slow
@pytest.mark.parametrize("device", DEVICES)
def test_snapshots_at_no_cost_change_no_time(device, capfd):
    """Beside a run with one snapshot, at its beginning: where buffers lie differs from a run without."""
    one, expected = play(device, capfd, program=SAME_BUFFERS, checkpoint=Checkpoint(10**12))
    length = one.sim_time - one.summary.started
    for share in (5, 13, 30):
        several, found = play(device, capfd, program=SAME_BUFFERS, checkpoint=Checkpoint(length // share))
        assert (several.clocks, found) == (one.clocks, expected), share


@pytest.mark.slow
def test_the_log_costs_at_most_five_percent_under_ccu(capfd):
    """CC-26: of the time of a program that does nothing but send; a log that costs a hundred times
    as much is seen."""
    lengths = []
    for factor in (0, 1, 100):
        host = FREE.but(log_byte=factor * HostConfig().log_byte)
        result, _ = play("ccu", capfd, checkpoint=Checkpoint(10**12), host=host)
        lengths.append(result.sim_time - result.summary.started)
    free, usual, dear = lengths
    assert usual <= 1.05 * free < dear
