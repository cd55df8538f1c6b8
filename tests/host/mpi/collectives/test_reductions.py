"""Reductions with every algorithm, against what numpy says."""

import numpy as np
import pytest

from lanai_host.mpi import MpiError
from lanai_host.mpi import collectives as coll
from lanai_host.mpi.constants import IN_PLACE
from lanai_host.mpi.memory import array_at
from lanai_host.mpi.op import PREDEFINED as OPS
from lanai_host.mpi.op import Op

from ..ranks import buffer
from .ways import COUNTS, SIZES, SUM, data, each_way


def concatenate(incoming, inout, count, datatype):
    """An operation that does not commute: keeps the digits of both, left to right."""
    left, right = array_at(incoming, count, np.int64), array_at(inout, count, np.int64)
    digits = np.where(right > 9, 2, 1) if right.size == 0 else np.floor(np.log10(np.maximum(right, 1))).astype(int) + 1
    right[:] = left * 10**digits + right


ORDERED = Op(concatenate, commute=False)


@pytest.mark.parametrize("size", SIZES)
def test_reductions(run, size):
    def program(world):
        comm = world.comm_world
        rank, root = comm.rank, size // 2
        for count in COUNTS:
            mine = data(rank, count)
            address, _, kind = buffer(mine)
            total = sum(data(other, count) for other in range(size))
            got = np.zeros(count, np.int64)
            for _ in each_way(comm, coll.allreduce, address, got.ctypes.data, count, kind, SUM):
                assert np.array_equal(got, total)
                got[:] = 0
            for _ in each_way(comm, coll.reduce, address, got.ctypes.data, count, kind, SUM, root):
                assert np.array_equal(got, total) or rank != root
                got[:] = 0
            got[:] = mine
            coll.run(comm, coll.allreduce, IN_PLACE, got.ctypes.data, count, kind, SUM)
            assert np.array_equal(got, total)
            for _ in each_way(comm, coll.scan, address, got.ctypes.data, count, kind, SUM):
                assert np.array_equal(got, sum(data(other, count) for other in range(rank + 1)))
                got[:] = -1
            for _ in each_way(comm, coll.exscan, address, got.ctypes.data, count, kind, SUM):
                below = sum(data(other, count) for other in range(rank)) if rank else np.full(count, -1)
                assert np.array_equal(got, below)
            rows = data(rank, count, size)
            total = sum(data(other, count, size) for other in range(size))[rank * count : (rank + 1) * count]
            for _ in each_way(comm, coll.reduce_scatter_block, rows.ctypes.data, got.ctypes.data, count, kind, SUM):
                assert np.array_equal(got, total)
                got[:] = 0
            coll.run(comm, coll.reduce_scatter, rows.ctypes.data, got.ctypes.data, [count] * size, kind, SUM)
            assert np.array_equal(got, total)

    run(size, program)


@pytest.mark.parametrize("size", SIZES)
def test_order_is_kept_where_it_matters(run, size):
    def program(world):
        comm = world.comm_world
        digit = np.array([comm.rank + 1], np.int64)
        kind = buffer(digit)[2]
        got = np.zeros(1, np.int64)
        everyone = int("".join(str(other + 1) for other in range(size)))
        below = int("".join(str(other + 1) for other in range(comm.rank)) or 0)
        coll.run(comm, coll.allreduce, digit.ctypes.data, got.ctypes.data, 1, kind, ORDERED)
        assert got[0] == everyone
        for root in range(size):
            coll.run(comm, coll.reduce, digit.ctypes.data, got.ctypes.data, 1, kind, ORDERED, root)
            assert got[0] == everyone or comm.rank != root
        coll.run(comm, coll.scan, digit.ctypes.data, got.ctypes.data, 1, kind, ORDERED)
        assert got[0] == int(f"{below or ''}{comm.rank + 1}")
        got[0] = 0
        coll.run(comm, coll.exscan, digit.ctypes.data, got.ctypes.data, 1, kind, ORDERED)
        assert got[0] == below
        row = np.full(size, comm.rank + 1, np.int64)
        coll.run(comm, coll.reduce_scatter_block, row.ctypes.data, got.ctypes.data, 1, kind, ORDERED)
        assert got[0] == everyone

    run(size, program)


def test_operations_on_all_kinds_of_types():
    from lanai_host.mpi.datatypes import PREDEFINED
    from lanai_host.mpi.op import reduce_local

    pairs = np.array([(3, 1), (5, 2), (4, 7)], PREDEFINED["MPI_2INT"].dtype)
    others = np.array([(3, 0), (5, 9), (6, 1)], PREDEFINED["MPI_2INT"].dtype)
    reduce_local(pairs.ctypes.data, others.ctypes.data, 3, PREDEFINED["MPI_2INT"], OPS["MPI_MAXLOC"])
    assert others.tolist() == [(3, 0), (5, 2), (6, 1)]
    left, right = np.array([1 + 2j]), np.array([3 - 1j])
    reduce_local(left.ctypes.data, right.ctypes.data, 1, PREDEFINED["MPI_C_DOUBLE_COMPLEX"], OPS["MPI_PROD"])
    assert right[0] == 5 + 5j
    truth = np.array([0, 2, 0, 7], np.int32)
    reduce_local(truth.ctypes.data, truth[2:].ctypes.data, 2, PREDEFINED["MPI_LOGICAL"], OPS["MPI_LXOR"])
    assert truth[2:].tolist() == [0, 0]
    with pytest.raises(MpiError, match=r"MPI_Reduce_local: MPI_BAND is not defined on the datatype 'MPI_DOUBLE'"):
        reduce_local(0, 0, 1, PREDEFINED["MPI_DOUBLE"], OPS["MPI_BAND"])
    for inbuf, inoutbuf, told in (
        (0, left.ctypes.data, "inbuf is a null pointer"),
        (left.ctypes.data, 0, "inoutbuf is a null pointer"),
        (IN_PLACE, left.ctypes.data, "inbuf is MPI_IN_PLACE"),
    ):
        with pytest.raises(MpiError, match=told):
            reduce_local(inbuf, inoutbuf, 1, PREDEFINED["MPI_C_DOUBLE_COMPLEX"], OPS["MPI_SUM"])
