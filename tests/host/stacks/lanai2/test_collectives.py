"""Collectives that modelled NICs carry on, as the device offers them."""

import random
import sys
from pathlib import Path

import pytest
import warm

from lanai_hdl.remote.config import Remote
from lanai_host.body import NOTHING
from lanai_host.device import Combine, SendMode
from lanai_host.operation import ErrorKind, Wait
from lanai_host.stacks.lanai2.device import Lanai2

from ..adapters import Deadlock, World
from .test_traffic import finish, met

MESSAGES = Path(__file__).parents[1] / "messages.py"
REMOTE = Remote(processes=1, match_cells=16, groups=2)
MASK = (1 << 64) - 1


def wait(device, *operations):
    for operation in operations:
        while not operation.done:
            device.wait([operation], Wait("test"))


def play(program, ranks=3, seed=1):
    """Run `program(device, collectives)` on each rank, once all are in group 1."""

    def run(device):
        collectives = device.collectives
        collectives.join(1, range(ranks))
        met_all(device, ranks)
        for lane in range(2):
            collectives.open(1, lane)
        program(device, collectives)

    World(ranks, seed, Lanai2, REMOTE).play([run] * ranks)


def met_all(device, ranks):
    """Return when all ranks have come."""
    others = [rank for rank in range(ranks) if rank != device.rank]
    receives = [device.receive(rank, 0, 5, NOTHING) for rank in others]
    finish(device, *receives, *(device.send(rank, 0, 5, NOTHING, SendMode.STANDARD) for rank in others))


@pytest.mark.parametrize("ranks", [2, 3, 6])
def test_collectives_of_a_lane_are_in_order_and_lanes_are_apart(ranks):
    def program(device, collectives):
        chance = random.Random(device.rank)
        begun = {0: [], 1: []}
        count = 12
        while any(len(of_lane) < count for of_lane in begun.values()):
            lane = chance.choice([lane for lane in begun if len(begun[lane]) < count])
            number = len(begun[lane])
            value = 100 * number + device.rank
            begun[lane].append(collectives.combine(1, lane, number, Combine.ADD, value))
            if chance.random() < 0.3:
                device.progress()
        for of_lane in begun.values():
            wait(device, *of_lane)
            total = sum(range(ranks))
            assert [one.value for one in of_lane] == [100 * number * ranks + total for number in range(count)]
            assert all(one.error is None and one.posted.done for one in of_lane)

    for seed in range(3):
        play(program, ranks, seed)


def test_a_group_that_is_joined_again_begins_anew():
    def program(device, collectives):
        for number in range(3):
            collectives.join(1, range(2))
            met_all(device, 2)
            collectives.open(1, 0)
            operation = collectives.combine(1, 0, number, Combine.OR, 1 << device.rank)
            wait(device, operation)
            assert operation.value == 3

    play(program, 2)


def test_what_a_lane_has_begun_waits_until_it_is_open():
    def program(device, collectives):
        early = collectives.combine(1, 2, 1, Combine.MIN, MASK if device.rank else 5)
        wait(device, collectives.combine(1, 0, 0, Combine.OR, 0))
        device.progress()
        assert not early.done
        assert not early.posted.done
        collectives.open(1, 2)
        wait(device, early)
        assert early.value == MASK  # -1

    play(program, 2)


@pytest.mark.parametrize("odd", range(3))
def test_two_names_are_an_error_at_all_and_the_lane_goes_on(odd):
    def program(device, collectives):
        wrong = collectives.combine(1, 0, int(device.rank == odd), Combine.OR, 0)
        well = collectives.combine(1, 0, 2, Combine.ADD, 1)
        wait(device, wrong, well)
        assert wrong.error.kind is ErrorKind.MIXED
        assert well.error is None
        assert well.value == 3

    play(program)


def test_a_member_whose_nic_does_not_know_the_group_is_named():
    """It has met the others by messages of another call. It is not lost."""

    def program(device, collectives):
        if device.rank:
            finish(device, device.receive(0, 0, 5, NOTHING))
            return
        collectives.join(0, range(2))
        collectives.open(0, 0)
        wrong = collectives.combine(0, 0, 0, Combine.OR, 0)
        wait(device, wrong)
        assert (wrong.error.kind, wrong.error.text) == (ErrorKind.MIXED, "rank 1 makes another call")
        finish(device, device.send(1, 0, 5, NOTHING, SendMode.STANDARD))

    play(program, 2)


def test_a_root_that_does_not_come_is_a_deadlock():
    def program(device, collectives):
        if device.rank:
            wait(device, collectives.spread(1, 0, 0, 0, 0))

    with pytest.raises(Deadlock):
        play(program, 2)


