"""A program under mpiexec: links between parts keep their contract. Its argument names their class."""

import random
import sys
import time

import pytest
from mpi4py import MPI

from lanai_host.errors import UserError
from lanai_sim.parts import links as mailboxes
from lanai_sim.parts import links as messages
from lanai_sim.parts.links import ROOM, Ended

WORLD = MPI.COMM_WORLD
RANK, OTHERS = WORLD.rank, [rank for rank in range(WORLD.size) if rank != WORLD.rank]
KIND = {"Mailboxes": mailboxes.Mailboxes, "Messages": messages.Messages}[sys.argv[1]]


class Stopped(Exception):
    pass


def message(rank, number):
    sizes = random.Random(f"{rank} {number}")
    size = ROOM if number == 7 else sizes.randrange(1, 3000)
    return sizes.randbytes(size)


def rounds(links):
    for number in range(300):
        assert links.swap(message(RANK, number)) == [message(other, number) for other in OTHERS]


def many_rounds_at_once(links):
    assert links.swap(bytes([RANK]), 1000) == [bytes([other]) for other in OTHERS]


def a_part_that_is_late(links):
    checks = []
    links.check = lambda: checks.append(0)
    if RANK == 1:
        time.sleep(0.1)
    assert links.swap(b"late") == [b"late"] * len(OTHERS)
    if RANK != 1:
        assert links.waited > 0.05
        assert len(checks) > 3


def a_part_that_leaves(links):
    if RANK != 1:
        links.swap(b"first")
        with pytest.raises(Ended, match="part 1 has ended"):
            links.swap(b"second")
        return
    assert links.swap(b"first") == [b"first"] * len(OTHERS)
    links.leave()


def a_part_that_stops_waiting(links):
    """The others get what it has sent."""
    if RANK == 1:

        def check():
            raise Stopped

        links.check = check
        with pytest.raises(Stopped):
            links.swap(b"last")
        links.leave()
        WORLD.Barrier()
        return
    WORLD.Barrier()
    assert b"last" in links.swap(b"first")
    with pytest.raises(Ended, match="part 1 has ended"):
        links.swap(b"second")


def too_long(links):
    with pytest.raises(UserError, match=f"{ROOM + 1} bytes of a round on the links between parts are more than {ROOM}"):
        links.swap(bytes(ROOM + 1))


for case in (rounds, many_rounds_at_once, a_part_that_is_late, a_part_that_leaves, a_part_that_stops_waiting, too_long):
    case(KIND(WORLD, MPI))
    WORLD.Barrier()
assert mailboxes.apart(WORLD, MPI) == (len(sys.argv) > 2)
print("kept", flush=True)
