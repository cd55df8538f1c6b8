"""Collectives that modelled NICs carry on, as the device offers them."""

import random

import pytest

from lanai_hdl.remote.config import Remote
from lanai_host.body import NOTHING
from lanai_host.device import Combine, SendMode
from lanai_host.operation import ErrorKind, Wait
from lanai_host.stacks.lanai2.device import Lanai2

from ..adapters import Deadlock, World
from .test_traffic import finish, met

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


def test_two_names_are_a_deadlock():
    def program(device, collectives):
        wait(device, collectives.combine(1, 0, device.rank, Combine.OR, 0))

    with pytest.raises(Deadlock):
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
