"""Persistent and partitioned requests, and freed ones: memory held for an operation outlives its request."""

import gc

import numpy as np
import pytest

from lanai_host.mpi import (
    MpiError,
    buffered,
    completion,
    creation,
    partitioned,
    point_to_point,
    polling,
)
from lanai_host.mpi import collectives as plans
from lanai_host.mpi import point_to_point as p2p
from lanai_host.mpi.buffered import LONG
from lanai_host.mpi.collectives import schedule
from lanai_host.mpi.collectives.link import Link
from lanai_host.mpi.constants import BSEND_OVERHEAD, PROC_NULL, UNDEFINED
from lanai_host.mpi.datatypes import PREDEFINED

from . import ranks
from .ranks import KEPT, LateDevice, buffer, ints

INT = PREDEFINED["MPI_INT"]


class Reused:
    """Scratch memory that the process uses again as soon as the library has let go of it."""

    def __init__(self, size):
        self.data = np.zeros(max(size, 1), np.uint8)
        self.address = self.data.ctypes.data
        KEPT.append(self.data)

    def __del__(self):
        self.data[:] = 0xEE


@pytest.mark.parametrize("way", ["isendrecv_replace", "ibsend", "persistent", "partitioned"])
def test_a_freed_request_leaves_its_memory_to_the_operation(monkeypatch, way):
    """The device reads when the library next looks, long after the request has gone."""
    for module in ("point_to_point", "send_buffer", "partitioned"):
        monkeypatch.setattr(f"lanai_host.mpi.{module}.Scratch", Reused)

    def start(comm, value):
        if way == "isendrecv_replace":
            return point_to_point.isendrecv_replace(comm, *buffer(value), 1, 3, PROC_NULL, 3)
        if way == "ibsend":
            buffered.attach(comm, None, 0)
            return buffered.ibsend(comm, *buffer(value), 1, 3)
        if way == "persistent":
            buffered.attach(comm, None, 0)
            request = buffered.bsend_init(comm, *buffer(value), 1, 3)
            request.start()
            return request
        request = partitioned.psend_init(comm, value.ctypes.data, 1, value.size, INT, 1, 3)
        request.start()
        request.ready([0])
        return request

    def program(world):
        comm = creation.duplicate(world.comm_world)
        value = np.full(5000, 7, np.int32)
        number = comm.number
        if comm.rank == 0:
            request = start(comm, value)
            request.free()
            creation.free(comm)
            del request, comm
            gc.collect()
            assert not world.process.numbers.is_free(number)  # the message is still to come
            p2p.send(world.comm_world, 0, 0, INT, 1, 4)
        else:
            p2p.recv(world.comm_world, 0, 0, INT, 0, 4)
            value[:] = 0
            if way == "partitioned":
                request = partitioned.precv_init(comm, value.ctypes.data, 1, value.size, INT, 0, 3)
                request.start()
                request.wait()
            else:
                p2p.recv(comm, *buffer(value), 0, 3)
            assert set(value) == {7}
        plans.run(world.comm_world, plans.barrier)
        return world.process.numbers, number

    found = ranks.run(2, program, LateDevice)
    gc.collect()
    assert all(contexts.is_free(number) for contexts, number in found)


def _fail(world, steps):
    """Run the steps of a collective, whose first message is shorter than rank 0 expects."""
    link = Link(world.comm_world, "MPI_Test", 0, world.comm_world.context)
    with pytest.raises(MpiError, match="sent 4 bytes where rank 0 expects 8"):
        schedule.launch(link, steps(link)).wait()


def test_a_failed_collective_leaves_its_memory_to_what_is_under_way():
    """More is to be sent than the device has begun with."""
    seen, operations = [], []

    class Watched(Reused):
        def __del__(self):
            seen.append(all(operation.done for operation in operations))

    def program(world):
        comm = world.comm_world
        if comm.rank == 1:
            p2p.send(comm, *buffer(ints(1)), 0, 0)
            for _ in range(50):
                p2p.recv(comm, *buffer(ints(0)), 0, 0)
            return
        got = np.zeros(2, np.int32)

        def steps(link):
            room = Watched(4)
            early = link.receive_bytes(1, got.ctypes.data, 8)
            operations.extend(link.send_bytes(1, room.address, 4) for _ in range(50))
            yield [early]

        _fail(world, steps)
        gc.collect()
        assert not seen
        while not all(operation.done for operation in operations):
            world.process.device.progress()

    ranks.run(2, program, LateDevice)
    operations.clear()
    gc.collect()
    assert seen == [True]


