"""Point-to-point: modes, orders, wildcards, probes, cancelling, completion."""

import numpy as np
import pytest

from lanai_host.mpi import ErrorClass, MpiError, buffered, completion, point_to_point, probing
from lanai_host.mpi import point_to_point as p2p
from lanai_host.mpi.constants import ANY_SOURCE, ANY_TAG, PROC_NULL
from lanai_host.mpi.datatypes import PREDEFINED, contiguous, vector

from . import ranks
from .ranks import buffer, ints

INT = PREDEFINED["MPI_INT"]


def test_modes(run):
    def program(world):
        comm = world.comm_world
        value, got = ints(comm.rank + 5), ints(0)
        room = np.zeros(1000, np.uint8)
        buffered.attach(world.process, room.ctypes.data, room.size)
        for tag, mode in enumerate((p2p.send, p2p.ssend, buffered.bsend)):
            if comm.rank == 0:
                mode(comm, *buffer(value), 1, tag)
            else:
                status = p2p.recv(comm, *buffer(got), 0, tag)
                assert (got[0], status.source, status.tag, status.count) == (5, 0, tag, 4)
                got[0] = 0
        for mode in (p2p.isend, p2p.issend, buffered.ibsend, p2p.irsend):
            receive = p2p.irecv(comm, *buffer(got), 1 - comm.rank, 9)
            point_to_point.sendrecv(
                comm, 0, 0, INT, 1 - comm.rank, 1, 0, 0, INT, 1 - comm.rank, 1
            )  # the receive is posted
            send = mode(comm, *buffer(value), 1 - comm.rank, 9)
            send_status, status = completion.wait_all([send, receive])
            assert got[0] == 6 - comm.rank
            assert (status.source, send_status.cancelled) == (1 - comm.rank, False)
        assert buffered.detach(world.process) == (room.ctypes.data, 1000)

    run(2, program)


def test_no_overtaking_and_wildcards(run):
    def program(world):
        comm = world.comm_world
        if comm.rank:
            for number in range(20):
                p2p.send(comm, *buffer(ints(100 * comm.rank + number)), 0, number % 3)
            return
        seen = {1: [], 2: []}
        got = ints(0)
        for _ in range(40):
            status = p2p.recv(comm, *buffer(got), ANY_SOURCE, ANY_TAG)
            assert status.tag == got[0] % 100 % 3
            seen[status.source].append(int(got[0]))
        assert seen == {rank: [100 * rank + number for number in range(20)] for rank in (1, 2)}

    run(3, program)


def test_tags_choose(run):
    def program(world):
        comm = world.comm_world
        if comm.rank == 0:
            for tag in range(5):
                p2p.send(comm, *buffer(ints(tag)), 1, tag)
            return
        got = ints(-1)
        for tag in (3, 0, 4, 2, 1):
            p2p.recv(comm, *buffer(got), 0, tag)
            assert got[0] == tag

    run(2, program)


def test_probes(run):
    def program(world):
        comm = world.comm_world
        if comm.rank == 0:
            p2p.send(comm, *buffer(ints(1, 2, 3)), 1, 6)
            p2p.ssend(comm, *buffer(ints(4)), 1, 7)
            return
        status = probing.probe(comm, ANY_SOURCE, 7)
        assert (status.source, status.tag, status.count) == (0, 7, 4)
        message, status = probing.mprobe(comm, 0, 6)
        assert status.count == 12
        assert probing.iprobe(comm, 0, 6) is None
        got = ints(0, 0, 0)
        assert message.recv(*buffer(got)).count == 12
        assert got.tolist() == [1, 2, 3]
        with pytest.raises(MpiError, match="MPI_Imrecv: the message was received before"):
            message.irecv(*buffer(got))
        found = None
        while found is None:
            found = probing.improbe(comm, ANY_SOURCE, ANY_TAG)
        found[0].irecv(*buffer(got)).wait()
        assert got[0] == 4

    run(2, program)


def test_cancel(run):
    def program(world):
        comm = world.comm_world
        other = 1 - comm.rank
        request = p2p.irecv(comm, *buffer(ints(0)), other, 99)
        request.cancel()
        assert request.wait().cancelled
        if comm.rank == 0:
            word = ints(1)
            request = p2p.issend(comm, *buffer(word), 1, 98)
            request.cancel()
            assert request.wait().cancelled
        point_to_point.sendrecv(comm, 0, 0, INT, other, 1, 0, 0, INT, other, 1)
        assert probing.iprobe(comm, ANY_SOURCE, ANY_TAG) is None

    run(2, program)


def test_completion_of_several(run):
    def program(world):
        comm = world.comm_world
        if comm.rank == 0:
            for index in (2, 0, 1):
                p2p.recv(comm, 0, 0, INT, 1, 50 + index)
                p2p.send(comm, *buffer(ints(index)), 1, index)
            return
        got = [ints(-1) for _ in range(3)]
        requests = [p2p.irecv(comm, *buffer(word), 0, tag) for tag, word in enumerate(got)]
        assert completion.test_all([None, *requests]) is None
        assert completion.test_any(requests)[0] is False
        assert completion.test_some(requests) == ([], [])
        p2p.send(comm, 0, 0, INT, 0, 52)
        index, status = completion.wait_any(requests)
        assert (index, status.tag) == (2, 2)
        requests[2] = None
        p2p.send(comm, 0, 0, INT, 0, 50)
        indices, statuses = completion.wait_some(requests)
        assert indices == [0]
        assert statuses[0].count == 4
        requests[0] = None
        p2p.send(comm, 0, 0, INT, 0, 51)
        statuses = completion.wait_all(requests)
        assert [status.tag for status in statuses] == [ANY_TAG, 1, ANY_TAG]
        assert completion.wait_some([None]) is None
        assert completion.test_all([None, None]) is not None

    run(2, program)


