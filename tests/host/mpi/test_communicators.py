"""Groups, communicators and their contexts, inter-communicators, attributes, names."""

import gc
import random

import pytest

from lanai_host.device import MAX_CONTEXT
from lanai_host.mpi import ERRORS_RETURN, ErrorClass, Group, Info, Keyval, MpiError, communicator, creation, intercomm
from lanai_host.mpi import collectives as coll
from lanai_host.mpi import point_to_point as p2p
from lanai_host.mpi.collectives.parts import Part
from lanai_host.mpi.constants import UNDEFINED, Comparison
from lanai_host.mpi.context_numbers import LIMIT
from lanai_host.mpi.creation import create_from_group
from lanai_host.mpi.datatypes import PREDEFINED
from lanai_host.mpi.intercomm import create_intercomm_from_groups
from lanai_host.mpi.session import Session
from lanai_host.stacks.ideal.device import IdealDevice

from . import ranks
from .ranks import LateDevice, buffer, ints

INT = PREDEFINED["MPI_INT"]


@pytest.fixture(params=[IdealDevice, LateDevice])
def run(request):
    return lambda size, program: ranks.run(size, program, request.param)


def test_groups():
    everyone = Group([5, 3, 8, 1], me=8)
    assert (everyone.rank, everyone.size) == (2, 4)
    some = everyone.include([3, 0])
    assert some.members == (1, 5)
    assert some.rank == UNDEFINED
    assert everyone.exclude([3, 0]).members == (3, 8)
    assert some.union(Group([5, 9], 8)).members == (1, 5, 9)
    assert everyone.intersection(some).members == (5, 1)
    assert everyone.difference(some).members == (3, 8)
    assert everyone.include_ranges([(3, 1, -2), (0, 0, 1)]).members == (1, 3, 5)
    assert everyone.exclude_ranges([(0, 3, 3)]).members == (3, 8)
    assert some.translate([0, 1, -1], everyone) == [3, 0, -1]
    assert everyone.translate([1], some) == [UNDEFINED]
    assert everyone.compare(Group([5, 3, 8, 1], 1)) is Comparison.IDENT
    assert everyone.compare(Group([1, 3, 5, 8], 1)) is Comparison.SIMILAR
    assert everyone.compare(some) is Comparison.UNEQUAL


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda group: group.include([4]), "MPI_Group_incl: rank is 4, but the group has 3 processes"),
        (lambda group: group.include([1, 1]), "rank 1 is given more than once"),
        (lambda group: group.exclude_ranges([(0, 2, 0)]), r"MPI_Group_range_excl: the range \(0, 2, 0\) has stride 0"),
        (lambda group: group.include_ranges([(0, 2, -1)]), "never reaches its end"),
    ],
)
def test_bad_groups(call, message):
    with pytest.raises(MpiError, match=message):
        call(Group([0, 1, 2], 0))


def heard(comm):
    """All ranks' world ranks, in order: proof that the communicator works."""
    got, own = ints(*range(comm.size)), ints(comm.process.rank)
    coll.run(comm, coll.allgather, Part(*buffer(own)), Part(got.ctypes.data, 1, INT))
    return got.tolist()


def test_split_create_and_duplicate(run):
    def program(world):
        comm = world.comm_world
        half = creation.split(comm, comm.rank % 2, -comm.rank)
        assert heard(half) == [rank for rank in reversed(range(5)) if rank % 2 == comm.rank % 2]
        assert creation.split(comm, UNDEFINED if comm.rank == 0 else 0, 0) is None or comm.rank
        trio = creation.create(comm, Group([4, 1, 2], comm.rank))
        assert (trio is None) == (comm.rank in (0, 3))
        twin = creation.duplicate(comm)
        assert communicator.compare(twin, comm) is Comparison.CONGRUENT
        other, request = creation.iduplicate(twin)
        third, second = creation.iduplicate(comm)
        second.wait()
        request.wait()
        assert heard(other) == heard(third) == list(range(5))
        assert len({c.number for c in (comm, twin, other, third, half)}) == 5
        if comm.rank in (1, 2, 4):
            assert heard(trio) == [4, 1, 2]
            direct = creation.create_group(comm, Group([2, 4, 1], comm.rank), 5)
            assert heard(direct) == [2, 4, 1]
            assert communicator.compare(direct, trio) is Comparison.SIMILAR
        node = creation.split_type(comm, 1, 0, None)
        assert node.size == 1
        for unknown_here in (2, 3, 4, 5, UNDEFINED):  # MPICH knows these types, too, and finds nothing
            assert creation.split_type(comm, unknown_here, 0, None) is None
        with pytest.raises(MpiError, match="split_type is 6"):
            creation.split_type(comm, 6, 0, None)

    run(5, program)


def test_contexts_keep_messages_apart(run):
    def program(world):
        comm, twin = world.comm_world, creation.duplicate(world.comm_world)
        got = ints(0)
        if comm.rank == 0:
            p2p.send(comm, *buffer(ints(1)), 1, 0)
            p2p.send(twin, *buffer(ints(2)), 1, 0)
        else:
            p2p.recv(twin, *buffer(got), 0, 0)
            assert got[0] == 2
            p2p.recv(comm, *buffer(got), 0, 0)
            assert got[0] == 1

    run(2, program)


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


