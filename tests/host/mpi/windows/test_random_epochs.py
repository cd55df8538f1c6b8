"""Random legal epochs of all kinds against a sequential reference."""

from typing import NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lanai_host.mpi import windows
from lanai_host.mpi.collectives import barrier
from lanai_host.mpi.collectives import run as collective
from lanai_host.mpi.constants import Assertion, LockType
from lanai_host.mpi.datatypes import PREDEFINED, vector
from lanai_host.mpi.op import PREDEFINED as OPS
from lanai_host.mpi.windows import sync

from ..ranks import LateDevice, buffer, run
from .test_operations import window_on

INT = PREDEFINED["MPI_INT"]
RANKS, PLACES = 3, 12
PUT, GET, SUM, FETCH = "put", "get", "sum", "fetch"
EPOCHS = ("fence", "lock", "lock_all", "post")


class Step(NamedTuple):
    """An operation of `origin` on `count` places of `target`, `stride` apart from `first` on;
    `value` is what it brings."""

    origin: int
    target: int
    kind: str
    first: int
    count: int
    stride: int
    value: int

    @property
    def places(self):
        return [self.first + self.stride * index for index in range(self.count)]


ranks = st.integers(0, RANKS - 1)
steps = st.builds(
    Step,
    ranks,
    ranks,
    st.sampled_from([PUT, GET, SUM, FETCH]),
    st.integers(0, PLACES - 1),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 99),
)


def legal(wanted):
    """Return the steps of one epoch that MPI allows together: what is put is touched once, sums may meet sums, reads
    may meet reads.
    """
    users, chosen = {}, []
    for step in wanted:
        if step.places[-1] >= PLACES:
            continue
        kind = SUM if step.kind == FETCH else step.kind
        touched = [users.get((step.target, place)) for place in step.places]
        if step.kind == FETCH and any(touched):
            continue  # what it returns would depend on the order
        if any(other is not None and (other != kind or kind == PUT) for other in touched):
            continue
        users.update({(step.target, place): FETCH if step.kind == FETCH else kind for place in step.places})
        chosen.append(step)
    return chosen


def reference(epochs):
    """The memory in the end, and what each GET and FETCH finds, in order."""
    memory, found = np.zeros((RANKS, PLACES), int), []
    for _, chosen in epochs:
        found.append([memory[step.target][step.places].tolist() for step in chosen if step.kind in (GET, FETCH)])
        for step in chosen:
            if step.kind == PUT:
                memory[step.target][step.places] = step.value
            elif step.kind in (SUM, FETCH):
                memory[step.target][step.places] += step.value
    return memory.tolist(), found


def perform(win, step, width, got):
    """`width` ints for each place."""
    values = np.full(step.count * width, step.value, np.int32)
    strided = vector(step.count, width, step.stride * width, INT)
    strided.commit()
    target = step.target, step.first * width, 1, strided
    if step.kind == PUT:
        windows.put(win, *buffer(values), *target)
    elif step.kind == SUM:
        windows.accumulate(win, *buffer(values), *target, OPS["MPI_SUM"])
    else:
        room = np.full(step.count * width, -1, np.int32)
        got.append(room)
        if step.kind == GET:
            windows.get(win, *buffer(room), *target)
        else:
            windows.get_accumulate(win, *buffer(values), *buffer(room), *target, OPS["MPI_SUM"])


def epoch(win, kind, mine, act):
    if kind == "fence":
        sync.fence(win, Assertion.NOPRECEDE)
        act(mine)
        sync.fence(win, Assertion.NOSUCCEED)
    elif kind == "post":
        sync.post(win, win.group, 0)
        sync.start(win, win.group, 0)
        act(mine)
        sync.complete(win)
        sync.wait(win)
    elif kind == "lock_all":
        sync.lock_all(win, 0)
        act(mine)
        sync.flush_all(win)
        sync.unlock_all(win)
    else:
        for target in range(RANKS):
            sync.lock(win, LockType.SHARED, target, 0)
            act([step for step in mine if step.target == target])
            sync.unlock(win, target)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(EPOCHS), st.lists(steps, max_size=12)), min_size=1, max_size=5),
    st.sampled_from([1, 30, 1100]),
)
def test_any_legal_epochs(wanted, width):
    epochs = [(kind, legal(some)) for kind, some in wanted]

    def program(world):
        comm = world.comm_world
        memory = np.zeros(PLACES * width, np.int32)
        win = window_on(comm, memory)
        found = []
        for kind, chosen in epochs:
            got = {}

            def act(some, got=got):
                for step in some:
                    perform(win, step, width, got.setdefault(step, []))

            epoch(win, kind, [step for step in chosen if step.origin == comm.rank], act)
            collective(comm, barrier)
            found.append(got)
        windows.free(win)
        return memory.reshape(PLACES, width).tolist(), found

    memory, found = reference(epochs)
    results = run(RANKS, program, LateDevice)
    for rank, (mine, _) in enumerate(results):
        assert mine == [[value] * width for value in memory[rank]]
    for number, (_, chosen) in enumerate(epochs):
        reading = [step for step in chosen if step.kind in (GET, FETCH)]
        for step, expected in zip(reading, found[number], strict=True):
            for room in results[step.origin][1][number][step]:
                assert room.reshape(step.count, width).tolist() == [[value] * width for value in expected]
