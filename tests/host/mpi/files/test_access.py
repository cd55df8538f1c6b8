"""Every way to read and write, against what must be in the file."""

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lanai_host.mpi import ErrorClass, Info, MpiError, datatypes
from lanai_host.mpi.files import ACCESSES, Where, access, state
from lanai_host.mpi.files import state as opening
from lanai_host.mpi.files.disk import Whence
from lanai_host.mpi.files.view import ALIGNMENT, Hull, Runs, cut, default_hints, plan, united

from ..ranks import LateDevice, buffer
from ..ranks import run as run_ranks
from .opened import contents, opened, run, start, view

INT = datatypes.PREDEFINED["MPI_INT"]
SIZES = [1, 2, 3, 4]


def dealt(rank, size, blocks=3, block=2):
    """A filetype of `blocks` blocks of ints, dealt out in turn to `size` ranks."""
    one = datatypes.vector(blocks, block, block * size, INT)
    return datatypes.resized(one, 0, blocks * block * size * 4), rank * block * 4


def part_of(whole, rank, size, block=2):
    return np.ascontiguousarray(whole.reshape(-1, size, block)[:, rank].ravel())


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("hint", ["automatic", "enable", "disable"])
@pytest.mark.parametrize("buffer", ["16", "16777216"])
def test_interleaved_collective_access_is_put_together(tmp_path, size, hint, buffer):
    path = tmp_path / "file"
    whole = np.arange(12 * size, dtype=np.int32)

    def program(world):
        pairs = [("romio_cb_write", hint), ("romio_cb_read", hint), ("cb_buffer_size", buffer)]
        file = opened(world, path, info=Info(pairs))
        filetype, disp = dealt(world.rank, size)
        view(file, INT, filetype, disp)
        mine = part_of(whole, world.rank, size)
        assert run("write_all", file, mine) == mine.nbytes
        assert state.get_position(file) == mine.size
        back = np.zeros_like(mine)
        assert run("read_at_all", file, back, 0) == mine.nbytes
        opening.close(file)
        return back.tolist() == mine.tolist()

    assert run_ranks(size, program) == [True] * size
    assert contents(path, np.int32) == whole.tolist()


@pytest.mark.parametrize("nodes", ["1", "2", "3"])
def test_any_number_of_processes_may_do_the_system_calls(tmp_path, nodes):
    path, size = tmp_path / "file", 3
    whole = np.arange(6000 * size, dtype=np.int32)  # more than a page for each

    def program(world):
        file = opened(world, path, info=Info([("cb_nodes", nodes), ("cb_buffer_size", "4096")]))
        filetype, disp = dealt(world.rank, size, 3, 2)
        view(file, INT, filetype, disp)
        mine = part_of(whole, world.rank, size)
        run("write_at_all", file, mine)
        back = np.zeros_like(mine)
        run("read_all", file, back)
        opening.close(file)
        return back.tolist() == mine.tolist()

    assert run_ranks(size, program) == [True] * size
    assert contents(path, np.int32) == whole.tolist()


def test_where_a_collective_write_overlaps_the_highest_rank_wins(tmp_path):
    path = tmp_path / "file"

    def program(world):
        file = opened(world, path, info=Info([("romio_cb_write", "enable")]))
        run("write_at_all", file, np.full(8, world.rank, np.int32), world.rank * 16)
        opening.close(file)

    run_ranks(3, program)
    assert contents(path, np.int32) == [0] * 4 + [1] * 4 + [2] * 8


