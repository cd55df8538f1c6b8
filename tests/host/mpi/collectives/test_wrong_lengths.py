"""Collectives whose processes name different lengths: an error, and no byte outside of the buffers."""

import dataclasses
import itertools
import threading

import numpy as np
import pytest

from lanai_host.device import Choices
from lanai_host.mpi import ERRORS_RETURN, MpiError, memory
from lanai_host.mpi import collectives as coll
from lanai_host.mpi.collectives import schedule
from lanai_host.mpi.collectives.checks import Mixed, Part, Spread
from lanai_host.mpi.collectives.link import Link
from lanai_host.mpi.datatypes import PREDEFINED
from lanai_host.mpi.errors import ErrorClass

from ..ranks import buffer
from .ways import COUNTS, SIZES, SUM, data

INT = PREDEFINED["MPI_INT"]
SIZE = 4
ROOT = 1
GUARD = 4096
MARK = 0xA5
LENGTHS = [(4, 10), (10, 4), (600, 700), (700, 600)]  # elements; so many that all choose the same algorithm
WAYS = [
    Choices(),
    Choices(reduce_by_gather=True, tree_gather=0, long_vector=0),
    Choices(alltoall_short=4000, alltoall_short_size=2, tree_gather=4000, long_vector=4000),
    Choices(allgather_short=0, broadcast_by_pieces=0, long_vector=0),
]


class Guarded:
    """Bytes with a guard before and behind them."""

    def __init__(self, size):
        self.size = size
        self.room = np.full(GUARD + size + GUARD, MARK, np.uint8)
        self.address = self.room.ctypes.data + GUARD

    def is_whole(self):
        return bool((self.room[:GUARD] == MARK).all() and (self.room[GUARD + self.size :] == MARK).all())


@pytest.fixture
def scratches(monkeypatch):
    """All scratch memory that the library takes, guarded."""
    taken = []
    original = memory.Scratch.__init__

    def guarded(scratch, size):
        original(scratch, max(size, 1) + 2 * GUARD)
        whole = Guarded.__new__(Guarded)
        whole.size, whole.room = size, scratch.data
        whole.room[:] = MARK
        scratch.data = whole.room[GUARD : GUARD + max(size, 1)]
        scratch.address = whole.room.ctypes.data + GUARD
        taken.append(whole)

    monkeypatch.setattr(memory.Scratch, "__init__", guarded)
    return taken


def _same(n):
    return [n] * SIZE, [n * rank for rank in range(SIZE)]


def _bytes(n):
    return [n] * SIZE, [4 * n * rank for rank in range(SIZE)], [INT] * SIZE


# Each gives the plan's arguments from two buffers, and how many elements this process sends and receives.
PLANS = {
    "bcast": lambda s, r, n, m: (s, n, INT, ROOT),
    "gather": lambda s, r, n, m: (Part(s, n, INT), Part(r, m, INT), ROOT),
    "scatter": lambda s, r, n, m: (Part(s, n, INT), Part(r, m, INT), ROOT),
    "gatherv": lambda s, r, n, m: (Part(s, n, INT), Spread(r, *_same(m), INT), ROOT),
    "scatterv": lambda s, r, n, m: (Spread(s, *_same(n), INT), Part(r, m, INT), ROOT),
    "allgather": lambda s, r, n, m: (Part(s, n, INT), Part(r, m, INT)),
    "allgatherv": lambda s, r, n, m: (Part(s, n, INT), Spread(r, *_same(m), INT)),
    "alltoall": lambda s, r, n, m: (Part(s, n, INT), Part(r, m, INT)),
    "alltoallv": lambda s, r, n, m: (Spread(s, *_same(n), INT), Spread(r, *_same(m), INT)),
    "alltoallw": lambda s, r, n, m: (Mixed(s, *_bytes(n)), Mixed(r, *_bytes(m))),
    "reduce": lambda s, r, n, m: (s, r, n, INT, SUM, ROOT),
    "allreduce": lambda s, r, n, m: (s, r, n, INT, SUM),
    "scan": lambda s, r, n, m: (s, r, n, INT, SUM),
    "exscan": lambda s, r, n, m: (s, r, n, INT, SUM),
    "reduce_scatter_block": lambda s, r, n, m: (s, r, n, INT, SUM),
    "reduce_scatter": lambda s, r, n, m: (s, r, [n] * SIZE, INT, SUM),
}
LONGEST = 700 * SIZE * INT.size


CASES = [
    (name, odd) for name in PLANS for odd in (0, ROOT) if odd == ROOT or name not in ("scatter", "scatterv")
]  # the others send nothing there


