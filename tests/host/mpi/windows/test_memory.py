"""The memory that windows expose: the program's, the library's, attached, shared."""

import ctypes

import numpy as np
import pytest

from lanai_host.mpi import windows
from lanai_host.mpi.attributes import Info
from lanai_host.mpi.collectives import allgather, barrier
from lanai_host.mpi.collectives import run as collective
from lanai_host.mpi.collectives.checks import Part
from lanai_host.mpi.constants import LockType, WindowFlavor
from lanai_host.mpi.datatypes import PREDEFINED, vector
from lanai_host.mpi.errors import ErrorClass
from lanai_host.mpi.memory import array_at
from lanai_host.mpi.op import PREDEFINED as OPS
from lanai_host.mpi.windows import sync
from lanai_host.mpi.windows.create import PAGE
from lanai_host.stacks.ideal.device import IdealDevice

from ..ranks import buffer, ints, run
from .test_epochs import refused
from .test_operations import DEVICES, window_on

INT, SUM = PREDEFINED["MPI_INT"], OPS["MPI_SUM"]


class OneNode(IdealDevice):
    """All ranks sit on one node."""

    node = 0


def test_each_rank_counts_in_its_own_units():
    def program(world):
        comm = world.comm_world
        memory = np.zeros(12, np.int32)
        win = window_on(comm, memory, unit=4 * (comm.rank + 1))
        sync.fence(win, 0)
        for target in range(comm.size):
            windows.put(win, *buffer(ints(comm.rank + 1)), target, 1 + comm.rank, 1, INT)
        sync.fence(win, 0)
        windows.free(win)
        return np.flatnonzero(memory).tolist()

    assert run(3, program) == [[1, 2, 3], [2, 4, 6], [3, 6, 9]]


def test_memory_that_the_library_allocates():
    def program(world):
        comm = world.comm_world
        win = windows.allocate(comm, 4 * (comm.rank + 1), 4, None)
        memory = array_at(win.memory.base, comm.rank + 1, np.int32)
        assert memory.tolist() == [0] * (comm.rank + 1)
        sync.fence(win, 0)
        windows.put(win, *buffer(ints(7)), 1, 1, 1, INT)
        assert refused(windows.put, win, *buffer(ints(7)), 0, 1, 1, INT)[0] == ErrorClass.RMA_RANGE
        sync.fence(win, 0)
        found = memory.tolist()
        windows.free(win)
        return win.flavor, found

    assert run(2, program) == [(WindowFlavor.ALLOCATE, [0]), (WindowFlavor.ALLOCATE, [0, 7])]


@pytest.mark.parametrize("apart", [False, True])
def test_shared_memory_is_the_same_memory(apart):
    """A store of one rank is a load of the other, without any message."""

    def program(world):
        comm = world.comm_world
        info = Info([("alloc_shared_noncontig", "true")]) if apart else None
        win = windows.allocate_shared(comm, 4 * (comm.rank + 2), 4, info)
        parts = [win.shared_query(rank) for rank in range(comm.size)]
        assert [(size, unit) for size, unit, _ in parts] == [(4 * (rank + 2), 4) for rank in range(comm.size)]
        assert parts[comm.rank][2] == win.memory.base
        distance = parts[1][2] - parts[0][2]
        assert distance == (PAGE if apart else 8)
        after = parts[(comm.rank + 1) % comm.size][2]
        ctypes.c_int32.from_address(after).value = 100 + comm.rank
        collective(comm, barrier)
        assert ctypes.c_int32.from_address(win.memory.base).value == 100 + (comm.rank - 1) % comm.size
        assert win.shared_query(-1)[2] == parts[0][2]
        sync.lock_all(win, 0)
        windows.put(win, *buffer(ints(5)), 0, 1, 1, INT)
        sync.unlock_all(win)
        collective(comm, barrier)
        assert ctypes.c_int32.from_address(parts[0][2] + 4).value == 5
        windows.free(win)

    run(3, program, OneNode)


