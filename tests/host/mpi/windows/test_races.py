"""The accesses of two ranks that race, and those that do not."""

import numpy as np
import pytest

from lanai_host.mpi import datatypes, windows
from lanai_host.mpi.collectives import barrier
from lanai_host.mpi.collectives import run as collective
from lanai_host.mpi.constants import LockType
from lanai_host.mpi.datatypes import PREDEFINED
from lanai_host.mpi.op import PREDEFINED as OPS
from lanai_host.mpi.windows import sync
from lanai_host.mpi.windows.memory import Watch

from ..ranks import buffer, ints, run
from .test_operations import DEVICES, window_on

INT, FLOAT = PREDEFINED["MPI_INT"], PREDEFINED["MPI_FLOAT"]
SUM, MAX, NO_OP = OPS["MPI_SUM"], OPS["MPI_MAX"], OPS["MPI_NO_OP"]


def put(win, index=0):
    windows.put(win, *buffer(ints(1)), 0, index, 1, INT)


def get(win):
    windows.get(win, *buffer(ints(0)), 0, 0, 1, INT)


def accumulate(win, op=SUM):
    windows.accumulate(win, *buffer(ints(1)), 0, 0, 1, INT, op)


def other_type(win):
    windows.accumulate(win, *buffer(np.zeros(1, np.float32)), 0, 0, 1, FLOAT, SUM)


def fetch(win, op=NO_OP):
    windows.get_accumulate(win, *buffer(ints(1)), *buffer(ints(0)), 0, 0, 1, INT, op)


def swap(win):
    one = ints(1)
    windows.compare_and_swap(win, *[buffer(one)[0]] * 3, INT, 0, 0)


def races(ranks, program, device):
    """The sentences that rank 0 reports of a program that gets (world, its window)."""

    def watched(world):
        told = []
        world.process.races = Watch(told.append, lambda call: call)
        memory = np.zeros(100, np.int32)  # lives as long as the window
        win = window_on(world.comm_world, memory)
        program(world, win)
        windows.free(win)
        return told

    return run(ranks, watched, device)[0]


CASES = [
    (put, put, "MPI_Put of rank 1 and MPI_Put of rank 2 race for byte 0"),
    (put, get, "MPI_Get of rank 2 and MPI_Put of rank 1 race for byte 0"),
    (get, get, None),
    (accumulate, accumulate, None),
    (accumulate, lambda win: accumulate(win, MAX), "MPI_Accumulate of rank 1 and MPI_Accumulate of rank 2 race"),
    (accumulate, other_type, "MPI_Accumulate of rank 1 and MPI_Accumulate of rank 2 race"),
    (accumulate, fetch, None),
    (accumulate, swap, None),
    (accumulate, get, "MPI_Accumulate of rank 1 and MPI_Get of rank 2 race"),
    (fetch, get, None),
    (put, fetch, "MPI_Get_accumulate of rank 2 and MPI_Put of rank 1 race"),
    (put, lambda win: put(win, 1), None),
]


@DEVICES
@pytest.mark.parametrize(("first", "second", "expected"), CASES)
def test_two_ranks_between_two_fences(first, second, expected, device):
    def program(world, win):
        sync.fence(win, 0)
        if world.rank:
            (first, second)[world.rank - 1](win)
        sync.fence(win, 0)

    told = races(3, program, device)
    assert len(told) == (expected is not None)
    if expected:
        assert told[0].startswith(expected)
        assert told[0].endswith(" of an unnamed window of 3 ranks")


def stores(program, device="ideal"):
    """The sentences about stores of rank 0, whose `program` gets (world, window, its memory, told)."""

    def watched(world):
        told = []
        world.process.races = Watch(told.append, lambda call: call)
        memory = np.zeros(100, np.int32)
        win = window_on(world.comm_world, memory)
        program(world, win, memory)
        windows.free(win)
        return told

    return run(2, watched, device)[0]


