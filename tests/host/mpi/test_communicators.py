"""Communicators, inter-communicators, attributes, sessions."""

import pytest

from lanai_host.mpi import ERRORS_RETURN, ErrorClass, Group, Info, Keyval, MpiError, communicator, creation, intercomm
from lanai_host.mpi import collectives as coll
from lanai_host.mpi import point_to_point as p2p
from lanai_host.mpi.collectives.checks import Part
from lanai_host.mpi.constants import UNDEFINED, Comparison
from lanai_host.mpi.creation import create_from_group
from lanai_host.mpi.datatypes import PREDEFINED
from lanai_host.mpi.intercomm import create_intercomm_from_groups
from lanai_host.mpi.session import Session

from . import ranks
from .ranks import buffer, ints

INT = PREDEFINED["MPI_INT"]


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


def test_a_message_that_can_never_be_received_is_told_when_its_communicator_is_freed(run):
    def program(world):
        comm = creation.duplicate(world.comm_world)
        if comm.rank:
            p2p.send(comm, *buffer(ints(1)), 0, 6)
            coll.run(world.comm_world, coll.barrier)
        else:
            coll.run(world.comm_world, coll.barrier)
            communicator.set_name(comm, "mine")
            with pytest.raises(MpiError, match="MPI_Comm_free: messages on mine were not received: 1"):
                creation.free(comm)
            p2p.recv(comm, *buffer(ints(0)), 1, 6)
        creation.free(comm)

    run(2, program)


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
        assert create_from_group(world.comm_world, Group((), world.rank), "app", None, ERRORS_RETURN) is None
        side = min(world.rank, 1)
        groups = [everyone.group.include([0]), everyone.group.include([1, 2])]
        inter = create_intercomm_from_groups(
            world.comm_world, groups[side], 0, groups[1 - side], 0, "pair", None, ERRORS_RETURN
        )
        assert (inter.size, inter.remote_size) == ((1, 2), (2, 1))[side]

    run(3, program)


# Groups and info objects: no message is sent for them.


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
