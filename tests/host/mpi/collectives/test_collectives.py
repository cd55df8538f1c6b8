"""Tests of all collectives: datatypes, wrong arguments, calls in the background, tags."""

import numpy as np
import pytest

from lanai_host.mpi import ERRORS_RETURN, MpiError, creation, grids, intercomm
from lanai_host.mpi import collectives as coll
from lanai_host.mpi import grids as graphs
from lanai_host.mpi.collectives.checks import Part, Spread
from lanai_host.mpi.collectives.link import CREATION, name_of, next_tag
from lanai_host.mpi.constants import IN_PLACE, PROC_NULL, ROOT
from lanai_host.mpi.datatypes import contiguous, vector
from lanai_host.mpi.op import PREDEFINED as OPS

from .. import ranks
from ..ranks import buffer, ints
from .ways import SUM, data


def test_derived_types_travel_unpacked(run):
    """Every second element goes; the gaps stay."""

    def program(world):
        comm = world.comm_world
        kind = buffer(data(0, 1))[2]
        striped = vector(3, 1, 2, kind)
        striped.commit()
        array = data(comm.rank, 6)
        if comm.rank == 1:
            array[:] = -5
        coll.run(comm, coll.bcast, array.ctypes.data, 1, striped, 0)
        assert array[::2].tolist() == [0, 200, 400] or comm.rank > 1
        assert array[1] == (-5 if comm.rank == 1 else 100 + comm.rank)
        rows = np.zeros(3 * comm.size, np.int64)
        coll.run(comm, coll.gather, Part(array.ctypes.data, 1, striped), Part(rows.ctypes.data, 3, kind), 0)
        if comm.rank == 0:
            assert rows.reshape(-1, 3)[:, 1].tolist() == [200] * comm.size

    run(5, program)


def test_neighbourhoods(run):
    def program(world):
        comm = world.comm_world
        kind = buffer(ints(0))[2]
        ring = grids.cart_create(comm, [comm.size, 1], [True, False], False)
        row = ints(1, 2, 3, 4) + 10 * comm.rank
        got = np.full(4, -1, np.int32)
        coll.run(ring, coll.neighbor_alltoall, Part(row.ctypes.data, 1, kind), Part(got.ctypes.data, 1, kind))
        below, above = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
        assert got.tolist() == [10 * below + 2, 10 * above + 1, -1, -1]
        coll.run(ring, coll.neighbor_allgather, Part(row.ctypes.data, 1, kind), Part(got.ctypes.data, 1, kind))
        assert got.tolist() == [10 * below + 1, 10 * above + 1, -1, -1]
        star = graphs.dist_graph_create_adjacent(comm, [above], None, [below], None, None, False)
        coll.start(star, coll.neighbor_allgather, Part(row.ctypes.data, 2, kind), Part(got.ctypes.data, 2, kind)).wait()
        assert got.tolist()[:2] == [10 * above + 1, 10 * above + 2]

    for size in (1, 2, 3):
        run(size, program)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda kind, array: (coll.bcast, array, -1, kind, 0), "MPI_Bcast: count is -1; it must not be negative"),
        (lambda kind, array: (coll.bcast, array, 1, kind, 2), "MPI_Bcast: root is 2; it must be from 0 to 1"),
        (lambda kind, array: (coll.allreduce, array, IN_PLACE, 1, kind, SUM), "MPI_Allreduce: recvbuf is MPI_IN_PLACE"),
        (
            lambda kind, array: (coll.reduce, array, array, 1, kind, SUM, 0),
            "sendbuf and recvbuf are the same; use MPI_IN_PLACE",
        ),
        (lambda kind, array: (coll.neighbor_alltoall, Part(array, 1, kind), Part(array, 1, kind)), "no topology"),
        (lambda kind, array: (coll.bcast, 0, 1, kind, 0), "MPI_Bcast: buffer is a null pointer, but the count is 1"),
        (lambda kind, array: (coll.allreduce, 0, array, 2, kind, SUM), "sendbuf is a null pointer, but the count is 2"),
        (lambda kind, array: (coll.allgather, Part(array, 1, kind), Part(array, 1, kind)), "are the same"),
        (lambda kind, array: (coll.alltoall, Part(array, 1, kind), Part(0, 1, kind)), "recvbuf is a null pointer"),
        (
            lambda kind, array: (coll.gatherv, Part(array, 1, kind), Spread(0, [1, 0], [0, 0], kind), 0),
            "recvbuf is a null",
        ),
    ],
)
def test_bad_arguments(run, arguments, message):
    def program(world):
        if world.rank:
            return
        array = ints(0, 0)
        with pytest.raises(MpiError, match=message):
            coll.run(world.comm_world, *arguments(buffer(array)[2], array.ctypes.data))
        world.comm_world.sequence = 0  # the other rank was not there

    run(2, program)


