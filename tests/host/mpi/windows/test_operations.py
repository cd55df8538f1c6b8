"""Operations on a target's memory, for each number of ranks and with devices that are early and
late."""

import numpy as np
import pytest

from lanai_host.mpi import datatypes, windows
from lanai_host.mpi.collectives import barrier
from lanai_host.mpi.collectives import run as collective
from lanai_host.mpi.constants import LockType, ThreadLevel
from lanai_host.mpi.datatypes import PREDEFINED
from lanai_host.mpi.op import PREDEFINED as OPS
from lanai_host.mpi.windows import sync, way
from lanai_host.stacks.ideal.device import IdealDevice

from ..ranks import LateDevice, buffer, ints, run

INT = PREDEFINED["MPI_INT"]
DEVICES = pytest.mark.parametrize("device", [IdealDevice, LateDevice])
RANKS = pytest.mark.parametrize("ranks", [1, 2, 3])
LENGTHS = pytest.mark.parametrize("count", [1, way.EAGER // 4, way.EAGER // 4 + 1, 5000])


def window_on(comm, array, unit=None):
    return windows.create(comm, array.ctypes.data, array.nbytes, unit or array.itemsize, None)


@DEVICES
@RANKS
@LENGTHS
def test_put_and_get_between_fences(ranks, count, device):
    def program(world):
        comm = world.comm_world
        memory = np.zeros(count * comm.size, np.int32)
        win = window_on(comm, memory)
        sync.fence(win, 0)
        mine = np.arange(count, dtype=np.int32) + 1000 * comm.rank
        for target in range(comm.size):
            windows.put(win, *buffer(mine), target, count * comm.rank, count, INT)
        sync.fence(win, 0)
        got = np.zeros_like(memory)
        last = comm.size - 1
        windows.get(win, *buffer(got), last, 0, got.size, INT)
        sync.fence(win, 0)
        expected = np.concatenate([np.arange(count) + 1000 * rank for rank in range(comm.size)])
        assert (memory == expected).all()
        assert (got == expected).all()
        windows.free(win)

    run(ranks, program, device)


@DEVICES
@LENGTHS
def test_sums_of_all_ranks(count, device):
    def program(world):
        comm = world.comm_world
        memory = np.zeros(count, np.int32)
        win = window_on(comm, memory)
        ones = np.ones(count, np.int32)
        for target in range(comm.size):
            sync.lock(win, LockType.SHARED, target, 0)
            for _ in range(3):
                windows.accumulate(win, *buffer(ones), target, 0, count, INT, OPS["MPI_SUM"])
            sync.unlock(win, target)
        sync.fence(win, 0)
        windows.free(win)
        return set(memory.tolist())

    assert run(3, program, device) == [{9}] * 3


@DEVICES
def test_derived_datatypes_on_both_sides(device):
    """Columns of a matrix at the origin into every third element at the target, and back; the
    target is told of a type once."""

    def program(world):
        comm = world.comm_world
        memory = np.zeros(3000, np.int32)
        win = window_on(comm, memory)
        matrix = np.arange(600, dtype=np.int32).reshape(20, 30)
        column = datatypes.vector(20, 1, 30, INT)
        third = datatypes.vector(20, 1, 3, INT)
        column.commit()
        third.commit()
        other = (comm.rank + 1) % comm.size
        sync.lock_all(win, 0)
        for index in range(30):
            address = matrix.ctypes.data + 4 * index
            windows.put(win, address, 1, column, other, 60 * index, 1, third)
        sync.flush_all(win)
        back = np.zeros_like(matrix)
        for index in range(30):
            windows.get(win, back.ctypes.data + 4 * index, 1, column, other, 60 * index, 1, third)
        sync.unlock_all(win)
        windows.free(win)
        assert (back == matrix).all()
        assert (matrix == memory[:1800:3].reshape(30, 20).T).all()
        assert memory[1::3].max() == 0

    run(2, program, device)


@DEVICES
def test_a_long_description_of_a_datatype(device):
    """More than fits into a request, and before operations that need it."""

    def program(world):
        comm = world.comm_world
        memory = np.zeros(20000, np.int32)
        win = window_on(comm, memory)
        places = np.cumsum(np.random.default_rng(5).integers(2, 6, 1500)).tolist()
        scattered = datatypes.indexed_block(1, places, INT)
        scattered.commit()
        assert len(way.encode(scattered)) > way.EAGER
        values = np.arange(1500, dtype=np.int32) + 1
        other = (comm.rank + 1) % comm.size
        sync.fence(win, 0)
        windows.put(win, *buffer(values), other, 0, 1, scattered)
        sync.fence(win, 0)
        windows.accumulate(win, *buffer(values), other, 0, 1, scattered, OPS["MPI_SUM"])
        sync.fence(win, 0)
        windows.free(win)
        assert (memory[places] == 2 * values).all()
        assert np.count_nonzero(memory) == 1500

    run(2, program, device)


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("MPI_SUM", 8),
        ("MPI_PROD", 15),
        ("MPI_MAX", 5),
        ("MPI_MIN", 3),
        ("MPI_BAND", 1),
        ("MPI_BOR", 7),
        ("MPI_BXOR", 6),
        ("MPI_LAND", 1),
        ("MPI_LXOR", 0),
        ("MPI_REPLACE", 3),
        ("MPI_NO_OP", 5),
    ],
)
def test_get_accumulate_returns_what_was_there(op, expected):
    def program(world):
        comm = world.comm_world
        memory = ints(5, 5, 5)
        win = window_on(comm, memory)
        got = ints(0, 0)
        other = (comm.rank + 1) % comm.size
        sync.lock(win, LockType.EXCLUSIVE, other, 0)
        three = ints(3, 3)
        windows.get_accumulate(win, *buffer(three), *buffer(got), other, 1, 2, INT, OPS[op])
        sync.unlock(win, other)
        sync.fence(win, 0)
        windows.free(win)
        return memory.tolist(), got.tolist()

    assert run(2, program) == [([5, expected, expected], [5, 5])] * 2


