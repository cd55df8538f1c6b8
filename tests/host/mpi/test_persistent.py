"""Persistent and partitioned requests."""

import numpy as np
import pytest

from lanai_host.mpi import MpiError, completion, partitioned, point_to_point, polling
from lanai_host.mpi import point_to_point as p2p
from lanai_host.mpi.constants import UNDEFINED
from lanai_host.mpi.datatypes import PREDEFINED

from .ranks import buffer, ints

INT = PREDEFINED["MPI_INT"]


def test_persistent(run):
    def program(world):
        comm = world.comm_world
        other = 1 - comm.rank
        value, got = ints(0), ints(-1)
        requests = [
            point_to_point.recv_init(comm, *buffer(got), other, 4),
            point_to_point.send_init(comm, *buffer(value), other, 4),
        ]
        assert completion.wait_any(requests)[0] == UNDEFINED
        for turn in range(3):
            value[0] = turn
            completion.start_all(requests)
            with pytest.raises(MpiError, match="already active"):
                requests[0].start()
            completion.wait_all(requests)
            assert got[0] == turn
            assert not requests[0].active

    run(2, program)


def test_partitioned(run):
    def program(world):
        comm = world.comm_world
        values = np.arange(12, dtype=np.int32)
        if comm.rank == 0:
            request = partitioned.psend_init(comm, values.ctypes.data, 4, 3, INT, 1, 2)
            for _ in range(2):
                request.start()
                request.ready([2, 0])
                assert request.test() is None
                request.ready([1])
                request.ready([3])
                request.wait()
            return
        got = np.zeros(12, np.int32)
        request = partitioned.precv_init(comm, got.ctypes.data, 2, 6, INT, 0, 2)
        for _ in range(2):
            request.start()
            while not request.arrived(1):
                pass
            request.wait()
            assert np.array_equal(got, values)

    run(2, program)


def test_looks_for_a_partition_in_vain_are_told(run, monkeypatch):
    monkeypatch.setattr(polling, "LOOKS", 2)
    monkeypatch.setattr(polling, "SECONDS", 0.0)

    def program(world):
        comm = world.comm_world
        value, told = ints(5), []
        if comm.rank == 0:
            request = partitioned.psend_init(comm, *buffer(value)[:1], 1, 1, INT, 1, 2)
            p2p.recv(comm, 0, 0, INT, 1, 9)
            request.start()
            request.ready([0])
            request.wait()
            return
        world.process.progress.polls.tell = lambda why: told.append(why and why.call)
        request = partitioned.precv_init(comm, *buffer(value)[:1], 1, 1, INT, 0, 2)
        request.start()
        assert not any(request.arrived(0) for _ in range(4))
        assert told == ["MPI_Precv_init"]
        p2p.send(comm, 0, 0, INT, 0, 9)
        while not request.arrived(0):
            pass
        assert told[-1] is None
        request.wait()

    run(2, program)


def test_partitioned_pairs_match_in_the_order_of_their_inits(run):
    """Pairs of one peer and tag, started and filled in different orders on both sides; one receive
    starts early."""

    def program(world):
        comm = world.comm_world
        pairs = 4
        orders = ([2, 0, 3, 1], [1, 3, 2, 0])
        if comm.rank == 0:
            values = [np.arange(6, dtype=np.int32) + 100 * pair for pair in range(pairs)]
            p2p.recv(comm, 0, 0, INT, 1, 9)
            sends = [partitioned.psend_init(comm, value.ctypes.data, 2, 3, INT, 1, 7) for value in values]
            other = partitioned.psend_init(comm, values[3].ctypes.data, 1, 6, INT, 1, 8)
            for order in orders:
                for pair in order:
                    sends[pair].start()
                    sends[pair].ready([1, 0])
                completion.wait_all(sends)
            other.start()
            other.ready([0])
            other.wait()
            return
        got = [np.zeros(6, np.int32) for _ in range(pairs)]
        late = np.zeros(6, np.int32)
        other = partitioned.precv_init(comm, late.ctypes.data, 1, 6, INT, 0, 8)
        receives = [partitioned.precv_init(comm, room.ctypes.data, 3, 2, INT, 0, 7) for room in got]
        receives[1].start()
        assert not receives[1].arrived(0)
        p2p.send(comm, 0, 0, INT, 0, 9)
        for turn, order in enumerate(reversed(orders)):
            for pair in order:
                if turn or pair != 1:
                    receives[pair].start()
            statuses = completion.wait_all(receives)
            assert [(s.source, s.tag, s.count) for s in statuses] == [(0, 7, 24)] * pairs
            assert [int(room[0]) for room in got] == [0, 100, 200, 300]
        other.start()
        other.wait()
        assert late[0] == 300

    run(2, program)