def test_counts_that_do_not_match_are_named(run):
    def program(world):
        array = np.zeros(4, np.int32)
        address, _, kind = buffer(array)
        if world.rank == 0:
            coll.run(world.comm_world, coll.bcast, address, 4, kind, 0)
            return
        with pytest.raises(MpiError, match="MPI_Bcast: rank 0 sent more than the 8 bytes that rank 1 expects"):
            coll.run(world.comm_world, coll.bcast, address, 2, kind, 0)

    run(2, program)


def test_many_at_once_in_the_background(run):
    def program(world):
        comm = world.comm_world
        values = [ints(index + comm.rank) for index in range(50)]
        results = [ints(0) for _ in values]
        kind = buffer(values[0])[2]
        requests = [
            coll.start(comm, coll.allreduce, value.ctypes.data, result.ctypes.data, 1, kind, SUM)
            for value, result in zip(values, results, strict=True)
        ]
        for request in reversed(requests):
            request.wait()
        assert [int(result[0]) for result in results] == [3 * index + 3 for index in range(50)]

    run(3, program)


def test_background_and_blocking_collectives_do_not_meet(run):
    """Rank 0 starts the reduction before the barrier, the others after it."""

    def program(world):
        comm = world.comm_world
        value, got = ints(comm.rank + 1), ints(0)
        arguments = (coll.allreduce, value.ctypes.data, got.ctypes.data, 1, buffer(value)[2], SUM)
        if comm.rank == 0:
            request = coll.start(comm, *arguments)
            coll.run(comm, coll.barrier)
        else:
            coll.run(comm, coll.barrier)
            request = coll.start(comm, *arguments)
        request.wait()
        assert got[0] == 6

    run(3, program)


@pytest.mark.parametrize(
    ("kind", "blocking", "other"),
    [
        (coll.allgather.kind, "MPI_Allgather", "MPI_Iallgather"),
        (coll.exscan.kind, "MPI_Exscan", "MPI_Iexscan"),
        (CREATION, "communicator creation", "communicator creation"),
    ],
)
def test_a_tag_tells_the_collective(kind, blocking, other):
    """So that a report can name a message that no receive took."""

    def program(world):
        comm = world.comm_self
        assert name_of(next_tag(comm, kind, background=False)) == f"{blocking} (collective 1)"
        assert name_of(next_tag(comm, kind, background=True)) == f"{other} (collective 1)"

    ranks.run(1, program)


# Collectives of inter-communicators.


