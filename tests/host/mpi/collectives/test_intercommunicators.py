"""Collectives of inter-communicators."""

import numpy as np

from lanai_host.mpi import ERRORS_RETURN, MpiError, creation, intercomm
from lanai_host.mpi import collectives as coll
from lanai_host.mpi.collectives.checks import Part
from lanai_host.mpi.constants import PROC_NULL, ROOT
from lanai_host.mpi.datatypes import contiguous
from lanai_host.mpi.op import PREDEFINED as OPS

from ..ranks import buffer, ints
from .ways import SUM


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