def test_pairs_keep_their_gaps():
    """A value and its index: sixteen bytes in memory, twelve on the way."""
    pair = PREDEFINED["MPI_DOUBLE_INT"]

    def program(world):
        comm = world.comm_world
        memory = np.zeros(3, pair.dtype)
        memory["value"], memory["index"] = 2.0, 7
        win = window_on(comm, memory)
        mine = np.zeros(3, pair.dtype)
        mine["value"], mine["index"] = [1.0, 2.0, 3.0], comm.rank
        sync.fence(win, 0)
        windows.accumulate(win, mine.ctypes.data, 3, pair, 0, 0, 3, pair, OPS["MPI_MAXLOC"])
        sync.fence(win, 0)
        windows.free(win)
        return memory.tolist()

    assert run(2, program)[0] == [(2.0, 7), (2.0, 0), (3.0, 0)]


@DEVICES
def test_counters_give_each_number_once(device):
    def program(world):
        comm = world.comm_world
        memory = ints(0)
        win = window_on(comm, memory)
        one, found = ints(1), []
        for _ in range(10):
            got = ints(-1)
            sync.lock(win, LockType.SHARED, 0, 0)
            windows.fetch_and_op(win, one.ctypes.data, got.ctypes.data, INT, 0, 0, OPS["MPI_SUM"])
            sync.unlock(win, 0)
            found.append(int(got[0]))
        sync.fence(win, 0)
        windows.free(win)
        return found

    found = run(3, program, device)
    assert sorted(number for numbers in found for number in numbers) == list(range(30))


@DEVICES
def test_compare_and_swap_elects_one(device):
    def program(world):
        comm = world.comm_world
        memory = ints(-1)
        win = window_on(comm, memory)
        unlocked, me, got = ints(-1), ints(comm.rank), ints(0)
        sync.fence(win, 0)
        windows.compare_and_swap(win, me.ctypes.data, unlocked.ctypes.data, got.ctypes.data, INT, 0, 0)
        sync.fence(win, 0)
        windows.free(win)
        return int(got[0]), int(memory[0])

    found = run(4, program, device)
    winners = [rank for rank, (got, _) in enumerate(found) if got == -1]
    assert len(winners) == 1
    assert found[0][1] == winners[0]