def test_intercommunicators(run):
    def program(world):
        comm = world.comm_world
        side = comm.rank % 2
        half = creation.split(comm, side, comm.rank)
        inter = intercomm.create_intercomm(half, 0, comm, 1 - side, 7)
        there, here = inter.remote_size, inter.size
        kind = buffer(ints(0))[2]
        one, out = ints(comm.rank + 1), np.zeros(8, np.int32)
        others = [rank + 1 for rank in range(comm.size) if rank % 2 != side]
        coll.run(inter, coll.barrier)
        coll.run(inter, coll.allreduce, one.ctypes.data, out.ctypes.data, 1, kind, SUM)
        assert out[0] == sum(others)
        coll.run(inter, coll.allgather, Part(one.ctypes.data, 1, kind), Part(out.ctypes.data, 1, kind))
        assert out[:there].tolist() == others
        row = np.arange(there, dtype=np.int32) + 10 * (comm.rank + 1)
        coll.run(inter, coll.alltoall, Part(row.ctypes.data, 1, kind), Part(out.ctypes.data, 1, kind))
        assert out[:there].tolist() == [10 * other + inter.rank for other in others]
        root = ROOT if comm.rank == 1 else PROC_NULL if side else 0
        word = ints(77 if comm.rank == 1 else 0)
        coll.run(inter, coll.bcast, *buffer(word), root)
        assert word[0] == (77 if side == 0 or comm.rank == 1 else 0)
        coll.run(inter, coll.gather, Part(one.ctypes.data, 1, kind), Part(out.ctypes.data, 1, kind), root)
        assert comm.rank != 1 or out[:there].tolist() == others
        coll.run(inter, coll.scatter, Part(out.ctypes.data, 1, kind), Part(word.ctypes.data, 1, kind), root)
        assert side or word[0] == one[0]
        coll.run(inter, coll.reduce, one.ctypes.data, out.ctypes.data, 1, kind, SUM, root)
        assert comm.rank != 1 or out[0] == sum(others)
        counts = [2] * here if here == there else None
        if counts:
            row = np.full(2 * here, comm.rank + 1, np.int32)
            coll.run(inter, coll.reduce_scatter, row.ctypes.data, out.ctypes.data, counts, kind, SUM)
            assert out[:2].tolist() == [sum(others)] * 2
        twin = creation.duplicate(inter)
        merged = intercomm.merge(twin, bool(side))
        assert merged.rank == (comm.rank // 2 + side * ((comm.size + 1) // 2))
        part = creation.split(twin, 0 if inter.rank == 0 else 1, 0)
        if min(here, there) > 1 or inter.rank == 0:
            assert part.remote_size == (1 if inter.rank == 0 else there - 1)

    for size in (2, 4, 5):
        run(size, program)


def test_a_process_that_takes_no_part_needs_no_arguments(run):
    def program(world):
        comm = world.comm_world
        side = min(comm.rank, 1)
        half = creation.split(comm, side, 0)
        inter = intercomm.create_intercomm(half, 0, comm, 1 - side, 7)
        got, kind = ints(0), buffer(ints(0))[2]
        root = 1 if side == 0 else ROOT if inter.rank == 1 else PROC_NULL
        if root == PROC_NULL:
            coll.run(inter, coll.reduce, 0, 0, 0, contiguous(1, kind), SUM, root)
        else:
            coll.run(inter, coll.reduce, buffer(ints(5))[0], got.ctypes.data, 1, kind, OPS["MPI_MAX"], root)
        assert got[0] == (5 if root == ROOT else 0)

    run(3, program)


def test_a_leader_that_fails_tells_its_group(run):
    """The root broadcasts 1 element and the other group asks for 4: its leader has nothing to pass on."""

    def program(world):
        comm = world.comm_world
        side = int(comm.rank > 0)
        inter = intercomm.create_intercomm(creation.split(comm, side, comm.rank), 0, comm, 1 - side, 7)
        inter.errhandler = ERRORS_RETURN
        counts = 4 if side else 1
        values = np.full(4, comm.rank, np.int32)
        out = np.full(4, -1, np.int32)
        kind = buffer(values)[2]
        told = []
        for plan, arguments in (
            (coll.bcast, (values.ctypes.data, counts, kind, 0 if side else ROOT)),
            (coll.allreduce, (values.ctypes.data, out.ctypes.data, counts, kind, SUM)),
        ):
            persistent = coll.prepare(inter, plan, *arguments)
            persistent.start()
            for request in (coll.start(inter, plan, *arguments), persistent):
                try:
                    request.wait()
                except MpiError as error:
                    told.append(error.text)
        return told, values.tolist()

    told = run(4, program)
    assert [len(texts) for texts, _ in told] == [2, 4, 4, 4]
    assert all("0 sent nothing, because its count is 0 or its own call failed" in text for text in told[2][0])
    assert told[2][1] == [2] * 4
    assert told[3][1] == [3] * 4
