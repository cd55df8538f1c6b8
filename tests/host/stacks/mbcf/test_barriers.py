"""Barriers by remote writes: none is passed before all ranks have come, whatever the order of the
writes; they send no message and take less time; a lost rank is an error (MB-36)."""

import random
import re
import sys
from collections import deque
from pathlib import Path

import pytest

from lanai_hdl.remote.packets import Status
from lanai_host.operation import ErrorKind
from lanai_host.stacks.mbcf.barriers import SLOTS, Barriers
from lanai_host.stacks.mbcf.layout import ROOM

from .test_mbcf import FAULTS, lanai

PROGRAM = Path(__file__).parent.with_name("t3d") / "barriers.py"
ONLY = """
from mpi4py import MPI
world = MPI.COMM_WORLD
world.Barrier()
world.Barrier()
begin = MPI.Wtime()
for _ in range(20):
    world.Barrier()
if world.rank == 0:
    print((MPI.Wtime() - begin) / 20 * 1e6)
"""
DEAD = """
import os
from mpi4py import MPI
world = MPI.COMM_WORLD
world.Set_errhandler(MPI.ERRORS_RETURN)
world.Barrier()
if world.rank == 0:
    os._exit(1)
try:
    while True:
        world.Barrier()
except MPI.Exception as error:
    print(f"rank {world.rank} sees: {error.Get_error_string()}", flush=True)
os._exit(0)
"""


class Rank:
    """One rank's barriers, on words that `World` moves. Stands for its jobs, its queues and its
    sends too."""

    def __init__(self, rank, ranks):
        self.rank, self.words, self.jobs, self.lost = rank, dict.fromkeys(ranks, 0), deque(), []
        self.barriers = Barriers(self, self, self, ranks)
        self.operations = []

    def add(self, job):
        self.jobs.append(job)

    def token(self, peer):
        return peer

    def barrier_there(self):
        return self.rank

    def barrier_word(self, peer):
        return self.words[peer]

    def lose(self, peer, text):
        self.lost.append((peer, text))

    @property
    def passed(self):
        return sum(operation.done for operation in self.operations)


class World:
    def __init__(self, ranks):
        self.ranks = {rank: Rank(rank, ranks) for rank in ranks}

    def deliver(self, rank):
        """The oldest write of a rank takes effect."""
        job = self.ranks[rank].jobs.popleft()
        (self.ranks[job.token].words[job.offset],) = ROOM.unpack(job.data)
        job.ended(Status.OK)


@pytest.mark.parametrize("ranks", [(0, 1), (0, 1, 2), (3, 5, 6, 9), (0, 1, 2, 3, 4), tuple(range(8)), tuple(range(11))])
@pytest.mark.parametrize("seed", range(10))
def test_none_is_passed_before_all_have_come(ranks, seed):
    chance, world, count = random.Random(seed), World(ranks), 9
    for _ in range(100_000):
        here = world.ranks[chance.choice(ranks)]
        action = chance.choice(["begin", "deliver", "deliver", "look"])
        if action == "begin" and len(here.operations) < count and chance.random() < 0.3:
            here.operations.append(here.barriers.begin(2))
        elif action == "deliver" and here.jobs:
            world.deliver(here.rank)
        elif action == "look":
            here.barriers.look()
        come = min(len(one.operations) for one in world.ranks.values())
        assert all(one.passed <= come for one in world.ranks.values())
        if min(one.passed for one in world.ranks.values()) == count:
            break
    else:
        pytest.fail("not all are passed")
    assert all(one.barriers.idle and one.barriers.passed == count for one in world.ranks.values())


def test_slots_are_passed_in_any_order():
    world = World((0, 1))
    near, far = world.ranks[0].barriers, world.ranks[1].barriers
    first, second = near.begin(0), near.begin(SLOTS - 1)
    others = far.begin(SLOTS - 1)
    while any(one.jobs for one in world.ranks.values()):
        for rank, one in world.ranks.items():
            if one.jobs:
                world.deliver(rank)
        near.look(), far.look()
    assert (first.done, second.done, others.done) == (False, True, True)


def test_all_members_agree_on_who_is_served():
    barriers = World((0, 1, 2)).ranks[0].barriers
    assert barriers.serves((2, 0, 1), SLOTS - 1)
    assert not barriers.serves((0, 1), 0)
    assert not barriers.serves((0, 1, 3), 0)
    assert not barriers.serves((0, 1, 2), SLOTS)
    assert not World((4,)).ranks[4].barriers.serves((4,), 0)


def test_a_lost_rank_ends_all_that_wait_and_all_that_begin():
    here = World((0, 1)).ranks[0]
    waiting = here.barriers.begin(0), here.barriers.begin(0), here.barriers.begin(3)
    here.jobs.popleft().ended(Status.LOST)
    ((peer, text),) = here.lost
    assert peer == 1
    assert "rank 1 cannot be told of a barrier" in text
    here.barriers.fail_all(text)
    for operation in (*waiting, here.barriers.begin(0)):
        assert operation.done
        assert operation.error.kind is ErrorKind.PEER_FAILED
    assert here.barriers.idle


@pytest.mark.parametrize("faults", [(), FAULTS], ids=["clean", "faults"])
def test_barriers_of_all_kinds_are_passed(faults):
    more = [word for fault in faults for word in ("--fault", fault)]
    run = lanai("-q", "-n", 3, "--device", "mbcf", *more, sys.executable, PROGRAM)
    assert (run.returncode, run.stdout) == (0, "passed\n" * 3)


def test_a_barrier_takes_less_time_than_by_messages():
    by = {}
    for option in (0, 1):
        run = lanai("-q", "-n", 2, "--device", "mbcf", "--option", f"barrier={option}", sys.executable, "-c", ONLY)
        assert (run.returncode, run.stderr) == (0, "")
        by[option] = float(run.stdout)
    assert by == {0: pytest.approx(3.19, abs=0.01), 1: pytest.approx(2.23, abs=0.01)}


def test_a_rank_that_died_is_an_error_at_the_one_that_tells_it():
    run = lanai("-q", "-n", 3, "--device", "mbcf", "--survive-death", sys.executable, "-c", DEAD)
    told = r"rank [12] sees: MPI_Barrier: .*rank 0 \(pid \d+\) exited with code 1"
    assert [bool(re.fullmatch(told, line)) for line in run.stdout.splitlines()] == [True] * 2, run.stdout
