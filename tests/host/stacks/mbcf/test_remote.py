"""Remote memory and messages use the same adapter: in many interleavings every byte is right, and
neither takes the end of the other's command."""

import ctypes
import random
import re
import sys
from collections import deque
from pathlib import Path

import pytest

from lanai_hdl.remote.packets import Status
from lanai_host.adapter.operation import Token
from lanai_host.body import Run
from lanai_host.device import SendMode
from lanai_host.operation import ErrorKind, Wait
from lanai_host.remote import TOKEN_BYTES, Access, Atomic
from lanai_host.stacks.mbcf.barriers import SLOTS, Barriers
from lanai_host.stacks.mbcf.layout import ROOM

from ..adapters import World, memory
from .test_mbcf import FAULTS, lanai

ALL = Access.READ | Access.WRITE | Access.ATOMIC
ROUNDS, SPAN = 12, 3000


class Rank:
    """Puts to the other's memory, gets what it has put, adds to a word there, and exchanges messages
    meanwhile."""

    def __init__(self, number, seed):
        self.number, self.chance = number, random.Random(seed + 1000 * number)
        self.blocks = []  # which must last
        self.begun = []
        self.checks = []  # block, what it must hold at the end

    def __call__(self, device):
        remote, other = device.remote, 1 - self.number
        segment = remote.allocate(4096 + ROUNDS * SPAN)
        exposure = remote.expose(segment.address, segment.size, ALL)
        theirs, token = self.body(TOKEN_BYTES)
        self.begun.append(device.receive(other, 0, 0, token))
        self.send(device, other, 0, exposure.token.ljust(TOKEN_BYTES, b"\0"))
        self.end(device)
        reach = remote.reach(other, bytes(theirs.view)[: len(exposure.token)])
        for turn in range(ROUNDS):
            self.turn(device, reach, turn)
        self.end(device)
        self.begun.append(remote.settle(other))
        self.end(device)
        for block, expected in self.checks:
            assert bytes(block.view) == expected
        _, end = self.body(1)
        self.begun.append(device.receive(other, 2, 0, end))
        self.send(device, other, 2, b"!")  # nothing more comes to the memory here
        self.end(device)
        remote.conceal(exposure)

    def turn(self, device, reach, turn):
        """A put, a message each way, in any order, and then what shows that the put came first."""
        remote, other, chance = device.remote, reach.rank, self.chance
        data = bytes(chance.randrange(256) for _ in range(chance.choice([1, 40, 1023, 1024, SPAN])))
        for step in chance.sample(["receive", "send", "put"], 3):
            if step == "receive":
                self.begun.append(device.receive(other, 1, 0, self.expect(bytes([other, turn]) * (SPAN // 2))))
            elif step == "send":
                self.send(device, other, 1, bytes([self.number, turn]) * (SPAN // 2))
            else:
                self.begun.append(remote.put(reach, 4096 + turn * SPAN, self.body(len(data), data)[1]))
            if chance.random() < 0.3:
                device.progress()
        self.begun.append(remote.get(reach, 4096 + turn * SPAN, self.expect(data)))
        before = self.expect((turn << 20).to_bytes(4, "little"))
        self.begun.append(remote.atomic(reach, 8, Atomic.ADD, 4, 1 << 20, 0, before.address))

    def body(self, size, data=b""):
        block = memory(size, data)
        self.blocks.append(block)
        return block, Run(block.address, size)

    def expect(self, data):
        block, body = self.body(len(data))
        self.checks.append((block, data))
        return body

    def send(self, device, dest, tag, data):
        mode = self.chance.choice(list(SendMode))
        self.begun.append(device.send(dest, tag, 0, self.body(len(data), data)[1], mode))

    def end(self, device):
        for operation in self.begun:
            while not operation.done:
                device.wait([operation], Wait("test"))
            assert operation.error is None, operation.error
        self.begun.clear()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("requests", [False, True])
def test_memory_and_messages_share_the_adapter(seed, requests):
    World(2, seed).play([Rank(0, seed), Rank(1, seed)], requests=requests, ask_from=0)


def test_a_receive_that_is_taken_back_leaves_the_memory_of_a_put_to_the_adapter():
    """Both lie in one page, which the receive's sender may write to until then."""
    ends = []

    def origin(device):
        remote = device.remote
        page = memory(4096, b"put" * 600)
        theirs = memory(TOKEN_BYTES)
        token = device.receive(1, 0, 0, Run(theirs.address, TOKEN_BYTES))
        device.wait([token], Wait("test"))
        never = device.receive(1, 7, 0, Run(page.address + 2000, 2000))
        device.progress()
        put = remote.put(remote.reach(1, bytes(theirs.view)[: Token.SIZE]), 0, Run(page.address, 1800))
        assert device.cancel(never)
        settled = remote.settle(1)
        device.wait([settled], Wait("test"))
        ends.extend([put.error, settled.error])
        over = memory(1)
        device.wait([device.send(1, 1, 0, Run(over.address, 1), SendMode.SYNCHRONOUS)], Wait("test"))

    def target(device):
        segment = device.remote.allocate(4096)
        exposure = device.remote.expose(segment.address, segment.size, ALL)
        token, over = memory(TOKEN_BYTES, exposure.token.ljust(TOKEN_BYTES, b"\0")), memory(1)
        sent = device.send(0, 0, 0, Run(token.address, TOKEN_BYTES), SendMode.SYNCHRONOUS)
        received = device.receive(0, 1, 0, Run(over.address, 1))
        for operation in (sent, received):
            while not operation.done:
                device.wait([operation], Wait("test"))
        assert bytes((ctypes.c_char * 1800).from_address(segment.address)) == b"put" * 600

    for seed in range(20):
        World(2, seed).play([origin, target])
    assert ends == [None] * 40


# Barriers by remote writes: none is passed before all ranks have come, whatever the order of the writes; they send no
# message and take less time; a lost rank is an error (MB-36).


PROGRAM = Path(__file__).parent.with_name("t3d") / "programs.py", "barriers"
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


class BarrierRank:
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


class BarrierWorld:
    def __init__(self, ranks):
        self.ranks = {rank: BarrierRank(rank, ranks) for rank in ranks}

    def deliver(self, rank):
        """The oldest write of a rank takes effect."""
        job = self.ranks[rank].jobs.popleft()
        (self.ranks[job.token].words[job.offset],) = ROOM.unpack(job.data)
        job.ended(Status.OK)


@pytest.mark.parametrize("ranks", [(0, 1), (0, 1, 2), (3, 5, 6, 9), (0, 1, 2, 3, 4), tuple(range(8)), tuple(range(11))])
@pytest.mark.parametrize("seed", range(10))
def test_none_is_passed_before_all_have_come(ranks, seed):
    chance, world, count = random.Random(seed), BarrierWorld(ranks), 9
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
    world = BarrierWorld((0, 1))
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
    barriers = BarrierWorld((0, 1, 2)).ranks[0].barriers
    assert barriers.serves((2, 0, 1), SLOTS - 1)
    assert not barriers.serves((0, 1), 0)
    assert not barriers.serves((0, 1, 3), 0)
    assert not barriers.serves((0, 1, 2), SLOTS)
    assert not BarrierWorld((4,)).ranks[4].barriers.serves((4,), 0)


def test_a_lost_rank_ends_all_that_wait_and_all_that_begin():
    here = BarrierWorld((0, 1)).ranks[0]
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
    run = lanai("-q", "-n", 3, "--device", "mbcf", *more, sys.executable, *PROGRAM)
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
