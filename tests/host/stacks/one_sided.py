"""One-sided communication of all kinds, checked byte for byte; run by `lanai run`."""

import ctypes
import mmap

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
left, right = (rank - 1) % size, (rank + 1) % size
STRIDED = MPI.INT.Create_vector(20, 2, 5).Commit()
SPARSE = MPI.INT.Create_vector(300, 1, 3).Commit()  # in more pieces than are put one by one


def ints(count, start=0):
    return np.arange(start, start + count, dtype="i")


def put_and_get(window, memory):
    for count in (1, 255, 3000):
        memory[:] = -1
        window.Fence()
        mine = ints(count, 100 * rank)
        window.Put(mine, right, (3, count, MPI.INT))
        window.Fence()
        assert (memory[3 : 3 + count] == ints(count, 100 * left)).all(), count
        assert (memory[3 + count :] == -1).all()
        back = np.zeros(count, "i")
        window.Get(back, right, (3, count, MPI.INT))
        window.Fence()
        assert (back == ints(count, 100 * rank)).all(), count


def derived(window, memory):
    for datatype in (STRIDED, SPARSE):
        count, span = datatype.size // 4, datatype.extent // 4
        memory[:] = -1
        window.Fence()
        mine = ints(span, rank)
        window.Put([mine, 1, datatype], right, (0, 1, datatype))
        window.Fence()
        index = (ints(count) // 2 * 5 + ints(count) % 2) if datatype is STRIDED else ints(count) * 3
        assert (memory[index] == index + left).all()
        assert np.count_nonzero(memory != -1) == count
        packed = np.zeros(count, "i")
        window.Get([packed, count, MPI.INT], right, (0, 1, datatype))
        window.Fence()
        assert (packed == index + rank).all()


def combined(window, memory):
    """All ranks combine with the memory of rank 0."""
    memory[:] = 7
    window.Fence()
    for op in (MPI.SUM, MPI.MAX, MPI.SUM):  # the second is none that hardware does
        mine = ints(10, rank)
        window.Accumulate(mine, 0, (0, 10, MPI.INT), op)
        window.Fence()
    expected = 7 + sum(ints(10, one) for one in range(size))
    expected = np.maximum(expected, ints(10, size - 1)) + sum(ints(10, one) for one in range(size))
    assert rank or (memory[:10] == expected).all()
    assert (memory[10:] == 7).all()


def counted(window, memory):
    """Fetch and add: each value is given to one rank. Locks are shared, so only atomics keep it
    right."""
    memory[:] = 0
    window.Fence()
    window.Fence(MPI.MODE_NOSUCCEED)
    mine, one, old = [], np.ones(1, "i"), np.zeros(1, "i")
    window.Lock(0, MPI.LOCK_SHARED)
    for _ in range(10):
        window.Fetch_and_op(one, old, 0, 0, MPI.SUM)
        window.Flush(0)
        mine.append(int(old[0]))
    window.Unlock(0)
    everyone = [value for part in world.allgather(mine) for value in part]
    assert sorted(everyone) == list(range(10 * size))
    new, compare = np.array([rank + 1], "i"), np.array([10 * size], "i")
    window.Lock_all()
    window.Compare_and_swap(new, compare, old, 0, 0)
    window.Unlock_all()
    winners = [one for one, found in enumerate(world.allgather(int(old[0]))) if found == 10 * size]
    assert len(winners) == 1
    assert rank or memory[0] == winners[0] + 1


def counted_in_8_bytes(window, memory):
    """The same beyond 32 bits, on words that the adapter changes, and on such that it cannot change,
    for they are not aligned."""
    for place in (2, 5):
        memory[:] = 0
        window.Fence()
        window.Fence(MPI.MODE_NOSUCCEED)
        mine, step, old = [], np.array([(1 << 32) - 1], "i8"), np.zeros(1, "i8")
        window.Lock(0, MPI.LOCK_SHARED)
        for _ in range(4):
            window.Fetch_and_op([step, MPI.INT64_T], [old, MPI.INT64_T], 0, place, MPI.SUM)
            window.Flush(0)
            mine.append(int(old[0]))
        window.Unlock(0)
        everyone = [value for part in world.allgather(mine) for value in part]
        assert sorted(everyone) == [n * step[0] for n in range(4 * size)]
        compare, new = 4 * size * step, np.array([-5 - rank], "i8")
        window.Lock_all()
        window.Compare_and_swap([new, MPI.INT64_T], [compare, MPI.INT64_T], [old, MPI.INT64_T], 0, place)
        window.Unlock_all()
        winners = [one for one, found in enumerate(world.allgather(int(old[0]))) if found == compare[0]]
        assert len(winners) == 1
        assert rank or memory[place : place + 2].copy().view("i8")[0] == -5 - winners[0]
        assert not memory[:place].any()
        assert not memory[place + 2 :].any()


def fetched(window, memory):
    """More elements are fetched than changed."""
    memory[20:23] = (50, 51, 52)
    window.Fence()
    found, value = np.full(4, -1, "i"), np.array([1, 2], "i")
    window.Get_accumulate(value, found, right, (20, 3, MPI.INT), MPI.SUM)
    window.Fence(MPI.MODE_NOSUCCEED)
    assert found.tolist() == [50, 51, 52, -1]
    assert memory[20:23].tolist() == [51, 53, 52]
    world.Barrier()


def excluded(window, memory):
    """Read, add and write under an exclusive lock, while others read under shared ones."""
    memory[:] = 0
    world.Barrier()
    value = np.zeros(2, "i")
    for turn in range(6):
        exclusive = (turn + rank) % 3 > 0
        window.Lock(0, MPI.LOCK_EXCLUSIVE if exclusive else MPI.LOCK_SHARED)
        window.Get(value, 0, (0, 2, MPI.INT))
        window.Flush(0)
        assert value[0] == value[1]
        if exclusive:
            value += 1
            window.Put(value[:1], 0, (0, 1, MPI.INT))
            window.Put(value[1:], 0, (1, 1, MPI.INT))
        window.Unlock(0)
    world.Barrier()
    if rank == 0:
        window.Lock(0, MPI.LOCK_SHARED)
        assert memory[0] == memory[1] == 4 * size
        window.Unlock(0)


def posted(window, memory):
    for turn in range(3):
        window.Post(world.group.Incl([left]))
        window.Start(world.group.Incl([right]))
        mine = ints(50, 10 * turn + rank)
        window.Put(mine, right, (0, 50, MPI.INT))
        window.Complete()
        window.Wait()
        assert (memory[:50] == ints(50, 10 * turn + left)).all()


def by_messages(window):
    """Return how many targets the adapter had no room to reach."""
    return int(window.Get_info().Get("lanai_targets_by_messages"))


def many_buffers():
    """More pieces of memory than the adapter can reach at one time."""
    puts, length = 15, 5000
    window = MPI.Win.Allocate(puts * length, 1, comm=world)
    assert by_messages(window) == 0
    memory = np.frombuffer(window.tomemory(), "u1")
    parts = [np.full(length, 16 * rank + turn, "u1") for turn in range(puts)]
    window.Fence()
    for turn, part in enumerate(parts):
        window.Put(part, right, (turn * length, length, MPI.BYTE))
    window.Fence()
    for turn in range(puts):
        assert (memory[turn * length : (turn + 1) * length] == 16 * left + turn).all()
    del memory
    window.Free()


def large_window():
    """More memory than the adapter's page table holds: the adapter walks to it."""
    size = 64 << 20
    window = MPI.Win.Allocate(size, 1, comm=world)
    assert by_messages(window) == 0
    memory = np.frombuffer(window.tomemory(), "u1")
    mine, found, one = np.full(100, rank, "u1"), np.zeros(1, "i4"), np.ones(1, "i4")
    window.Lock(right, MPI.LOCK_EXCLUSIVE)
    window.Put(mine, right, (size - 100, 100, MPI.BYTE))
    window.Fetch_and_op(one, found, right, size - 4096, MPI.SUM)
    window.Flush(right)
    assert found[0] == 0
    mine[:] = 255
    window.Get(mine, right, (size - 100, 100, MPI.BYTE))
    window.Unlock(right)
    assert (mine == rank).all()
    world.Barrier()
    assert (memory[size - 100 :] == left).all()
    assert memory[size - 4096] == 1
    del memory
    window.Free()


def many_windows():
    """More windows than the adapter has exposures for: messages reach the last ones."""
    windows = [MPI.Win.Allocate(64, 1, comm=world) for _ in range(9)]
    assert by_messages(windows[0]) == 0
    assert by_messages(windows[-1]) == world.size
    for window in windows:
        memory = np.frombuffer(window.tomemory(), "u1")
        window.Fence()
        window.Put(np.full(8, rank, "u1"), right, (56, 8, MPI.BYTE))
        window.Fence()
        assert (memory[56:] == left).all()
        del memory
        window.Free()


def unreachable_buffers():
    """Memory of the program's that is not there is an error of the operation, and of no other."""
    window = MPI.Win.Allocate(4096 * 4, 1, comm=world)
    window.Set_errhandler(MPI.ERRORS_RETURN)
    gone = mmap.mmap(-1, 8192)
    buffer = MPI.memory.fromaddress(ctypes.addressof(ctypes.c_char.from_buffer(gone)), 8192)
    ctypes.CDLL(None).munmap(ctypes.c_void_p(buffer.address), ctypes.c_size_t(8192))
    window.Lock(right, MPI.LOCK_SHARED)
    for length in (8, 8192):  # copied, and lent
        for operation in (window.Put, window.Get):
            found = MPI.SUCCESS
            try:
                operation([buffer, length, MPI.BYTE], right, (0, length, MPI.BYTE))
                window.Flush(right)
            except MPI.Exception as error:
                found = error.Get_error_class()
            assert found != MPI.SUCCESS, (length, operation)
    one, old = np.ones(1, "i"), np.zeros(1, "i")
    window.Fetch_and_op(one, old, right, 4096)
    window.Unlock(right)
    assert old[0] == 0
    world.Barrier()
    window.Free()


for made in (
    lambda: MPI.Win.Allocate(4 * 4000, 4, comm=world),
    lambda: MPI.Win.Create(np.zeros(4000, "i"), 4, comm=world),
):
    window = made()
    memory = np.frombuffer(window.tomemory(), "i")
    for check in (put_and_get, derived, combined, counted, counted_in_8_bytes, fetched, excluded, posted):
        check(window, memory)
        world.Barrier()
    del memory
    window.Free()
many_buffers()
large_window()
many_windows()
unreachable_buffers()
if rank == 0:
    print(f"all right after {MPI.Wtime():.9f} s")
