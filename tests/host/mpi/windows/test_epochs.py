"""Epochs: what opens and closes them, and what they refuse."""

import itertools
import time

import numpy as np
import pytest

from lanai_host.mpi import windows
from lanai_host.mpi.collectives import barrier
from lanai_host.mpi.collectives import run as collective
from lanai_host.mpi.constants import Assertion, LockType
from lanai_host.mpi.datatypes import PREDEFINED
from lanai_host.mpi.errors import ErrorClass, MpiError
from lanai_host.mpi.windows import sync
from lanai_host.mpi.windows.target import Locks

from ..ranks import LateDevice, buffer, ints, run
from .test_operations import DEVICES, window_on

INT = PREDEFINED["MPI_INT"]
EXCLUSIVE, SHARED = LockType.EXCLUSIVE, LockType.SHARED


def refused(call, *arguments):
    """(class, text) of the error that a call raises."""
    with pytest.raises(MpiError) as error:
        call(*arguments)
    return error.value.error_class, error.value.text


@DEVICES
def test_post_start_complete_wait_round_a_ring(device):
    def program(world):
        comm = world.comm_world
        memory = ints(-1)
        win = window_on(comm, memory)
        before, after = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
        for turn in range(4):
            sync.post(win, win.group.include([before]), 0)
            sync.start(win, win.group.include([after]), 0)
            windows.put(win, *buffer(ints(10 * turn + comm.rank)), after, 0, 1, INT)
            sync.complete(win)
            sync.wait(win)
            assert memory[0] == 10 * turn + before
        windows.free(win)

    run(3, program, device)


def test_epochs_without_operations_stay_paired():
    """The second epoch waits for the second post, not for one that an empty epoch left over."""

    def program(world):
        comm = world.comm_world
        memory = ints(0)
        win = window_on(comm, memory)
        other = win.group.include([1 - comm.rank])
        if comm.rank == 0:
            for value in (0, 7):
                sync.start(win, other, 0)
                if value:
                    windows.put(win, *buffer(ints(value)), 1, 0, 1, INT)
                sync.complete(win)
        else:
            sync.post(win, other, 0)
            while not sync.test(win):
                pass
            assert memory[0] == 0
            memory[0] = 3
            sync.post(win, other, 0)
            sync.wait(win)
            assert memory[0] == 7
        windows.free(win)

    run(2, program)


@DEVICES
def test_exclusive_locks_exclude(device):
    """Read, wait, write: lost updates would show."""

    def program(world):
        comm = world.comm_world
        memory = ints(0)
        win = window_on(comm, memory)
        for _ in range(5):
            sync.lock(win, EXCLUSIVE, 0, 0)
            value = ints(0)
            windows.get(win, *buffer(value), 0, 0, 1, INT)
            sync.flush(win, 0)
            windows.put(win, *buffer(value + 1), 0, 0, 1, INT)
            sync.unlock(win, 0)
        sync.fence(win, 0)
        windows.free(win)
        return int(memory[0])

    assert run(3, program, device)[0] == 15


def test_a_shared_lock_does_not_overtake_an_exclusive_one():
    locks, order = Locks(), []
    for rank, kind in enumerate([SHARED, SHARED, EXCLUSIVE, SHARED, EXCLUSIVE]):
        locks.request(rank, kind, lambda rank=rank: order.append(rank))
    assert order == [0, 1]
    locks.release(0)
    assert order == [0, 1]
    for rank, expected in ((1, [0, 1, 2]), (2, [0, 1, 2, 3]), (3, [0, 1, 2, 3, 4])):
        locks.release(rank)
        assert order == expected


def test_lock_all_asks_only_targets_that_are_used():
    def program(world):
        comm = world.comm_world
        memory = ints(0)
        win = window_on(comm, memory)
        if comm.rank == 2:  # holds its own memory while the others are in lock_all
            sync.lock(win, EXCLUSIVE, 2, 0)
        collective(comm, barrier)
        if comm.rank != 2:
            sync.lock_all(win, 0)
            windows.put(win, *buffer(ints(comm.rank + 5)), 1 - comm.rank, 0, 1, INT)
            sync.unlock_all(win)
        collective(comm, barrier)
        if comm.rank == 2:
            sync.unlock(win, 2)
        windows.free(win)
        return int(memory[0])

    assert run(3, program) == [6, 5, 0]


# What is refused

CALLS = {
    "put": lambda win: windows.put(win, *buffer(ints(1)), 0, 0, 1, INT),
    "fence": lambda win: sync.fence(win, 0),
    "start": lambda win: sync.start(win, win.group, 0),
    "complete": sync.complete,
    "post": lambda win: sync.post(win, win.group, 0),
    "wait": sync.wait,
    "test": sync.test,
    "lock": lambda win: sync.lock(win, SHARED, 0, 0),
    "unlock": lambda win: sync.unlock(win, 0),
    "lock_all": lambda win: sync.lock_all(win, 0),
    "unlock_all": sync.unlock_all,
    "flush": lambda win: sync.flush(win, 0),
    "flush_all": sync.flush_all,
    "flush_local": lambda win: sync.flush_local(win, 0),
    "flush_local_all": sync.flush_local_all,
    "free": windows.free,
}
# What each epoch allows besides operations; everything else is MPI_ERR_RMA_SYNC.
ALLOWED = {
    (): {"fence", "start", "post", "lock", "lock_all", "free"},
    ("fence",): {"put", "fence", "start", "post", "lock", "lock_all", "free"},
    ("fence", "put"): {"put", "fence"},
    ("start",): {"post", "complete"},
    ("post",): {"start", "wait", "test", "lock", "lock_all"},
    ("lock",): {"put", "post", "unlock", "flush", "flush_all", "flush_local", "flush_local_all"},
    ("lock_all",): {"put", "post", "unlock_all", "flush", "flush_all", "flush_local", "flush_local_all"},
}