def test_ranks_of_several_nodes_share_nothing():
    def program(world):
        error_class, text = refused(windows.allocate_shared, world.comm_world, 8, 1, None)
        assert error_class == ErrorClass.RMA_SHARED
        assert text == "MPI_Win_allocate_shared: the ranks of comm sit on nodes 0, 1, which share no memory"
        alone = windows.allocate_shared(world.comm_self, 8, 1, None)
        assert alone.shared_query(0)[:2] == (8, 1)
        windows.free(alone)
        made = windows.allocate(world.comm_world, 8, 1, None)
        assert made.shared_query(world.rank)[0] == 8
        assert made.shared_query(1 - world.rank) == (0, 1, 0)
        windows.free(made)

    run(2, program)


@DEVICES
def test_dynamic_windows_reach_what_is_attached(device):
    def program(world):
        comm = world.comm_world
        memory = np.zeros(2000, np.int32)
        win = windows.create_dynamic(comm, None)
        win.attach(memory.ctypes.data, 4 * 1500)
        where = np.array([memory.ctypes.data], np.int64)
        theirs = np.zeros(comm.size, np.int64)
        long = PREDEFINED["MPI_LONG"]
        collective(comm, allgather, Part(where.ctypes.data, 1, long), Part(theirs.ctypes.data, 1, long))
        other = (comm.rank + 1) % comm.size
        address = int(theirs[other])
        values = np.arange(1500, dtype=np.int32)
        sync.lock(win, LockType.SHARED, other, 0)
        windows.put(win, *buffer(values), other, address, 1500, INT)
        sync.flush(win, other)
        # One element too far, short and long, and then what is all right: each error is told once.
        windows.put(win, *buffer(ints(9)), other, address + 4 * 1500, 1, INT)
        error_class, text = refused(sync.flush, win, other)
        assert error_class == ErrorClass.RMA_RANGE
        assert f"refused 1 elements at displacement {address + 6000:#x} of rank {other}" in text
        windows.put(win, *buffer(values), other, address + 4, 1500, INT)
        assert refused(sync.flush, win, other)[0] == ErrorClass.RMA_RANGE
        got = np.full(1500, -1, np.int32)
        windows.get(win, *buffer(got), other, address + 4, 1500, INT)
        assert refused(sync.flush, win, other)[0] == ErrorClass.RMA_RANGE
        windows.get(win, *buffer(got), other, address, 1500, INT)
        sync.unlock(win, other)
        assert (got == values).all()
        collective(comm, barrier)
        assert (memory[:1500] == values).all()
        assert not memory[1500:].any()
        windows.free(win)

    run(2, program, device)


@DEVICES
def test_one_access_reaches_over_stretches_that_touch(device):
    def program(world):
        comm = world.comm_world
        memory = np.arange(100, dtype=np.int32) + 1000 * comm.rank
        start = memory.ctypes.data
        win = windows.create_dynamic(comm, None)
        for first, count in ((30, 20), (0, 30), (30, 0), (60, 20)):  # elements 50 to 59 are not attached
            win.attach(start + 4 * first, 4 * count)
        where = np.array([start], np.int64)
        theirs = np.zeros(comm.size, np.int64)
        long = PREDEFINED["MPI_LONG"]
        collective(comm, allgather, Part(where.ctypes.data, 1, long), Part(theirs.ctypes.data, 1, long))
        other = (comm.rank + 1) % comm.size
        address = int(theirs[other])
        got = np.zeros(100, np.int32)
        sync.lock(win, LockType.SHARED, other, 0)
        windows.get(win, *buffer(got), other, address, 50, INT)
        sync.flush(win, other)
        assert (got[:50] == np.arange(50) + 1000 * other).all()
        around = vector(2, 20, 60, INT)  # elements 0 to 19 and 60 to 79
        around.commit()
        windows.get(win, got.ctypes.data, 40, INT, other, address, 1, around)
        sync.flush(win, other)
        assert got[20:40].tolist() == [1000 * other + index for index in range(60, 80)]
        for first, count in ((40, 11), (49, 12), (55, 1), (0, 80)):
            windows.get(win, *buffer(got[:count]), other, address + 4 * first, count, INT)
            assert refused(sync.flush, win, other)[0] == ErrorClass.RMA_RANGE
        sync.unlock(win, other)
        collective(comm, barrier)
        windows.free(win)

    run(2, program, device)


