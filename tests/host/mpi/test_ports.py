"""Ports, published names, and joining: groups of one run that become connected."""

import socket

import numpy as np
import pytest

from lanai_host.mpi import ErrorClass, MpiError, creation, point_to_point

from .ranks import LateDevice, buffer, run

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
