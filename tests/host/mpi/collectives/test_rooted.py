"""MPI_Gather, MPI_Scatter and MPI_Bcast with every algorithm, against what numpy says."""

import numpy as np
import pytest

from lanai_host.mpi import collectives as coll
from lanai_host.mpi.collectives.checks import Part, Spread
from lanai_host.mpi.constants import IN_PLACE

from ..ranks import buffer
from .ways import COUNTS, SIZES, data, each_way


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