def test_many_communicators_at_once():
    """As many as 16 bits of context allow; those in circles of references count as free when they
    are needed."""

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


def test_intercommunicators(run):
    def program(world):
        comm = world.comm_world
        side = int(comm.rank >= 2)
        half = creation.split(comm, side, 0)
        inter = intercomm.create_intercomm(half, 0, comm, 0 if side else 2, 3)
        assert (inter.is_inter, inter.size, inter.remote_size) == (True, 3 if side else 2, 2 if side else 3)
        if inter.rank == 0:
            p2p.send(inter, *buffer(ints(comm.rank)), 0, 1)
            got = ints(-1)
            status = p2p.recv(inter, *buffer(got), 0, 1)
            assert (got[0], status.source) == (0 if side else 2, 0)
        assert heard(intercomm.merge(inter, False)) in ([0, 1, 2, 3, 4], [2, 3, 4, 0, 1])
        assert heard(intercomm.merge(inter, not side)) == [2, 3, 4, 0, 1]
        part = creation.create(inter, inter.group.include([0]))
        assert (part is None) == (inter.rank > 0)
        if part:
            assert (part.size, part.remote_size) == (1, 1)
        with pytest.raises(MpiError, match="MPI_Intercomm_merge: the communicator is not"):
            intercomm.merge(comm, False)

    run(5, program)


def test_attributes_follow_their_callbacks(run):
    def program(world):
        comm = world.comm_world
        log = []
        copied = Keyval(
            "comm", lambda owner, key, value: (True, value + 1), lambda owner, key, value: log.append(value)
        )
        never = Keyval("comm")
        comm.attributes.set(comm, copied, 10)
        comm.attributes.set(comm, never, 20)
        twin = creation.duplicate(comm)
        assert twin.attributes.get(copied) == (True, 11)
        assert twin.attributes.get(never) == (False, None)
        twin.attributes.set(twin, copied, 12)
        creation.free(twin)
        assert log == [11, 12]
        comm.attributes.delete(comm, copied)
        assert log == [11, 12, 10]
        with pytest.raises(MpiError, match="no attribute under this keyval"):
            comm.attributes.delete(comm, copied)

        def refuse(owner, key, value):
            raise MpiError(ErrorClass.OTHER, "not this one")

        comm.attributes.set(comm, Keyval("comm", refuse), 1)
        with pytest.raises(MpiError, match="not this one"):
            creation.duplicate(comm)

    run(2, program)


def test_world_and_self_cannot_be_freed():
    def program(world):
        with pytest.raises(MpiError, match="MPI_Comm_free: MPI_COMM_WORLD cannot be freed"):
            creation.free(world.comm_world)
        with pytest.raises(MpiError, match="MPI_COMM_SELF cannot be freed"):
            creation.disconnect(world.comm_self)

    ranks.run(1, program)


def test_leaks_are_named():
    def program(world):
        comm = world.comm_world
        kept = creation.duplicate(comm)
        communicator.set_name(kept, "kept")
        p2p.send(comm, *buffer(ints(1)), 1 - comm.rank, 6)
        coll.run(comm, coll.barrier)
        leaks = world.leaks()
        assert (
            f"a message of 4 bytes from rank {1 - comm.rank} with tag 6 on MPI_COMM_WORLD was never received" in leaks
        )
        assert "communicator kept was not freed" in leaks
        creation.free(kept)
        assert world.leaks() == []

    ranks.run(2, program)


def test_info():
    info = Info()
    info.set("b", "1")
    info.set("a", "2")
    info.set("b", "3")
    assert (info.nkeys(), info.nthkey(0), info.get("b"), info.get("c")) == (2, "b", "3", None)
    twin = info.duplicate()
    info.delete("b")
    assert twin.pairs() == [("b", "3"), ("a", "2")]
    with pytest.raises(MpiError, match="MPI_Info_delete: key 'b' is not set"):
        info.delete("b")
    with pytest.raises(MpiError, match="key has 300 bytes"):
        info.set("k" * 300, "")


def test_sessions_and_communicators_from_groups(run):
    def program(world):
        session = Session(world, None, ERRORS_RETURN)
        assert [session.nth_set(n) for n in range(2)] == ["mpi://WORLD", "mpi://SELF"]
        assert session.set_info("mpi://WORLD").get("mpi_size") == "3"
        with pytest.raises(MpiError, match="pset_name is 'mpi://NOTHING'; there are mpi://WORLD, mpi://SELF") as caught:
            session.group("mpi://NOTHING")
        assert caught.value.place is session
        everyone = create_from_group(world.comm_world, session.group("mpi://WORLD"), "app", None, ERRORS_RETURN)
        assert heard(everyone) == [0, 1, 2]
        side = min(world.rank, 1)
        groups = [everyone.group.include([0]), everyone.group.include([1, 2])]
        inter = create_intercomm_from_groups(
            world.comm_world, groups[side], 0, groups[1 - side], 0, "pair", None, ERRORS_RETURN
        )
        assert (inter.size, inter.remote_size) == ((1, 2), (2, 1))[side]

    run(3, program)