@pytest.mark.parametrize("ranks", [2, 3, 6])
def test_values_spread_in_any_number_while_members_are_late(ranks):
    """Also among others in their lane. A root need not wait, and a member has each value in turn."""

    def program(device, collectives):
        chance, calls = random.Random(device.rank), random.Random(ranks)
        begun = []
        for number in range(30):
            root, name = calls.randrange(ranks), number % 7
            if calls.random() < 0.2:
                begun.append((collectives.combine(1, 0, name, Combine.ADD, number), ranks * number))
            else:
                value = number if device.rank == root else MASK
                begun.append((collectives.spread(1, 0, name, root, value), number))
            if chance.random() < 0.1:
                wait(device, begun[-1][0])
        wait(device, *(one for one, _ in begun))
        assert [one.value for one, _ in begun] == [value for _, value in begun]
        assert all(one.error is None for one, _ in begun)

    for seed in range(4):
        play(program, ranks, seed)


def test_a_root_is_two_ahead_of_a_late_member_and_no_more():
    def program(device, collectives):
        if device.rank:
            finish(device, device.receive(0, 0, 5, NOTHING))
        begun = [collectives.spread(1, 0, number, 0, 5 + number) for number in range(3)]
        if device.rank == 0:
            wait(device, *begun[:2], begun[2].posted)
            assert not begun[2].done
            finish(device, device.send(1, 0, 5, NOTHING, SendMode.STANDARD))
        wait(device, *begun)
        assert [one.value for one in begun] == [5, 6, 7]

    play(program, 2)


def test_a_lost_rank_ends_the_collectives_of_its_groups():
    def program(device, collectives):
        if device.rank < 2:
            collectives.join(0, range(2))
        met_all(device, 3)
        waits = [collectives.combine(1, 0, n, Combine.OR, 0) for n in range(2)] if device.rank < 2 else []
        if device.rank < 2:
            collectives.lose(2, "rank 2 is lost")
            waits.append(collectives.combine(1, 1, 0, Combine.OR, 0))
            assert [one.error.kind for one in waits] == [ErrorKind.PEER_FAILED] * 3
            assert all(one.posted.done and one.error.text == "rank 2 is lost" for one in waits)
            collectives.open(0, 0)
            well = collectives.combine(0, 0, 0, Combine.ADD, 4)
            wait(device, well)
            assert well.value == 8

    play(program, 3)


def test_only_numbers_for_which_the_nic_has_room_are_taken():
    def program(device):
        assert [device.collectives.takes(number, (0, 1)) for number in range(4)] == [True, True, False, False]
        assert not device.collectives.takes(0, (0,))

    World(2, 1, Lanai2, REMOTE).play([met(program)] * 2)


WRONG = """
from mpi4py import MPI
import numpy as np
world = MPI.COMM_WORLD
world.Set_errhandler(MPI.ERRORS_RETURN)
odd = world.rank == 1
mine, sums = np.ones(1, "i4" if odd else "i8"), np.zeros(1, "i4" if odd else "i8")

def told(call):
    try:
        call()
    except MPI.Exception as error:
        return error.Get_error_class() == MPI.ERR_TRUNCATE
    return False

def reduce():
    world.Allreduce(mine, sums)

found = told(world.Barrier if odd else reduce), told(reduce), told(lambda: world.Bcast(mine, 0))
total = np.zeros(1, "i8")
world.Allreduce(np.ones(1, "i8"), total)
print(*found, total[0], flush=True)
"""


def test_ranks_whose_lengths_or_calls_differ_are_told():
    """In the first collective of a communicator too. But not the root of a bcast, who waits for nothing."""
    run = warm.lanai("run", "-q", "-n", 3, "--device", "lanai2", sys.executable, "-c", WRONG, timeout=300)
    assert sorted(run.stdout.splitlines()) == ["True True False 3", "True True True 3", "True True True 3"], run.stderr


@pytest.mark.ci
def test_messages_and_collectives_come_through_faults_of_all_kinds():
    """Packets are lost, damaged, doubled and late, those with values of collectives too."""
    faults = [f"{kind} * rate=0.01 seed=3" for kind in ("drop", "corrupt", "duplicate", "reorder")]
    options = ("-q", "-n", 5, "--device", "lanai2", *(word for fault in faults for word in ("--fault", fault)))
    run = warm.lanai("run", *options, sys.executable, MESSAGES, "4,2000", timeout=600)
    assert (run.returncode, "all there" in run.stdout) == (0, True), run.stderr
    assert all(f"lanai: fault: {kind}" in run.stderr for kind in ("drop", "corrupt", "duplicate", "reorder"))
