"""Collectives whose processes name different lengths: an error, and no byte outside of the buffers."""

import itertools

import numpy as np
import pytest

from lanai_host.device import Choices
from lanai_host.mpi import ERRORS_RETURN, MpiError, memory
from lanai_host.mpi import collectives as coll
from lanai_host.mpi.collectives.checks import Mixed, Part, Spread
from lanai_host.mpi.datatypes import PREDEFINED
from lanai_host.mpi.errors import ErrorClass

from .ways import SUM

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