@pytest.mark.parametrize("opened", ALLOWED, ids=lambda names: "_then_".join(names) or "none")
def test_calls_outside_of_their_epoch_are_refused(opened):
    """Every call from every state, alone on a window; those that are allowed are tried on a window
    of their own."""

    def program(world):
        comm = world.comm_self
        memory = ints(0)
        for name, call in CALLS.items():
            if name in ALLOWED[opened] or (name == "put" and "start" in opened):
                continue
            win = window_on(comm, memory)
            for before in opened:
                CALLS[before](win)
            error_class, text = refused(call, win)
            assert error_class == ErrorClass.RMA_SYNC, (opened, name, text)
            assert text.startswith(f"MPI_{'Win_' if name != 'put' else ''}{name if name != 'put' else 'Put'}: "), text
        for name in sorted(ALLOWED[opened] - {"wait", "test", "free"}):
            win = window_on(comm, memory)
            for before in (*opened, name):
                CALLS[before](win)

    run(1, program)


def test_targets_that_the_epoch_does_not_reach():
    def program(world):
        comm = world.comm_world
        memory = ints(0)
        win = window_on(comm, memory)
        one = buffer(ints(1))
        sync.lock(win, SHARED, 0, 0)
        assert refused(windows.put, win, *one, 1, 0, 1, INT) == (
            ErrorClass.RMA_SYNC,
            f"MPI_Put: target_rank is 1, but the locked ranks are 0 on {win.label}",
        )
        assert refused(sync.flush, win, 1)[0] == ErrorClass.RMA_SYNC
        sync.unlock(win, 0)
        sync.post(win, win.group.include([0, 1]), 0)
        sync.start(win, win.group.include([0]), 0)
        assert refused(windows.put, win, *one, 1, 0, 1, INT)[0] == ErrorClass.RMA_SYNC
        sync.complete(win)
        sync.start(win, win.group.include([1]), 0)
        sync.complete(win)
        sync.wait(win)
        windows.free(win)

    run(2, program)


def test_wrong_values():
    def program(world):
        comm = world.comm_world
        memory = np.zeros(10, np.int32)
        win = window_on(comm, memory)
        one = buffer(ints(1))
        sync.fence(win, 0)
        wrong = {
            ErrorClass.RANK: (windows.put, win, *one, 2, 0, 1, INT),
            ErrorClass.DISP: (windows.put, win, *one, 1, -1, 1, INT),
            ErrorClass.COUNT: (windows.put, win, *one, 1, 0, -1, INT),
            ErrorClass.RMA_RANGE: (windows.put, win, *one, 1, 10, 1, INT),
            ErrorClass.TRUNCATE: (windows.put, win, *one, 1, 0, 0, INT),
            ErrorClass.BUFFER: (windows.put, win, 0, 1, INT, 1, 0, 1, INT),
            ErrorClass.ASSERT: (sync.fence, win, 7),
            ErrorClass.LOCKTYPE: (sync.lock, win, 99, 0, 0),
            ErrorClass.RMA_FLAVOR: (win.attach, memory.ctypes.data, 4),
            ErrorClass.SIZE: (windows.allocate, comm, -1, 1, None),
        }
        for error_class, (call, *arguments) in wrong.items():
            assert refused(call, *arguments)[0] == error_class
        assert refused(windows.create, comm, memory.ctypes.data, 40, 0, None)[0] == ErrorClass.DISP
        assert refused(windows.put, win, *one, 1, 10, 1, INT)[1] == (
            f"MPI_Put: target_disp 10 of rank 1 reaches outside its 40 bytes: 40 to 43 on {win.label}"
        )
        sync.fence(win, Assertion.NOSUCCEED)
        windows.free(win)

    run(2, program)


def test_a_null_process_is_a_target_where_nothing_happens():
    def program(world):
        win = window_on(world.comm_self, ints(0))
        for opener, closer in ((sync.fence, sync.fence), (sync.lock_all, None)):
            opener(win, 0)
            assert windows.put(win, *buffer(ints(1)), -1, 0, 1, INT) is None
            closer(win, Assertion.NOSUCCEED) if closer else sync.unlock_all(win)
        sync.lock(win, SHARED, -1, 0)
        sync.flush(win, -1)
        sync.unlock(win, -1)
        windows.free(win)

    run(1, program)


@pytest.mark.parametrize("assertions", list(itertools.product([0, 2048], [0, 4096], [0, 8192], [0, 16384])))
def test_all_assertions_of_a_fence(assertions):
    def program(world):
        win = window_on(world.comm_world, ints(0))
        sync.fence(win, sum(assertions))
        sync.fence(win, Assertion.NOSUCCEED)
        windows.free(win)

    run(2, program, LateDevice)


@pytest.mark.parametrize(
    "turn",
    [
        lambda win: (sync.lock(win, SHARED, win.rank, 0), sync.unlock(win, win.rank)),
        lambda win: (sync.lock_all(win, 0), sync.flush(win, win.rank), sync.unlock_all(win)),
        sync.sync,
    ],
    ids=["lock", "flush", "sync"],
)
def test_calls_that_only_concern_itself_let_others_in(turn):
    """A program may look at its own memory until another process has written there."""

    def program(world):
        comm = world.comm_world
        memory = ints(0)
        win = window_on(comm, memory)
        if comm.rank == 1:
            sync.lock(win, SHARED, 0, 0)
            windows.put(win, *buffer(ints(1)), 0, 0, 1, INT)
            sync.unlock(win, 0)
        else:
            end = time.monotonic() + 20
            while not memory[0]:
                turn(win)
                assert time.monotonic() < end
        windows.free(win)

    run(2, program)
