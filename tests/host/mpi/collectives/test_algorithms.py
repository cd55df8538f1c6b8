"""Reductions with every algorithm, against what numpy says."""

import numpy as np
import pytest

from lanai_host.mpi import MpiError
from lanai_host.mpi import collectives as coll
from lanai_host.mpi.collectives.checks import Mixed, Part, Spread
from lanai_host.mpi.constants import IN_PLACE
from lanai_host.mpi.memory import array_at
from lanai_host.mpi.op import PREDEFINED as OPS
from lanai_host.mpi.op import Op

from ..ranks import buffer
from .ways import COUNTS, SIZES, SUM, data, each_way

# MPI_Allgather and MPI_Alltoall with every algorithm, against what numpy says.


@pytest.mark.parametrize("size", SIZES)
def test_all_to_all(run, size):
    def program(world):
        comm = world.comm_world
        rank = comm.rank
        for count in COUNTS[:-1]:
            mine = data(rank, count)
            address, _, kind = buffer(mine)
            everything = np.concatenate([data(other, count) for other in range(size)])
            got = np.zeros(count * size, np.int64)
            for _ in each_way(comm, coll.allgather, Part(address, count, kind), Part(got.ctypes.data, count, kind)):
                assert np.array_equal(got, everything)
                got[:] = 0
            got[rank * count : (rank + 1) * count] = mine
            coll.run(comm, coll.allgather, Part(IN_PLACE, 0, kind), Part(got.ctypes.data, count, kind))
            assert np.array_equal(got, everything)
            rows = data(rank, count, size)
            columns = np.concatenate(
                [data(other, count, size)[rank * count : (rank + 1) * count] for other in range(size)]
            )
            for _ in each_way(
                comm, coll.alltoall, Part(rows.ctypes.data, count, kind), Part(got.ctypes.data, count, kind)
            ):
                assert np.array_equal(got, columns)
                got[:] = 0
            coll.run(comm, coll.alltoall, Part(IN_PLACE, 0, kind), Part(rows.ctypes.data, count, kind))
            assert np.array_equal(rows, columns)

    run(size, program)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_varied_forms(run, size):
    def program(world):
        comm = world.comm_world
        rank = comm.rank
        kind = buffer(data(0, 1))[2]
        counts = [(other + 1) % 3 for other in range(size)]
        starts = np.cumsum([0, *counts[:-1]]).tolist()
        got = np.zeros(sum(counts) + 1, np.int64)
        mine = data(rank, counts[rank])
        coll.run(
            comm,
            coll.allgatherv,
            Part(mine.ctypes.data, mine.size, kind),
            Spread(got.ctypes.data, counts, starts, kind),
        )
        expected = np.concatenate([data(other, counts[other]) for other in range(size)])
        assert np.array_equal(got[:-1], expected)
        # Rank r sends r + s elements to rank s.
        send_counts = [rank + other for other in range(size)]
        send_starts = np.cumsum([0, *send_counts[:-1]]).tolist()
        rows = np.concatenate([np.full(n, 10 * rank + other) for other, n in enumerate(send_counts)])
        rows = np.append(rows, 0).astype(np.int64)
        got = np.zeros(sum(send_counts) + 1, np.int64)
        expected = np.concatenate([np.full(rank + other, 10 * other + rank) for other in range(size)])
        coll.run(
            comm,
            coll.alltoallv,
            Spread(rows.ctypes.data, send_counts, send_starts, kind),
            Spread(got.ctypes.data, send_counts, send_starts, kind),
        )
        assert np.array_equal(got[:-1], expected)
        got[:] = 0
        in_bytes = [8 * start for start in send_starts]
        kinds = [kind] * size
        request = coll.start(
            comm,
            coll.alltoallw,
            Mixed(rows.ctypes.data, send_counts, in_bytes, kinds),
            Mixed(got.ctypes.data, send_counts, in_bytes, kinds),
        )
        request.wait()
        assert np.array_equal(got[:-1], expected)

    run(size, program)


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


# MPI_Gather, MPI_Scatter and MPI_Bcast with every algorithm, against what numpy says.


@pytest.mark.parametrize("size", SIZES)
def test_rooted(run, size):
    def program(world):
        comm = world.comm_world
        root = size - 1
        for count in COUNTS:
            mine = data(comm.rank, count)
            address, _, kind = buffer(mine)
            everything = np.stack([data(rank, count) for rank in range(size)]).ravel()
            got = np.zeros(count * size, np.int64)
            for _ in each_way(comm, coll.gather, Part(address, count, kind), Part(got.ctypes.data, count, kind), root):
                assert np.array_equal(got, everything) or comm.rank != root
                got[:] = 0
            part = np.zeros(count, np.int64)
            source = everything.ctypes.data
            for _ in each_way(comm, coll.scatter, Part(source, count, kind), Part(part.ctypes.data, count, kind), root):
                assert np.array_equal(part, mine)
                part[:] = 0
            message = data(root, count) if comm.rank == root else np.zeros(count, np.int64)
            for _ in each_way(comm, coll.bcast, *buffer(message), root):
                assert np.array_equal(message, data(root, count))
                if comm.rank != root:
                    message[:] = 0

    run(size, program)


@pytest.mark.parametrize("size", [1, 3, 4, 5])
def test_rooted_in_place_and_varied(run, size):
    def program(world):
        comm = world.comm_world
        root = size // 2
        rank, at_root = comm.rank, comm.rank == root
        for count in (2, 400):
            kind = buffer(data(0, 1))[2]
            whole = np.zeros(count * size, np.int64)
            whole[rank * count : (rank + 1) * count] = data(rank, count)
            own = data(rank, count)
            coll.run(
                comm,
                coll.gather,
                Part(IN_PLACE if at_root else own.ctypes.data, count, kind),
                Part(whole.ctypes.data, count, kind),
                root,
            )
            expected = np.concatenate([data(other, count) for other in range(size)])
            if at_root:
                assert np.array_equal(whole, expected)
                own[:] = 0
            target = IN_PLACE if at_root else own.ctypes.data
            coll.run(comm, coll.scatter, Part(whole.ctypes.data, count, kind), Part(target, count, kind), root)
            assert np.array_equal(own, np.zeros(count) if at_root else data(rank, count))
        counts = [other + 1 for other in range(size)]
        starts = [6 * other for other in range(size)]
        room = np.full(6 * size + 6, -1, np.int64)
        own = data(rank, counts[rank])
        receive = Spread(room.ctypes.data, counts, starts, kind)
        coll.run(comm, coll.gatherv, Part(own.ctypes.data, own.size, kind), receive, root)
        if at_root:
            for other in range(size):
                assert np.array_equal(room[starts[other]][None], data(other, 1))
        back = np.zeros(counts[rank], np.int64)
        if at_root:
            for other in range(size):
                room[starts[other] : starts[other] + counts[other]] = other
        coll.run(
            comm,
            coll.scatterv,
            Spread(room.ctypes.data, counts, starts, kind),
            Part(back.ctypes.data, back.size, kind),
            root,
        )
        assert back[0] == rank

    run(size, program)
