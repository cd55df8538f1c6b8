"""Locks by atomics: who holds them together, and in what order they are granted.

Processes are threads over one table of words. Each access of a word may let another thread go
first, as chance has it.
"""

import random
import threading
import time

import pytest

from lanai_host.mpi.constants import LockType
from lanai_host.mpi.windows.by_device import QueueLocks
from lanai_host.mpi.windows.way import MASK, STATE, TAIL
from lanai_host.operation import Wait
from lanai_host.remote import Atomic

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


def run(programs, table):
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

    run([program(me) for me in range(5)], table)
    assert table.targets == {TAIL: 0, STATE: 0}


def test_shared_locks_are_held_together():
    meeting = threading.Barrier(3, timeout=LIMIT)

    def program(locks):
        locks.lock(TARGET, SHARED, WHY)
        meeting.wait()
        locks.unlock(TARGET, SHARED, WHY)

    run([program] * 3, Table(1))


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

    run([reader, writer, late], table)
    assert order == ["first reader ends", "writer", "second reader"]