def test_attaching_and_detaching():
    def program(world):
        memory = np.zeros(100, np.int8)
        start = memory.ctypes.data
        win = windows.create_dynamic(world.comm_self, None)
        win.attach(start, 10)
        win.attach(start + 20, 10)
        win.attach(start + 10, 10)
        for address, size in ((start + 5, 1), (start + 29, 2), (start - 1, 2), (start - 5, 100)):
            error_class, text = refused(win.attach, address, size)
            assert error_class == ErrorClass.RMA_ATTACH
            assert "overlap 10 bytes at" in text
        win.detach(start + 10)
        assert refused(win.detach, start + 10)[0] == ErrorClass.RMA_ATTACH
        win.attach(start + 10, 5)
        assert refused(win.shared_query, 0)[0] == ErrorClass.RMA_FLAVOR
        windows.free(win)

    run(1, program)


def test_two_windows_at_once_do_not_mix():
    def program(world):
        comm = world.comm_world
        first, second = np.zeros(3000, np.int32), np.zeros(3000, np.int32)
        one, two = window_on(comm, first), window_on(comm, second)
        other = (comm.rank + 1) % comm.size
        ones, twos = np.full(3000, 1, np.int32), np.full(3000, 2, np.int32)
        sync.lock(one, LockType.SHARED, other, 0)
        sync.lock(two, LockType.EXCLUSIVE, other, 0)
        windows.put(one, *buffer(ones), other, 0, 3000, INT)
        windows.put(two, *buffer(twos), other, 0, 3000, INT)
        sync.unlock(two, other)
        sync.unlock(one, other)
        windows.free(one)
        windows.free(two)
        return set(first.tolist()), set(second.tolist())

    assert run(3, program) == [({1}, {2})] * 3


def test_names_and_hints():
    def program(world):
        win = windows.allocate(world.comm_self, 8, 1, Info([("no_locks", "true"), ("mine", "x")]))
        assert win.info.get("no_locks") == "true"
        assert win.info.get("accumulate_ordering") == "rar,raw,war,waw"
        assert win.label == "an unnamed window of 1 ranks"
        win.set_name("table")
        assert refused(sync.complete, win)[1] == "MPI_Win_complete: there was no MPI_Win_start on window table"
        assert refused(win.set_name, "x" * 128)[0] == ErrorClass.ARG
        windows.free(win)

    run(1, program)


UNMAPPED = 4096  # no program has memory there


@DEVICES
@pytest.mark.parametrize("count", [10, 5000])
@pytest.mark.parametrize("call", [windows.put, windows.accumulate])
def test_a_buffer_that_cannot_be_read_keeps_no_rank_waiting(call, count, device):
    def program(world):
        comm = world.comm_world
        memory = np.zeros(5000, np.int32)
        win = window_on(comm, memory)
        more = (SUM,) if call is windows.accumulate else ()
        if comm.rank == 0:
            sync.lock(win, LockType.SHARED, 1, 0)
            call(win, UNMAPPED, count, INT, 1, 0, count, INT, *more)
            assert refused(sync.flush, win, 1)[0] in (ErrorClass.BUFFER, ErrorClass.RMA_RANGE)
            windows.put(win, *buffer(ints(7)), 1, 3, 1, INT)
            sync.unlock(win, 1)
        windows.free(win)
        return memory[:5].tolist()

    assert run(2, program, device)[1] == [0, 0, 0, 7, 0]


@DEVICES
@pytest.mark.parametrize("count", [10, 5000])
def test_a_window_on_memory_that_is_not_there_is_the_origins_error(count, device):
    def program(world):
        comm = world.comm_world
        win = windows.create(comm, UNMAPPED, 4 * 5000, 4, None)
        if comm.rank == 0:
            values = buffer(np.zeros(count, np.int32))
            for call, more in ((windows.put, ()), (windows.accumulate, (SUM,)), (windows.get, ())):
                sync.lock(win, LockType.SHARED, 1, 0)
                call(win, *values, 1, 0, count, INT, *more)
                refused(sync.unlock, win, 1)
        windows.free(win)

    run(2, program, device)