def test_nothing_is_received_for_a_failed_collective(run):
    """Its other messages come when the program may have freed the buffers, one of them through another
    communicator."""

    def program(world):
        comm = world.comm_world
        other = creation.duplicate(comm)
        if comm.rank == 1:
            p2p.send(comm, *buffer(ints(1)), 0, 0)
            p2p.recv(comm, *buffer(ints(0)), 0, 1)
            p2p.send(comm, *buffer(ints(1)), 0, 0)
            p2p.send(other, *buffer(ints(1)), 0, 5)
        else:
            got = np.zeros(4, np.int32)

            def steps(link):
                early = link.receive_bytes(1, got.ctypes.data, 8)
                link.receive_bytes(1, got.ctypes.data + 8, 4)
                link.through(other, 5, other.context).receive_bytes(1, got.ctypes.data + 12, 4)
                yield [early]

            _fail(world, steps)
            p2p.send(comm, *buffer(ints(1)), 1, 1)
        plans.run(comm, plans.barrier)
        assert comm.rank or (list(got[2:]) == [0, 0] and not world.process.device.unexpected())
        creation.free(other)

    run(2, program)


# The buffer that a program attaches for MPI_Bsend.


def test_the_attached_buffer_fills_and_empties(run):
    def program(world):
        comm = world.comm_world
        if comm.rank == 0:
            room = np.zeros(2 * (8 + BSEND_OVERHEAD), np.uint8)
            buffered.attach(world.process, room.ctypes.data, room.size)
            with pytest.raises(MpiError, match="a buffer is attached already"):
                buffered.attach(world.process, 0, 1)
            for number in range(10):
                buffered.bsend(comm, *buffer(ints(number, number)), 1, 0)
            with pytest.raises(MpiError, match="a message of 200 bytes needs 296 bytes in one piece"):
                buffered.bsend(comm, *buffer(np.zeros(50, np.int32)), 1, 0)
            buffered.detach(world.process)
            return
        got = ints(0, 0)
        for number in range(10):
            p2p.recv(comm, *buffer(got), 0, 0)
            assert got.tolist() == [number, number]

    run(2, program)


def test_a_long_message_holds_the_attached_buffer_until_it_is_taken(run):
    def program(world):
        comm = world.comm_world
        data = np.arange(LONG, dtype=np.uint8)
        char = PREDEFINED["MPI_CHAR"]
        if comm.rank == 0:
            room = np.zeros(LONG + BSEND_OVERHEAD, np.uint8)
            buffered.attach(world.process, room.ctypes.data, room.size)
            buffered.bsend(comm, data.ctypes.data, LONG, char, 1, 0)
            with pytest.raises(MpiError, match=f"needs {LONG + BSEND_OVERHEAD} bytes in one piece"):
                buffered.bsend(comm, data.ctypes.data, LONG, char, 1, 0)
            p2p.send(comm, 0, 0, INT, 1, 1)
            p2p.recv(comm, 0, 0, INT, 1, 1)
            buffered.bsend(comm, data.ctypes.data, LONG, char, 1, 0)
            buffered.detach(world.process)
            return
        got = np.zeros(LONG, np.uint8)
        p2p.recv(comm, 0, 0, INT, 0, 1)
        p2p.recv(comm, got.ctypes.data, LONG, char, 0, 0)
        p2p.send(comm, 0, 0, INT, 0, 1)
        p2p.recv(comm, got.ctypes.data, LONG, char, 0, 0)
        assert got.tolist() == data.tolist()

    run(2, program)


# Persistent and partitioned requests.


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
    monkeypatch.setattr(polling, "VAIN", 3)

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
