"""Numbers of contexts: how processes agree on them, and that they come back."""

import gc
import random

import pytest

from lanai_host.device import MAX_CONTEXT
from lanai_host.mpi import MpiError, creation, making
from lanai_host.mpi import point_to_point as p2p
from lanai_host.mpi.communicator import LIMIT

from . import ranks
from .ranks import buffer, ints


def test_context_numbers_come_back(run):
    """More duplicates than there are numbers, one after the other."""

    def program(world):
        first = creation.duplicate(world.comm_world)
        creation.free(first)
        number = first.number
        del first
        gc.collect()
        for _ in range(50):
            twin = creation.duplicate(world.comm_world)
            assert twin.number == number
            creation.free(twin)
            del twin

    run(2, program)


def test_when_numbers_run_out():
    def program(world):
        world.process.numbers.free &= 0b11111
        kept = [creation.duplicate(world.comm_world) for _ in range(3)]
        for _ in range(2):
            with pytest.raises(MpiError, match=f"MPI_Comm_dup: all {LIMIT} context numbers are in use"):
                creation.duplicate(world.comm_world)
        left = kept.pop().number  # of all, the last one that the two processes let go of
        gc.collect()
        assert creation.duplicate(world.comm_world).number == left
        return kept

    ranks.run(2, program)


def test_duplicates_at_once_need_one_round_each(run, monkeypatch):
    rounds = []
    intersect = making._Members.intersect

    def counted(members, value, size):
        rounds.append(size)
        return intersect(members, value, size)

    monkeypatch.setattr(making._Members, "intersect", counted)

    def program(world):
        numbers = set()
        for _ in range(2):
            made = [creation.iduplicate(world.comm_world) for _ in range(8)]
            for comm, request in made:
                request.wait()
                numbers.add(comm.number)
            for comm, _ in made:
                creation.free(comm)
        return len(numbers)

    assert min(run(4, program)) >= 8
    assert len(rounds) == 4 * 16


def test_many_communicators_at_once():
    """Use all communicators that 16 bits of context allow. Those in circles of references are freed when needed."""

    def program(world):
        comm = world.comm_world
        kept = [creation.duplicate(comm) for _ in range(LIMIT - 2)]
        assert len({twin.number for twin in kept}) == LIMIT - 2
        last = kept[-1]
        got = ints(0)
        request = p2p.irecv(last, *buffer(got), 0, 0)
        p2p.send(last, *buffer(ints(4)), 0, 0)
        request.wait()
        assert (got[0], last.partitions_context <= MAX_CONTEXT) == (4, True)
        circle = [kept.pop(500)]
        circle.append(circle)
        del circle
        assert creation.duplicate(comm).number == 502

    ranks.run(1, program)


def test_agreements_may_cross(run):
    """Processes enter a duplicate and the creation of a group's communicator in different
    orders."""

    def program(world):
        comm = world.comm_world
        group = comm.group

        def twin():
            made, request = creation.iduplicate(comm)
            return lambda: (request.wait(), made)[1]

        def part():
            made = creation.create_group(comm, group, 5)
            return lambda: made

        order = [twin, part] if comm.rank % 2 else [part, twin]
        made = {create.__name__: create() for create in order}
        return [made[name]().number for name in ("twin", "part")]

    found = run(3, program)
    assert found[0] == found[1] == found[2]
    assert found[0][0] != found[0][1]


@pytest.mark.parametrize("seed", range(8))
def test_many_agreements_cross(seed):
    """Duplicates in the background of several communicators, in another order on each process,
    between blocking creations of groups that overlap. Few numbers are left, so that the agreements
    meet."""

    def program(world):
        comm = world.comm_world
        roots = [creation.duplicate(comm) for _ in range(4)]
        groups = [comm.group.include(members) for members in ([0, 1, 2], [1, 2], [0, 2], [2, 1, 0])]
        world.process.numbers.free &= 0xFFFFFF << roots[-1].number
        shuffled = random.Random(f"{seed} {comm.rank}")
        steps = sorted([*range(4), *(f"root {index}" for index in range(4))], key=lambda step: shuffled.random())
        blocking = iter(range(4))
        made, waiting = {}, {}
        for step in steps:
            if isinstance(step, str):
                waiting[step] = creation.iduplicate(roots[int(step[-1])])
            else:
                tag = next(blocking)
                part = creation.create_group(comm, groups[tag], tag)
                if part is not None:
                    made[tag] = part
        for step, (twin, request) in waiting.items():
            request.wait()
            made[step] = twin
        numbers = {step: created.number for step, created in made.items()}
        assert len(set(numbers.values())) == len(made)
        return numbers

    found = ranks.run(3, program)
    for name in found[2]:
        assert len({made[name] for made in found if name in made}) == 1
