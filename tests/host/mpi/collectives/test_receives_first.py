"""The receives of a step of a collective are begun before its sends, whatever the algorithm: so
what comes can go straight to its place."""

import dataclasses
import threading

import numpy as np
import pytest

from lanai_host.mpi import collectives as coll
from lanai_host.mpi.collectives import schedule
from lanai_host.mpi.collectives.checks import Part, Spread
from lanai_host.mpi.collectives.link import Link

from ..ranks import buffer
from .ways import COUNTS, SIZES, SUM, data

RECEIVE, SEND = "receive", "send"


@pytest.fixture
def steps(monkeypatch):
    """The call of each step of each collective, and what it began, in order."""
    here = threading.local()
    found = []

    def recorded(name, what):
        real = getattr(Link, name)

        def begin(self, *arguments, **named):
            here.step.append(what)
            return real(self, *arguments, **named)

        monkeypatch.setattr(Link, name, begin)

    def cut(call, generator):
        here.step = []
        for operations in generator:
            found.append((call, here.step))
            yield operations
            here.step = []
        found.append((call, here.step))

    recorded("receive_body", RECEIVE)
    recorded("send_body", SEND)
    launch = schedule.launch
    monkeypatch.setattr(
        schedule, "launch", lambda link, generator, result=None: launch(link, cut(link.call, generator), result)
    )
    return found


def parts(array, count, size):
    """Return the arguments of a call for an array: as one part, and cut for all ranks."""
    address, _, kind = buffer(array)
    return Part(address, count, kind), Spread(address, [count] * size, [count * rank for rank in range(size)], kind)


def run_all(comm, count):
    """Every collective that moves data inside a group."""
    size = comm.size
    mine, rows = data(comm.rank, count), data(comm.rank, count, size)
    got, all_got = np.zeros(count, np.int64), np.zeros(count * size, np.int64)
    (one, _), (each, cut) = parts(mine, count, size), parts(rows, count, size)
    (into, _), (each_into, cut_into) = parts(got, count, size), parts(all_got, count, size)
    kind = one.datatype
    coll.run(comm, coll.bcast, into.address, count, kind, size // 2)
    for plan, arguments in (
        (coll.allgather, (one, each_into)),
        (coll.allgatherv, (one, cut_into)),
        (coll.alltoall, (each, each_into)),
        (coll.alltoallv, (cut, cut_into)),
        (coll.gather, (one, each_into, size // 2)),
        (coll.gatherv, (one, cut_into, size // 2)),
        (coll.scatter, (each, into, size // 2)),
        (coll.scatterv, (cut, into, size // 2)),
        (coll.reduce, (one.address, into.address, count, kind, SUM, size // 2)),
        (coll.allreduce, (one.address, into.address, count, kind, SUM)),
        (coll.scan, (one.address, into.address, count, kind, SUM)),
        (coll.exscan, (one.address, into.address, count, kind, SUM)),
        (coll.reduce_scatter_block, (each.address, into.address, count, kind, SUM)),
        (coll.reduce_scatter, (each.address, into.address, [count] * size, kind, SUM)),
    ):
        coll.run(comm, plan, *arguments)
    coll.run(comm, coll.barrier)


@pytest.mark.parametrize("size", [size for size in SIZES if size > 1])
@pytest.mark.parametrize("by_gather", [False, True])
def test_a_step_receives_before_it_sends(run, steps, size, by_gather):
    def program(world):
        device = world.comm_world.device
        device.choices = dataclasses.replace(device.choices, reduce_by_gather=by_gather)
        for count in COUNTS[1:-1]:
            run_all(world.comm_world, count)

    run(size, program)
    both = [step for _, step in steps if {RECEIVE, SEND} <= set(step)]
    assert both, "no step does both"
    assert all(step == sorted(step) for step in both)


def test_a_process_beyond_a_power_of_two_awaits_the_result_before_it_gives_its_part(run, steps):
    def program(world):
        mine = data(world.comm_world.rank, 5)
        got = np.zeros(5, np.int64)
        coll.run(world.comm_world, coll.allreduce, mine.ctypes.data, got.ctypes.data, 5, buffer(mine)[2], SUM)
        assert np.array_equal(got, sum(data(other, 5) for other in range(3)))

    run(3, program)
    # Rank 0: one step. Rank 1: its neighbour's part, the exchange, the result. Rank 2: the exchange.
    begun = sorted(step for call, step in steps if call == "MPI_Allreduce" and step)
    assert begun == sorted([[RECEIVE, SEND], [RECEIVE], [RECEIVE, SEND], [SEND], [RECEIVE, SEND]])


@pytest.mark.parametrize(("under_way", "sends"), [(0, [4]), (80, [2, 1, 1]), (119, [2, 1, 1]), (39, [1, 1, 1, 1])])
def test_an_all_to_all_receives_from_all_and_sends_so_many_bytes_at_a_time(run, steps, under_way, sends):
    """Blocks of 40 bytes. A step that begins another send waits for the oldest one only."""

    def program(world):
        comm, device = world.comm_world, world.comm_world.device
        device.choices = dataclasses.replace(device.choices, alltoall_under_way=under_way)
        rows, got = data(comm.rank, 5, 5), np.zeros(25, np.int64)
        (each, cut), (each_into, cut_into) = parts(rows, 5, 5), parts(got, 5, 5)
        for plan, going, coming in ((coll.alltoall, each, each_into), (coll.alltoallv, cut, cut_into)):
            got[:] = 0
            coll.run(comm, plan, going, coming)
            assert np.array_equal(got, np.concatenate([data(other, 5, 5)[5 * comm.rank :][:5] for other in range(5)]))

    run(5, program)
    for call in ("MPI_Alltoall", "MPI_Alltoallv"):
        begun = sorted(tuple(step) for name, step in steps if name == call and step)
        first, *others = sends
        expected = [(RECEIVE,) * 4 + (SEND,) * first, *((SEND,) * count for count in others)]
        assert begun == sorted(expected * 5)
