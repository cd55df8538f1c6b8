"""Collective access in two phases: whatever elements of the file belong to which rank, every byte
is where it must be."""

import itertools

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lanai_host.mpi import Info, datatypes
from lanai_host.mpi.files import state
from lanai_host.mpi.files.view import ALIGNMENT, Hull, Runs, cut, default_hints, plan, united

from ..ranks import run as run_ranks
from .opened import contents, opened, run, view

INT = datatypes.PREDEFINED["MPI_INT"]
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
