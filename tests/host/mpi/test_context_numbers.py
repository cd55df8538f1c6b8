"""Numbers of contexts: how processes agree on them, and that they come back."""

import gc
import random
import socket

import numpy as np
import pytest

from lanai_host.device import MAX_CONTEXT
from lanai_host.mpi import ErrorClass, MpiError, creation, making, point_to_point
from lanai_host.mpi import point_to_point as p2p
from lanai_host.mpi.communicator import LIMIT

from . import ranks
from .ranks import LateDevice, buffer, ints, run


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


# Ports, published names, and joining: groups of one run that become connected.

KINDS = pytest.mark.parametrize("device", [None, LateDevice])


def split(world, servers):
    """The communicator of the first `servers` ranks, or of the others."""
    return creation.split(world.comm_world, int(world.rank < servers), 0)


def told(world, name):
    """The port's name goes by messages from rank 0 to the last rank, as text of fixed length."""
    room = np.zeros(64, np.uint8)
    if world.rank == 0:
        room[: len(name)] = np.frombuffer(name.encode(), np.uint8)
        point_to_point.send(world.comm_world, *buffer(room), world.size - 1, 9)
    elif world.rank == world.size - 1:
        point_to_point.recv(world.comm_world, *buffer(room), 0, 9)
    return room.tobytes().rstrip(b"\0").decode()


def exchanged(world, comm):
    """Each rank of one group sends to the rank 0 of the other; what rank 0 hears."""
    mine = np.array([world.rank], np.int32)
    point_to_point.send(comm, *buffer(mine), 0, 1)
    if comm.rank:
        return None
    heard = np.zeros(comm.remote_size, np.int32)
    for rank in range(comm.remote_size):
        point_to_point.recv(comm, *buffer(heard[rank : rank + 1]), rank, 1)
    return heard.tolist()


@KINDS
@pytest.mark.parametrize("servers", [1, 2, 3])
def test_two_groups_meet_at_a_port(device, servers):
    size = 4

    def program(world):
        group = split(world, servers)
        name = world.ports.open() if world.rank == 0 else ""
        last = told(world, name)
        inter = (
            world.ports.accept(group, name, 0)
            if world.rank < servers
            else world.ports.connect(group, last, group.size - 1)
        )
        found = inter.size, inter.remote_size, exchanged(world, inter)
        creation.disconnect(inter)
        if name:
            world.ports.close(name)
        return found

    kinds = {} if device is None else {"device": device}
    results = run(size, program, **kinds)
    assert [result[:2] for result in results[:servers]] == [(servers, size - servers)] * servers
    assert results[0][2] == list(range(servers, size))
    assert results[servers][2] == list(range(servers))


def test_one_port_serves_many_in_turn():
    def program(world):
        if world.rank == 0:
            name = world.ports.open()
            for rank in range(1, world.size):
                room = np.zeros(64, np.uint8)
                room[: len(name)] = np.frombuffer(name.encode(), np.uint8)
                point_to_point.send(world.comm_world, *buffer(room), rank, 9)
            found = [world.ports.accept(world.comm_self, name, 0) for _ in range(world.size - 1)]
            return sorted(comm.remote_group.members[0] for comm in found)
        room = np.zeros(64, np.uint8)
        point_to_point.recv(world.comm_world, *buffer(room), 0, 9)
        comm = world.ports.connect(world.comm_self, room.tobytes().rstrip(b"\0").decode(), 0)
        return comm.remote_group.members

    assert run(3, program) == [[1, 2], (0,), (0,)]


@pytest.mark.parametrize("name", ["", "somewhere", "lanai-port:7.1", "lanai-port:0.1.2", "tcp://host:80"])
def test_a_port_that_no_program_opened_is_an_error_of_the_whole_group(name):
    def program(world):
        with pytest.raises(MpiError) as caught:
            world.ports.connect(world.comm_world, name if world.rank == 1 else "", 1)
        return caught.value.error_class, repr(name) in caught.value.text

    assert run(2, program) == [(ErrorClass.PORT, False), (ErrorClass.PORT, True)]


def test_a_closed_port_accepts_no_rank():
    def program(world):
        name = world.ports.open()
        world.ports.close(name)
        for wrong in (lambda: world.ports.close(name), lambda: world.ports.accept(world.comm_self, name, 0)):
            with pytest.raises(MpiError, match="this process has no such port open") as caught:
                wrong()
            assert caught.value.error_class == ErrorClass.PORT

    run(1, program)


@KINDS
def test_names_are_known_to_all_once_published(device):
    def program(world):
        word = np.zeros(1, np.int32)
        if world.rank == 0:
            world.ports.publish("ocean", "lanai-port:0.1")
            point_to_point.send(world.comm_world, *buffer(word), 1, 1)
            point_to_point.recv(world.comm_world, *buffer(word), 1, 2)
            world.ports.unpublish("ocean", "lanai-port:0.1")
            point_to_point.send(world.comm_world, *buffer(word), 1, 3)
            return None
        point_to_point.recv(world.comm_world, *buffer(word), 0, 1)
        found = world.ports.lookup("ocean")
        with pytest.raises(MpiError, match="'ocean' is published already") as twice:
            world.ports.publish("ocean", "lanai-port:1.1")
        assert twice.value.error_class == ErrorClass.SERVICE
        point_to_point.send(world.comm_world, *buffer(word), 0, 2)
        point_to_point.recv(world.comm_world, *buffer(word), 0, 3)
        with pytest.raises(MpiError, match="'ocean' is not published") as caught:
            world.ports.lookup("ocean")
        assert caught.value.error_class == ErrorClass.NAME
        return found

    kinds = {} if device is None else {"device": device}
    assert run(2, program, **kinds) == [None, "lanai-port:0.1"]


def test_the_ends_of_a_socket_join():
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
    ends = [accepted, client]

    def program(world):
        if world.rank == 1:
            return None
        inter = world.ports.join(world.comm_self, ends[world.rank // 2].fileno())
        return inter.remote_group.members, exchanged(world, inter)

    try:
        assert run(3, program) == [((2,), [2]), None, ((0,), [0])]
    finally:
        accepted.close()
        client.close()


def test_joining_needs_a_connected_socket():
    def program(world):
        with socket.socket() as lonely, pytest.raises(MpiError, match="not a connected socket") as caught:
            world.ports.join(world.comm_self, lonely.fileno())
        return caught.value.error_class

    assert run(1, program) == [ErrorClass.ARG]