def test_proc_null(run):
    def program(world):
        comm = world.comm_world
        p2p.send(comm, 0, 0, INT, PROC_NULL, 0)
        status = p2p.recv(comm, 0, 0, INT, PROC_NULL, ANY_TAG)
        assert (status.source, status.tag, status.count) == (PROC_NULL, ANY_TAG, 0)
        message, status = probing.mprobe(comm, PROC_NULL, 3)
        assert message.recv(0, 0, INT).source == PROC_NULL

    run(1, program)


def test_truncation_is_reported(run):
    def program(world):
        comm = world.comm_world
        if comm.rank == 0:
            p2p.send(comm, *buffer(ints(1, 2, 3)), 1, 0)
            p2p.send(comm, *buffer(ints(4)), 1, 1)
            return
        got = ints(0, 0)
        with pytest.raises(
            MpiError, match="MPI_Recv: the message from rank 0 is longer than the receive buffer of 8"
        ) as caught:
            p2p.recv(comm, *buffer(got), 0, 0)
        assert caught.value.error_class == ErrorClass.TRUNCATE
        assert got.tolist() == [1, 2]
        request = p2p.irecv(comm, *buffer(got), 0, 1)
        assert completion.wait_all([request])[0].error is None

    run(2, program)


def test_a_failure_among_several_is_in_its_status(run):
    def program(world):
        comm = world.comm_world
        if comm.rank == 0:
            p2p.send(comm, *buffer(ints(1, 2, 3)), 1, 0)
            p2p.send(comm, *buffer(ints(4)), 1, 1)
            return
        got = ints(0)
        requests = [p2p.irecv(comm, *buffer(got), 0, tag) for tag in (0, 1)]
        with pytest.raises(MpiError, match="1 of 2 requests failed") as caught:
            completion.wait_all(requests)
        assert caught.value.error_class == ErrorClass.IN_STATUS
        cut, whole = (status.error for status in caught.value.statuses)
        assert (cut.error_class, whole) == (ErrorClass.TRUNCATE, None)

    run(2, program)


BAD = {
    "dest is 2; it must be MPI_PROC_NULL or from 0 to 1": lambda comm, kind: p2p.send(comm, 0, 0, kind, 2, 0),
    "source is -7": lambda comm, kind: p2p.irecv(comm, 0, 0, kind, -7, 0),
    "MPI_Isend: tag is -3; it must be from 0 to": lambda comm, kind: p2p.isend(comm, 0, 0, kind, 0, -3),
    "MPI_Recv: tag is -2": lambda comm, kind: p2p.recv(comm, 0, 0, kind, 0, -2),
    "MPI_Ssend: count is -4": lambda comm, kind: p2p.ssend(comm, 0, -4, kind, 0, 0),
    "the datatype .* is not committed": lambda comm, kind: p2p.send(comm, 0, 1, contiguous(2, kind), 0, 0),
    "no buffer is attached": lambda comm, kind: buffered.bsend(comm, 0, 0, kind, 0, 0),
    "cannot be cancelled": lambda comm, kind: point_to_point.isendrecv(
        comm, 0, 0, kind, 0, 0, 0, 0, kind, 0, 0
    ).cancel(),
    "is not persistent": lambda comm, kind: p2p.irecv(comm, 0, 0, kind, PROC_NULL, 0).start(),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_arguments(run, message):
    def program(world):
        if world.rank == 0:
            with pytest.raises(MpiError, match=message):
                BAD[message](world.comm_world, INT)

    run(2, program)


def test_ten_thousand_outstanding(run):
    def program(world):
        comm = world.comm_world
        got = np.zeros(10_000, np.int32)
        base, value = got.ctypes.data, ints(3)
        receives = [p2p.irecv(comm, base + 4 * index, 1, INT, 1 - comm.rank, index) for index in range(10_000)]
        sends = [p2p.isend(comm, *buffer(value), 1 - comm.rank, index) for index in range(10_000)]
        completion.wait_all(sends + receives)
        assert (got == 3).all()

    ranks.run(2, program)


def test_generalized_requests(run):
    def program(world):
        calls = []

        def query(status):
            status.count = 12
            calls.append("query")

        request = world.start_generalized(query, lambda: calls.append("free"), lambda done: calls.append(done))
        assert request.test() is None
        request.cancel()
        request.complete()
        assert request.wait().count == 12
        assert calls == [False, "query", "free"]

    run(1, program)


@pytest.mark.parametrize("posted", [True, False])
@pytest.mark.parametrize("room", [30_000, 20_000])
def test_a_long_message_to_oneself(run, posted, room):
    """Every second element arrives, or what of it finds room."""
    column = vector(room, 1, 2, INT)
    column.commit()

    def program(world):
        comm = world.comm_world
        sent, got = np.arange(30_000, dtype=np.int32), np.full(2 * room, -1, np.int32)

        def receive():
            return p2p.irecv(comm, got.ctypes.data, 1, column, 0, 0)

        early = receive() if posted else None
        send = p2p.isend(comm, *buffer(sent), 0, 0)
        world.process.progress.poll()
        request = early or receive()
        send.wait()
        if room < sent.size:
            with pytest.raises(MpiError, match="longer than the receive buffer of 80000 bytes"):
                request.wait()
        else:
            request.wait()
        assert (got[::2] == sent[:room]).all()
        assert (got[1::2] == -1).all()

    run(1, program)