@DEVICES
def test_accumulates_of_one_origin_are_done_in_order(device):
    """Long ones, whose data follow, and short ones by turns: the last that replaces is seen."""

    def program(world):
        comm = world.comm_world
        memory = np.zeros(3000, np.int32)
        win = window_on(comm, memory)
        sync.lock(win, LockType.SHARED, 0, 0)
        kept = []
        for number in range(6):
            values = np.full(3000 if number % 2 == 0 else 5, number + 1, np.int32)
            kept.append(values)
            op = OPS["MPI_REPLACE" if number != 5 else "MPI_SUM"]
            if comm.rank == 1:
                windows.accumulate(win, *buffer(values), 0, 0, values.size, INT, op)
        sync.unlock(win, 0)
        sync.fence(win, 0)
        windows.free(win)
        return memory[:6].tolist(), memory[-1]

    assert run(2, program, device)[0] == ([11, 11, 11, 11, 11, 5], 5)


def test_requests_of_the_r_forms():
    def program(world):
        comm = world.comm_world
        memory = np.zeros(4000, np.int32)
        win = window_on(comm, memory)
        rput = windows.access.requested("MPI_Rput", windows.put)
        rget = windows.access.requested("MPI_Rget", windows.get)
        values, got = np.arange(4000, dtype=np.int32), np.zeros(4000, np.int32)
        other = (comm.rank + 1) % comm.size
        sync.lock_all(win, 0)
        rput(win, *buffer(values), other, 0, 4000, INT).wait()
        sync.flush(win, other)
        request = rget(win, *buffer(got), other, 0, 4000, INT)
        request.wait()
        assert (got == values).all()
        nothing = rput(win, 0, 0, INT, -1, 0, 0, INT)  # to MPI_PROC_NULL
        assert nothing.done
        sync.unlock_all(win)
        windows.free(win)

    run(3, program, LateDevice)


@DEVICES
def test_data_and_answers_between_two_ranks_are_told_apart(device):
    """Rank 1 waits for a lock under the serial number under which rank 0, which holds it, sends
    long data."""

    def program(world):
        comm = world.comm_world
        memory = np.zeros(3000, np.int32)
        win = window_on(comm, memory)
        if comm.rank == 1:
            sync.lock(win, LockType.SHARED, 0, 0)
            sync.unlock(win, 0)
        else:
            collective(comm, barrier)
            sync.lock(win, LockType.EXCLUSIVE, 0, 0)
        collective(comm, barrier)
        if comm.rank == 1:
            collective(comm, barrier)
            sync.lock(win, LockType.SHARED, 0, 0)
            sync.unlock(win, 0)
        else:
            sync.lock(win, LockType.SHARED, 1, 0)
            windows.put(win, *buffer(np.ones(3000, np.int32)), 1, 0, 3000, INT)
            sync.unlock(win, 1)
            sync.unlock(win, 0)
        windows.free(win)
        return memory.sum()

    assert run(2, program, device) == [0, 3000]


def test_a_call_keeps_its_threads_turn_until_it_waits(monkeypatch):
    """Threads that take turns switch as seldom as they can."""

    def program(world):
        memory = np.zeros(4, np.int32)
        win = window_on(world.comm_world, memory)
        sync.fence(win, 0)
        progress, entered = win.progress, []
        lock = progress.lock

        class Order:
            def __enter__(self):
                entered.append(True)
                lock.__enter__()

            def __exit__(self, *error):
                lock.__exit__(*error)

        monkeypatch.setattr(progress, "order", Order())
        monkeypatch.setattr(progress, "level", ThreadLevel.MULTIPLE)
        windows.put(win, *buffer(ints(7)), 0, 0, 1, INT)
        monkeypatch.undo()
        sync.fence(win, 0)
        windows.free(win)
        return len(entered), int(memory[0])

    assert run(1, program) == [(1, 7)]