@pytest.mark.parametrize("device", [None, LateDevice])
def test_the_shared_pointer_gives_every_process_its_own_place(tmp_path, device):
    path, size, times = tmp_path / "file", 3, 5

    def program(world):
        file = opened(world, path)
        view(file, INT)
        for step in range(times):
            run("write_shared", file, np.full(2, 100 * world.rank + step, np.int32))
        requests = [start("write_shared", file, np.full(2, 1000 + world.rank, np.int32)) for _ in range(2)]
        for request in requests:
            assert request.wait().count == 8
        run("write_ordered", file, np.full(world.rank, 7000 + world.rank, np.int32))
        last = state.get_position_shared(file)
        opening.close(file)
        return last

    kinds = {} if device is None else {"device": device}
    assert run_ranks(size, program, **kinds) == [size * (times + 2) * 2 + 3] * size
    found = np.array(contents(path, np.int32))
    assert found[-3:].tolist() == [7001, 7002, 7002]
    pairs = found[:-3].reshape(-1, 2)
    assert (pairs[:, 0] == pairs[:, 1]).all()
    wanted = [100 * rank + step for rank in range(size) for step in range(times)]
    assert sorted(pairs[:, 0].tolist()) == sorted(wanted + [1000 + rank for rank in range(size)] * 2)
    for rank in range(size):  # each process's own are in its order
        own = [value for value in pairs[:, 0].tolist() if value // 100 == rank]
        assert own == [100 * rank + step for step in range(times)]


def test_the_shared_pointer_reads_and_seeks(tmp_path):
    path = tmp_path / "file"
    np.arange(10, dtype=np.int32).tofile(path)

    def program(world):
        file = opened(world, path)
        view(file, INT)
        state.seek_shared(file, 4, Whence.SET)
        mine = np.zeros(2, np.int32)
        run("read_ordered", file, mine)
        state.seek_shared(file, -1, Whence.CUR)
        at = state.get_position_shared(file)
        state.seek_shared(file, -3, Whence.END)
        end = state.get_position_shared(file)
        opening.close(file)
        return mine.tolist(), at, end

    assert run_ranks(2, program) == [([4, 5], 7, 7), ([6, 7], 7, 7)]


@pytest.mark.parametrize("device", [None, LateDevice])
def test_atomic_accesses_do_not_mix(tmp_path, device):
    path, size = tmp_path / "file", 3

    def program(world):
        file = opened(world, path)
        state.set_atomicity(file, True)
        filetype = datatypes.resized(datatypes.vector(50, 1, 2, INT), 0, 400)
        view(file, INT, filetype)
        seen = []
        for _ in range(10):
            run("write_at", file, np.full(50, world.rank, np.int32))
            back = np.zeros(50, np.int32)
            run("read_at", file, back)
            seen.append(len(set(back.tolist())))
        opening.close(file)
        return seen

    kinds = {} if device is None else {"device": device}
    assert run_ranks(size, program, **kinds) == [[1] * 10] * size


@pytest.mark.parametrize("name", [name for name, one in ACCESSES.items() if one.collective])
def test_split_collectives_are_what_the_blocking_ones_are(tmp_path, name):
    path, size = tmp_path / "file", 3
    one = ACCESSES[name]
    np.arange(6, dtype=np.int32).tofile(path)

    def program(world):
        file = opened(world, path)
        view(file, INT)
        if one.where is Where.INDIVIDUAL:
            state.seek(file, 2 * world.rank, Whence.SET)
        array = np.full(2, 10 + world.rank, np.int32)
        access.begin(one, file, *buffer(array), 2 * world.rank if one.where is Where.EXPLICIT else 0)
        with pytest.raises(MpiError, match="has not been ended") as caught:
            run("read_all", file, array)
        assert caught.value.error_class == ErrorClass.IO
        assert access.end(one, file).count == 8
        opening.close(file)
        return array.tolist()

    read = [[0, 1], [2, 3], [4, 5]]
    written = [[10, 10], [11, 11], [12, 12]]
    assert run_ranks(size, program) == (written if one.writing else read)
    assert contents(path, np.int32) == ([10, 10, 11, 11, 12, 12] if one.writing else list(range(6)))


@pytest.mark.parametrize("name", ["read", "read_at", "read_all", "read_at_all", "read_shared"])
def test_nonblocking_reads_end_with_what_there_was(tmp_path, name):
    path = tmp_path / "file"
    np.arange(5, dtype=np.int32).tofile(path)

    def program(world):
        file = opened(world, path)
        view(file, INT)
        array = np.full(4, -1, np.int32)
        if name == "read" or name == "read_all":
            state.seek(file, 2, Whence.SET)
        elif name == "read_shared":
            state.seek_shared(file, 2, Whence.SET)
        status = start(name, file, array, 2 if "at" in name else 0).wait()
        opening.close(file)
        return status.count, array.tolist()

    assert run_ranks(1, program) == [(12, [2, 3, 4, -1])]


def test_a_read_beyond_the_end_leaves_the_rest_of_the_buffer(tmp_path):
    path, size = tmp_path / "file", 2
    np.arange(5, dtype=np.int32).tofile(path)

    def program(world):
        file = opened(world, path, info=Info([("romio_cb_read", "enable")]))
        filetype, disp = dealt(world.rank, size, 2, 1)
        view(file, INT, filetype, disp)
        array = np.full(4, -1, np.int32)
        moved = run("read_all", file, array), state.get_position(file)
        opening.close(file)
        return moved, array.tolist()

    assert run_ranks(size, program) == [((12, 3), [0, 2, 4, -1]), ((8, 2), [1, 3, -1, -1])]


def test_data_in_memory_may_have_holes_too(tmp_path):
    path = tmp_path / "file"

    def program(world):
        file = opened(world, path)
        memory = np.arange(12, dtype=np.int32)
        strided = datatypes.vector(3, 1, 4, INT)
        strided.commit()
        access.run(ACCESSES["write_at"], file, memory.ctypes.data, 1, strided, 0)
        back = np.full(12, -1, np.int32)
        access.run(ACCESSES["read_at"], file, back.ctypes.data, 1, strided, 0)
        opening.close(file)
        return back.tolist()

    (back,) = run_ranks(1, program)
    assert contents(path, np.int32) == [0, 4, 8]
    assert back == [0, -1, -1, -1, 4, -1, -1, -1, 8, -1, -1, -1]


# Collective access in two phases: whatever elements of the file belong to which rank, every byte is where it must be.


NO_OWNER = -1


@st.composite
def owners(draw):
    """Draw which rank has which int of the file, in runs; some belong to no rank."""
    size = draw(st.integers(1, 3))
    lengths = draw(st.lists(st.tuples(st.integers(NO_OWNER, size - 1), st.integers(1, 9)), min_size=1, max_size=20))
    return size, np.array([rank for rank, length in lengths for _ in range(length)])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(owners(), st.integers(1, 3), st.sampled_from(["4", "24", "100", "16777216"]), st.integers(0, 3))
def test_any_distribution_of_a_file_is_written_and_read(tmp_path, dealt, nodes, window, cut_off):
    size, owner = dealt
    path = tmp_path / "file"
    before = np.arange(1000, 1000 + len(owner), dtype=np.int32)
    before.tofile(path)
    fresh = np.arange(len(owner), dtype=np.int32)
    end = max(0, len(owner) - cut_off)

    def program(world):
        hints = Info([("cb_nodes", str(nodes)), ("cb_buffer_size", window), *ENABLED])
        file = opened(world, path, info=hints)
        mine = np.flatnonzero(owner == world.rank)
        filetype = datatypes.resized(datatypes.indexed_block(1, mine.tolist(), INT), 0, 4 * len(owner))
        view(file, INT, filetype)
        run("write_all", file, fresh[mine])
        state.close(file)
        if world.rank == 0:
            with path.open("r+b") as whole:
                whole.truncate(4 * end)
        file = opened(world, path, info=hints)
        view(file, INT, filetype)
        back = np.full(len(mine), -7, np.int32)
        moved = run("read_at_all", file, back)
        state.close(file)
        return mine, moved, back

    for mine, moved, back in run_ranks(size, program):
        there = mine[mine < end]
        assert moved == 4 * len(there)
        assert back.tolist() == [*fresh[there].tolist(), *[-7] * (len(mine) - len(there))]
    assert contents(path, np.int32) == np.where(owner == NO_OWNER, before, fresh)[:end].tolist()


ENABLED = [("romio_cb_read", "enable"), ("romio_cb_write", "enable")]


def test_the_file_is_divided_at_pages_and_each_part_in_windows():
    hints = default_hints(2)._replace(cb_buffer_size=5000)
    rounds = plan([Hull(100, 20000, 9000), Hull(200, 21000, 9000)], hints, writing=True)
    covered = sorted((window.low, window.high) for windows in rounds for window in windows)
    assert covered[0][0] == 100
    assert covered[-1][1] == 21000
    assert all(before[1] == after[0] for before, after in itertools.pairwise(covered))
    firsts = {window.rank: window.low for window in reversed(rounds[0])}
    assert firsts[1] % ALIGNMENT == 0
    assert all(window.high - window.low <= 5000 for windows in rounds for window in windows)


def test_processes_one_behind_the_other_are_left_alone():
    hints = default_hints(3)
    assert plan([Hull(0, 10, 10), Hull(0, 0, 0), Hull(10, 30, 5)], hints, writing=True) == []
    assert plan([Hull(0, 11, 10), Hull(10, 30, 5)], hints, writing=False) != []
    assert plan([Hull(0, 0, 0)], hints._replace(cb_write="enable"), writing=True) == []


def test_runs_are_cut_and_united():
    runs = Runs(np.array([0, 20, 40]), np.array([10, 10, 10]))
    pieces = cut(runs, 5, 45)
    assert pieces.runs.offsets.tolist() == [5, 20, 40]
    assert pieces.runs.lengths.tolist() == [5, 10, 5]
    assert pieces.positions.tolist() == [5, 10, 20]
    assert pieces.segments(1000) == [(1005, 20)]
    whole = united([runs, Runs(np.array([5]), np.array([20])), Runs(np.array([60]), np.array([1]))])
    assert (whole.offsets.tolist(), whole.lengths.tolist()) == ([0, 40, 60], [30, 10, 1])
