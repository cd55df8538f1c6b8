"""Random legal epochs of all kinds against a sequential reference."""

import random
import threading
import time
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanai_host.mpi import windows
from lanai_host.mpi.collectives import barrier
from lanai_host.mpi.collectives import run as collective
from lanai_host.mpi.constants import Assertion, LockType
from lanai_host.mpi.datatypes import PREDEFINED, vector
from lanai_host.mpi.op import PREDEFINED as OPS
from lanai_host.mpi.windows import sync
from lanai_host.mpi.windows.by_device import QueueLocks
from lanai_host.mpi.windows.way import MASK, STATE, TAIL
from lanai_host.operation import Wait
from lanai_host.remote import Atomic

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


# Locks by atomics: who holds them together, and in what order they are granted.


EXCLUSIVE, SHARED = LockType.EXCLUSIVE, LockType.SHARED
WHY = Wait("MPI_Win_lock")
TARGET = 0
LIMIT = 20  # seconds until a test has failed


class Table:
    """The words of all processes."""

    def __init__(self, seed):
        self.changed = threading.Condition()
        self.targets = {TAIL: 0, STATE: 0}
        self.own = {}
        self._chance = random.Random(seed)

    def disturb(self):
        if self._chance.random() < 0.3:
            time.sleep(self._chance.random() * 2e-4)


class TableWords:
    """The `Words` of process `me`."""

    def __init__(self, table, me):
        self.table, self.me = table, me

    def get(self, rank, which):
        self.table.disturb()
        return self.table.own.get((self.me, rank, which), 0)

    def set(self, rank, which, value):
        self.table.own[self.me, rank, which] = value

    def change(self, rank, word, what, operand, why, compare=0):
        assert rank == TARGET
        self.table.disturb()
        with self.table.changed:
            old = self.table.targets[word]
            if what is Atomic.ADD:
                self.table.targets[word] = (old + operand) & MASK
            elif what is Atomic.SWAP or old == compare:
                self.table.targets[word] = operand
        return old

    def tell(self, to, rank, which, value, why):
        self.table.disturb()
        with self.table.changed:
            self.table.own[to, rank, which] = value
            self.table.changed.notify_all()

    def until_set(self, rank, which, why):
        with self.table.changed:
            assert self.table.changed.wait_for(lambda: self.table.own.get((self.me, rank, which)), LIMIT)


def run_queue_locks(programs, table):
    """Each program in a thread, with its locks; raises what the first of them raised."""
    errors = []

    def start(me, program):
        try:
            program(QueueLocks(TableWords(table, me), me))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=start, args=one, daemon=True) for one in enumerate(programs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
        assert not thread.is_alive(), "a lock is never granted"
    if errors:
        raise errors[0]


@pytest.mark.parametrize("seed", range(6))
def test_an_exclusive_lock_is_held_alone_and_all_are_granted(seed):
    table, holders = Table(seed), []

    def program(me):
        chance = random.Random(f"{seed} {me}")

        def work(locks):
            for _ in range(15):
                kind = chance.choice([EXCLUSIVE, SHARED, SHARED])
                locks.lock(TARGET, kind, WHY)
                holders.append(kind)
                held = list(holders)
                assert EXCLUSIVE not in held or len(held) == 1, held
                table.disturb()
                holders.remove(kind)
                locks.unlock(TARGET, kind, WHY)

        return work

    run_queue_locks([program(me) for me in range(5)], table)
    assert table.targets == {TAIL: 0, STATE: 0}


def test_shared_locks_are_held_together():
    meeting = threading.Barrier(3, timeout=LIMIT)

    def program(locks):
        locks.lock(TARGET, SHARED, WHY)
        meeting.wait()
        locks.unlock(TARGET, SHARED, WHY)

    run_queue_locks([program] * 3, Table(1))


def test_a_shared_lock_does_not_overtake_an_exclusive_one_that_waits():
    table, order = Table(2), []
    held, asked = threading.Event(), threading.Event()

    def reader(locks):
        locks.lock(TARGET, SHARED, WHY)
        held.set()
        assert asked.wait(LIMIT)
        order.append("first reader ends")
        locks.unlock(TARGET, SHARED, WHY)

    def writer(locks):
        assert held.wait(LIMIT)
        locks.lock(TARGET, EXCLUSIVE, WHY)
        order.append("writer")
        locks.unlock(TARGET, EXCLUSIVE, WHY)

    def late(locks):
        while not table.targets[STATE] >> 16:  # until the writer waits for the reader
            time.sleep(1e-4)
        threading.Timer(0.05, asked.set).start()
        locks.lock(TARGET, SHARED, WHY)
        order.append("second reader")
        locks.unlock(TARGET, SHARED, WHY)

    run_queue_locks([reader, writer, late], table)
    assert order == ["first reader ends", "writer", "second reader"]
