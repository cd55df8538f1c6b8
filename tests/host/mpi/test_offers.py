"""The offers of a device beyond messages, as collectives use them: a barrier of its own, thresholds of its own."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from lanai_host.device import Choices, SendMode
from lanai_host.mpi import MpiError, creation
from lanai_host.mpi import collectives as coll
from lanai_host.mpi.collectives.checks import Part
from lanai_host.mpi.constants import IN_PLACE
from lanai_host.mpi.errors import ErrorClass
from lanai_host.operation import DeviceError, ErrorKind, Operation
from lanai_host.stacks.ideal.device import IdealDevice

from .collectives.test_algorithms import ORDERED
from .ranks import TIMEOUT, buffer, run


class Counting(IdealDevice):
    sent = 0

    def send(self, *arguments):
        self.sent += 1
        return super().send(*arguments)


def device_with_barrier():
    """A kind of device whose barriers of three or more ranks need no messages."""
    lock, begun = threading.Lock(), {}

    class WithBarrier(Counting):
        asked = ()

        def barrier(self, members, number):
            assert number < 1 << 47
            self.asked += ((tuple(members), number),)
            if len(members) < 3:
                return None
            with lock:
                meeting = begun.setdefault((tuple(members), number), threading.Barrier(len(members)))
            meeting.wait(TIMEOUT)
            operation = Operation(self.rank)
            operation.done = True
            return operation

    return WithBarrier


def test_a_barrier_of_the_device_takes_no_messages():
    come = []

    def program(world):
        comm, device = world.comm_world, world.comm_world.device
        before = device.sent
        come.append(comm.rank)
        coll.run(comm, coll.barrier)
        assert len(come) == comm.size
        coll.start(comm, coll.barrier).wait()
        request = coll.prepare(comm, coll.barrier)
        for _ in range(2):
            request.start()
            request.wait()
        assert device.sent == before
        return device.asked

    asked = run(4, program, device_with_barrier())
    assert len(set(asked)) == 1
    numbers = [number for members, number in asked[0] if members == (0, 1, 2, 3)]
    assert len(numbers) >= 4
    assert len(set(numbers[-4:])) == 3  # both starts of the persistent one have its number, one after the other


def test_messages_do_where_the_device_has_no_barrier_for_the_members():
    def program(world):
        comm, device = world.comm_world, world.comm_world.device
        pair = creation.split(comm, comm.rank // 2, comm.rank)
        before = device.sent
        coll.run(pair, coll.barrier)
        assert device.sent == before + 1
        assert device.asked[-1][0] == (comm.rank // 2 * 2, comm.rank // 2 * 2 + 1)

    run(4, program, device_with_barrier())


def test_a_barrier_that_fails_is_an_error():
    class Failing(Counting):
        def barrier(self, members, number):
            operation = Operation(self.rank)
            operation.done = True
            operation.error = DeviceError(ErrorKind.PEER_FAILED, "rank 2 does not answer")
            return operation

    def program(world):
        with pytest.raises(MpiError, match=r"MPI_Barrier: .*rank 2 does not answer") as caught:
            coll.run(world.comm_world, coll.barrier)
        assert caught.value.error_class == ErrorClass.PROC_ABORTED
        Failing.barrier = IdealDevice.barrier

    run(1, program, Failing)


@pytest.mark.parametrize(
    ("changes", "messages"),
    [({}, 3), ({"broadcast_by_pieces": 8}, 3 + 3 * 3), ({"broadcast_by_pieces": 8, "pieces_from_size": 5}, 3)],
)
def test_the_thresholds_are_the_devices(changes, messages):
    """Four ranks, 800 bytes: three messages of a tree, or three pieces from the root, then three
    steps round a ring in which no rank sends to the root."""

    class Choosing(Counting):
        choices = replace(IdealDevice.choices, **changes)

    def program(world):
        comm, device = world.comm_world, world.comm_world.device
        data = np.full(100, comm.rank, np.int64)
        before = device.sent
        coll.run(comm, coll.bcast, *buffer(data), 0)
        assert not data.any()
        return device.sent - before

    sent = run(4, program, Choosing)
    assert sum(sent) == messages


class Multicasting(Counting):
    choices = replace(IdealDevice.choices, multicast=True, multicast_scatter=64)
    casts = ()

    def multicast(self, dests, tag, context, body):
        self.casts += (tuple(dests),)
        sends = [IdealDevice.send(self, dest, tag, context, body, SendMode.STANDARD) for dest in dests]
        return sends[0]


@pytest.mark.parametrize("root", [0, 2])
def test_a_broadcast_is_one_multicast_where_the_device_has_it(root):
    def program(world):
        comm, device = world.comm_world, world.comm_world.device
        data = np.full(30_000, comm.rank, np.int64)
        before = device.sent
        coll.run(comm, coll.bcast, *buffer(data), root)
        assert (data == root).all()
        assert device.sent == before
        return device.casts

    others = tuple(rank for rank in range(4) if rank != root)
    assert run(4, program, Multicasting) == [(others,) if rank == root else () for rank in range(4)]


def test_a_broadcast_to_no_rank_needs_no_multicast():
    def program(world):
        coll.run(world.comm_world, coll.bcast, *buffer(np.zeros(9, np.int64)), 0)
        return world.comm_world.device.casts

    assert run(1, program, Multicasting) == [()]


@pytest.mark.parametrize("in_place", [False, True])
def test_an_allgather_is_a_multicast_of_each_rank(in_place):
    def program(world):
        comm, device = world.comm_world, world.comm_world.device
        mine, every = np.full(50, comm.rank, np.int64), np.full(200, -1, np.int64)
        every[50 * comm.rank : 50 * comm.rank + 50] = comm.rank
        address, count, kind = buffer(mine)
        before = device.sent
        own = Part(IN_PLACE if in_place else address, count, kind)
        coll.run(comm, coll.allgather, own, Part(buffer(every)[0], count, kind))
        assert (every == np.repeat(np.arange(4), 50)).all()
        return len(device.casts), device.sent - before

    assert run(4, program, Multicasting) == [(1, 0)] * 4


@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize("in_place", [False, True])
def test_a_reduce_by_gather_combines_in_the_order_of_ranks(ranks, in_place):
    """CC-24. The operation does not commute; allreduce is such a reduce and a broadcast."""

    class Gathering(Counting):
        choices = replace(IdealDevice.choices, reduce_by_gather=True)

    digits = int("1234"[:ranks])

    def program(world):
        comm, device = world.comm_world, world.comm_world.device
        root = ranks - 1
        mine, result, everywhere = np.full(30, comm.rank + 1, np.int64), np.zeros(30, np.int64), np.zeros(30, np.int64)
        address, count, kind = buffer(mine)
        coll.run(comm, coll.allreduce, address, buffer(everywhere)[0], count, kind, ORDERED)
        assert (everywhere == digits).all()
        stays = in_place and comm.rank == root
        target = mine if stays else result
        before = device.sent
        coll.run(comm, coll.reduce, IN_PLACE if stays else address, buffer(target)[0], count, kind, ORDERED, root)
        assert device.sent - before == (comm.rank != root)
        assert comm.rank != root or (target == digits).all()

    run(ranks, program, Gathering)


@pytest.mark.parametrize(("elements", "casts"), [(2, 1), (3, 0)])
@pytest.mark.parametrize("in_place", [False, True])
def test_a_scatter_of_few_bytes_is_a_multicast_of_all(elements, casts, in_place):
    """CC-23: four blocks of 16 bytes are 64, of 24 are 96."""

    def program(world):
        comm, device = world.comm_world, world.comm_world.device
        mine = np.full(elements, -1, np.int64)
        every = np.arange(4 * elements, dtype=np.int64)
        target, _, kind = buffer(mine)
        whole = Part(buffer(every)[0], elements, kind)
        stays = in_place and comm.rank == 1
        coll.run(comm, coll.scatter, whole, Part(IN_PLACE if stays else target, elements, kind), 1)
        expected = every[comm.rank * elements : (comm.rank + 1) * elements]
        assert (mine == (-1 if stays else expected)).all()
        return len(device.casts)

    assert sum(run(4, program, Multicasting)) == casts


@pytest.mark.parametrize(
    ("changes", "size", "ranks", "by_parts"),
    [
        ({}, 1 << 14, 4, True),
        ({}, (1 << 14) - 1, 4, False),
        ({}, 1 << 20, 3, False),
        ({"long_vector": 1024, "long_vector_per_rank": 64}, 1024, 16, True),
        ({"long_vector": 1024, "long_vector_per_rank": 64}, 1024, 17, False),
    ],
)
def test_when_vectors_go_by_parts(changes, size, ranks, by_parts):
    assert Choices(**changes).by_parts(size, ranks) == by_parts