@DEVICES
@pytest.mark.parametrize(("access", "name"), [(put, "Put"), (get, "Get"), (accumulate, "Accumulate"), (fetch, None)])
def test_a_store_of_the_target_before_or_after_the_access(access, name, device):
    def program(world, win, memory):
        for early in (True, False):
            sync.fence(win, 0)
            if world.rank and early:
                collective(world.comm_world, barrier)  # rank 0 has stored
                access(win)
            elif world.rank:
                access(win)
                windows.get(win, *buffer(ints(0)), 0, 50, 1, INT)
                collective(world.comm_world, barrier)  # rank 0 has let the access in
            elif early:
                memory[0] = 7
                collective(world.comm_world, barrier)
            else:
                collective(world.comm_world, barrier)
                memory[0] = 9
            sync.fence(win, 0)

    name = "Get_accumulate" if name is None else name
    assert stores(program, device) == [
        f"MPI_{name} of rank 1 and a store of rank 0 race for byte 0 of an unnamed window of 2 ranks"
    ]


@DEVICES
def test_stores_that_do_not_race(device):
    """To other bytes, before the epoch and behind it, by the process's own operations, and under a lock."""

    def program(world, win, memory):
        for turn in range(1, 4):
            memory[:] += turn
            sync.fence(win, 0)
            if world.rank:
                put(win)
                accumulate(win) if turn == 2 else put(win, 2)
            else:
                memory[1] = memory[3:] = turn
                windows.put(win, *buffer(ints(turn)), 0, 20, 1, INT)
            sync.fence(win, 0)
        group = world.comm_world.group
        memory[0] = 3
        if world.rank:
            sync.start(win, group.include([0]), 0)
            put(win)
            sync.complete(win)
        else:
            sync.post(win, group.include([1]), 0)
            memory[5] = 8
            sync.wait(win)
        memory[0] += 1
        collective(world.comm_world, barrier)
        if world.rank:
            sync.lock(win, LockType.EXCLUSIVE, 0, 0)
            put(win)
            sync.unlock(win, 0)
        collective(world.comm_world, barrier)
        memory[0] += 1

    assert stores(program, device) == []


@DEVICES
def test_a_store_in_an_exposure_epoch_of_post_and_wait(device):
    def program(world, win, memory):
        group = world.comm_world.group
        if world.rank:
            sync.start(win, group.include([0]), 0)
            put(win)
            sync.complete(win)
        else:
            sync.post(win, group.include([1]), 0)
            memory[0] = 8
            sync.wait(win)

    assert len(stores(program, device)) == 1


@DEVICES
def test_epochs_one_after_the_other_do_not_race(device):
    def program(world, win):
        for turn in range(1, 3):
            sync.fence(win, 0)
            if world.rank == turn:
                put(win)
        sync.fence(win, 0)
        for _ in range(3):
            sync.lock(win, LockType.EXCLUSIVE, 0, 0)
            get(win)
            put(win)
            sync.unlock(win, 0)
        collective(world.comm_world, barrier)
        sync.lock_all(win, 0)
        for turn in range(3):
            if world.rank == turn:
                get(win)
                put(win)
                sync.flush(win, 0)
            collective(world.comm_world, barrier)
        sync.unlock_all(win)

    assert races(3, program, device) == []


@DEVICES
def test_origins_of_one_exposure_epoch(device):
    def program(world, win):
        zero = win.group.include([0])
        if world.rank == 0:
            for _ in range(2):
                sync.post(win, win.group.include([1, 2]), 0)
                sync.wait(win)
        else:
            for turn in range(2):
                sync.start(win, zero, 0)
                if turn or world.rank == 1:
                    put(win)
                sync.complete(win)

    assert len(races(3, program, device)) == 1


@DEVICES
def test_columns_beside_each_other_do_not_race(device):
    """They lie in the same range of memory, but have no byte in common."""
    column = datatypes.vector(10, 1, 3, INT)
    column.commit()

    def program(world, win):
        sync.fence(win, 0)
        windows.put(win, *buffer(np.zeros(10, np.int32)), 0, world.rank, 1, column)
        sync.fence(win, 0)

    assert races(3, program, device) == []