@pytest.mark.parametrize(("name", "odd"), CASES)
def test_no_byte_is_written_outside(run, scratches, name, odd):
    """The rank `odd` sends as much as no other expects."""
    refused = []

    def program(world):
        comm = world.comm_world
        comm.errhandler = ERRORS_RETURN
        plan = getattr(coll, name)
        starts = (coll.run, lambda *arguments: coll.start(*arguments).wait())
        for choices, (usual, other), begin in itertools.product(WAYS, LENGTHS, starts):
            comm.device.choices = choices
            sent, received = Guarded(LONGEST), Guarded(LONGEST)
            mine = other if comm.rank == odd else usual
            try:
                begin(comm, plan, *PLANS[name](sent.address, received.address, mine, usual))
            except MpiError as error:
                refused.append(error.error_class)
            assert sent.is_whole()
            assert received.is_whole()
            sent.room[:] = received.room[:] = MARK  # the program frees it
            coll.run(comm, coll.barrier)
            assert (sent.room == MARK).all()
            assert (received.room == MARK).all()

    run(SIZE, program)
    assert all(scratch.is_whole() for scratch in scratches)
    assert set(refused) == {ErrorClass.TRUNCATE}


def _given(rank, block, n):
    """Return what a rank sends in one of its blocks."""
    return np.arange(n) + 1000 * rank + 100_000 * block


def _summed(ranks, blocks, n):
    return np.concatenate([sum(_given(rank, block, n) for rank in ranks) for block in blocks])


def _result(name, rank, n):
    """Return what a rank receives if all send `n` elements a block; None if it receives nothing."""
    everyone = range(SIZE)
    if name == "bcast":
        return _given(ROOT, 0, n)
    if name.startswith("gather"):
        return np.concatenate([_given(other, 0, n) for other in everyone]) if rank == ROOT else None
    if name.startswith("scatter"):
        return _given(ROOT, rank, n)
    if name.startswith("allgather"):
        return np.concatenate([_given(other, 0, n) for other in everyone])
    if name.startswith("alltoall"):
        return np.concatenate([_given(other, rank, n) for other in everyone])
    if name.startswith("reduce_scatter"):
        return _summed(everyone, [rank], n)
    if name == "scan":
        return _summed(range(rank + 1), [0], n)
    if name == "exscan":
        return _summed(range(rank), [0], n) if rank else None
    return _summed(everyone, [0], n) if name == "allreduce" or rank == ROOT else None


@pytest.mark.parametrize("odd", range(SIZE))
@pytest.mark.parametrize("name", PLANS)
def test_a_call_that_succeeds_has_only_bytes_that_were_sent(run, name, odd):
    """The rank `odd` names another count than all others. Its memory behind what it sends is private."""

    def program(world):
        comm = world.comm_world
        comm.errhandler = ERRORS_RETURN
        plan = getattr(coll, name)
        failures = 0
        for choices, (usual, other), wrong_receive in itertools.product(WAYS, LENGTHS, (False, True)):
            comm.device.choices = choices
            mine = other if comm.rank == odd else usual
            room = other if wrong_receive and comm.rank == odd else usual
            sent, received = np.full(SIZE * 700, -1, np.int32), np.full(SIZE * 700, -2, np.int32)
            for block in range(SIZE):
                sent[block * mine : (block + 1) * mine] = _given(comm.rank, block, mine)
            try:
                coll.run(comm, plan, *PLANS[name](sent.ctypes.data, received.ctypes.data, mine, room))
            except MpiError:
                failures += 1
            else:
                count = room if any(word in name for word in ("gather", "scatter", "alltoall")) else mine
                result = _result(name, comm.rank, count if not name.startswith("reduce_scatter") else mine)
                if result is not None:
                    got = (sent if name == "bcast" else received)[: result.size]
                    unequal = np.flatnonzero(got != result)
                    own = range(comm.rank * room, (comm.rank + 1) * room)
                    if name.startswith(("gather", "alltoall")) and mine < room:  # to itself a rank may send less
                        unequal = [index for index in unequal if index not in own]
                    elif name.startswith("scatter") and comm.rank == ROOT and mine < room:
                        unequal = []
                    assert len(unequal) == 0, (choices, mine, room, unequal[:4], got[:12])
            coll.run(comm, coll.barrier)
        return failures

    assert sum(run(SIZE, program))


def test_a_process_whose_buffer_cannot_be_written_tells_those_behind_it(run):
    """Rank 3 is above rank 0 in the tree of root 1."""

    def program(world):
        comm = world.comm_world
        comm.errhandler = ERRORS_RETURN
        values = np.full(4, comm.rank, np.int32)
        try:
            coll.run(comm, coll.bcast, 8 if comm.rank == 3 else values.ctypes.data, 4, INT, ROOT)
        except MpiError as error:
            return error.error_class
        return values.tolist()

    assert run(SIZE, program) == [ErrorClass.TRUNCATE, [1] * 4, [1] * 4, ErrorClass.BUFFER]


# The receives of a step of a collective are begun before its sends, whatever the algorithm: so what comes can go
# straight to its place.


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
