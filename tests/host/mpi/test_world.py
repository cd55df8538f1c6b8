"""Init and finalize, error handlers and codes, threads."""

import threading

import numpy as np
import pytest

from lanai_host.config import HostConfig, free
from lanai_host.errors import UserError
from lanai_host.mpi import ERRORS_RETURN, Errhandler, ErrorClass, ErrorTable, MpiError, point_to_point, unsupported
from lanai_host.mpi import collectives as coll
from lanai_host.mpi import point_to_point as p2p
from lanai_host.mpi.communicator import set_errhandler
from lanai_host.mpi.constants import ThreadLevel
from lanai_host.mpi.creation import duplicate
from lanai_host.mpi.datatypes import PREDEFINED
from lanai_host.mpi.world import World
from lanai_host.stacks.ideal.device import IdealDevice, Solo

from .ranks import buffer, ints, run

INT = PREDEFINED["MPI_INT"]


def alone(**options):
    return World(IdealDevice(0, 1, Solo()), **options)


def test_codes_keep_class_and_text():
    table = ErrorTable()
    code = table.encode(MpiError(ErrorClass.RANK, "MPI_Send: dest is 9"))
    assert table.error_class(code) == ErrorClass.RANK
    assert table.text(code) == "MPI_Send: dest is 9"
    for _ in range(ErrorTable.KEEP):
        table.encode(MpiError(ErrorClass.TAG, "another"))
    assert table.text(code) == "another"  # its place was needed; the class is still right
    assert table.text(ErrorClass.TRUNCATE) == "message truncated"
    own = table.add_class()
    detail = table.add_code(own)
    table.add_string(detail, "a detail")
    assert (table.error_class(detail), table.text(detail), table.last_used_code) == (own, "a detail", detail)
    with pytest.raises(MpiError, match="still has codes"):
        table.remove_class(own)
    with pytest.raises(MpiError, match="still has the string 'a detail'"):
        table.remove_code(detail)
    table.remove_string(detail)
    table.remove_code(detail)
    table.remove_class(own)
    with pytest.raises(MpiError, match="which the program did not add"):
        table.add_string(ErrorClass.RANK, "mine")


def test_every_class_has_a_text():
    texts = [ErrorTable().text(error_class) for error_class in ErrorClass]
    assert not [text for text in texts if text.startswith("error class")]
    assert len(set(texts)) == len(texts)


def test_unsupported_calls_say_their_name():
    assert unsupported("MPI_Win_create").text == "MPI_Win_create: not supported by this MPI library"
    assert unsupported("MPI_Win_create").error_class == ErrorClass.UNSUPPORTED_OPERATION


def test_error_handlers(capsys):
    ended = []
    world = alone(end_process=lambda code, text: ended.append((code, text)))
    world.init()
    error = MpiError(ErrorClass.RANK, "MPI_Send: dest is 9")
    code = world.report(error, world.comm_world)
    assert ended == [(code & 0xFF, "rank 0: MPI_Send: dest is 9 (on MPI_COMM_WORLD)")]
    assert "MPI_Send: dest is 9" in capsys.readouterr().err
    world.comm_world.errhandler = ERRORS_RETURN
    assert world.errors.error_class(world.report(error, world.comm_world)) == ErrorClass.RANK
    seen = []
    world.comm_world.errhandler = Errhandler("mine", lambda place, code: seen.append(place) or 77)
    assert world.report(error, world.comm_world) == world.report(error) == 77
    assert seen == [world.comm_world, world.comm_world]
    set_errhandler(world.comm_self, ERRORS_RETURN)
    assert world.errors.error_class(world.report(error)) == ErrorClass.RANK
    assert len(ended) == 1


def test_an_abort_tells_where_a_handler_is_from_if_another_was_set_elsewhere(capsys):
    ended = []
    world = alone(end_process=lambda code, text: ended.append(text))
    world.init()
    copy = duplicate(world.comm_world)
    error = MpiError(ErrorClass.RANK, "MPI_Send: dest is 9")
    world.report(error, copy)
    set_errhandler(world.comm_world, ERRORS_RETURN)
    world.report(error, copy)
    where = f"(on communicator {copy.number} of MPI_Comm_dup"
    told = f"rank 0: MPI_Send: dest is 9 {where}"
    assert ended == [f"{told})", f"{told}, the handler of communicator {copy.number} was taken over at MPI_Comm_dup)"]
    assert world.report(error, duplicate(world.comm_world)) & 0xFF == ErrorClass.RANK
    set_errhandler(copy, copy.errhandler)
    world.report(error, copy)
    assert ended[2:] == ended[:1]


def test_twice_is_once_too_often():
    world = alone()
    assert world.init(ThreadLevel.MULTIPLE) is ThreadLevel.MULTIPLE
    with pytest.raises(MpiError, match="initialized already"):
        world.init()
    world.finalize()
    with pytest.raises(MpiError, match="finalized already"):
        world.finalize()


def test_a_singleton_that_waits_for_no_rank_is_a_named_deadlock():
    world = alone()
    world.init()
    with pytest.raises(RuntimeError, match="deadlock: MPI_Recv waits"):
        p2p.recv(world.comm_world, 0, 0, INT, 0, 5)


def test_time_is_simulated():
    def program(world):
        before = world.wtime()
        point_to_point.sendrecv(world.comm_world, 0, 0, INT, 1 - world.rank, 0, 0, 0, INT, 1 - world.rank, 0)
        return world.wtime() - before

    first, second = run(2, program)
    # One latency, two charges for the exchange, what the peer had charged before sending, one comparison of
    # envelopes, and a reading of the clock.
    assert first == second == pytest.approx(1e-6 + 0.6e-6 + 0.06e-6 + 0.1e-6)


def test_threads_send_to_each_other():
    """MPI_THREAD_MULTIPLE: a thread that waits must not keep another from sending what it waits
    for."""

    def program(world):
        world.process.progress.level = ThreadLevel.MULTIPLE
        comm = world.comm_world
        results = []

        def receiver(tag):
            got = ints(0)
            p2p.recv(comm, *buffer(got), comm.rank, tag)
            results.append(int(got[0]))

        threads = [threading.Thread(target=receiver, args=(tag,)) for tag in range(4)]
        for thread in threads:
            thread.start()
        for tag in reversed(range(4)):
            p2p.ssend(comm, *buffer(ints(tag * 11)), comm.rank, tag)
        for thread in threads:
            thread.join(20)
        assert sorted(results) == [0, 11, 22, 33]

    run(1, program)


def test_threads_of_two_ranks():
    def program(world):
        world.process.progress.level = ThreadLevel.MULTIPLE
        comm = world.comm_world
        other = 1 - comm.rank

        def worker(tag):
            value, got = np.full(100, tag, np.int32), np.zeros(100, np.int32)
            for _ in range(20):
                point_to_point.sendrecv(comm, *buffer(value), other, tag, *buffer(got), other, tag)
                assert (got == tag).all()
            done.append(tag)

        done = []
        threads = [threading.Thread(target=worker, args=(tag,)) for tag in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert sorted(done) == [0, 1, 2, 3]

    run(2, program)


def test_a_generalized_request_ends_in_another_thread():
    def program(world):
        world.process.progress.level = ThreadLevel.MULTIPLE
        request = world.start_generalized(lambda status: None, lambda: None, lambda done: None)
        timer = threading.Timer(0.05, request.complete)
        timer.start()
        request.wait()
        timer.join()

    run(1, program)


def clock_readings(host, wait):
    """Return how often a program reads the clock until `wait` seconds have gone, and how many really
    went."""
    world = World(IdealDevice(0, 1, Solo(), host))
    world.init()
    begun, readings = world.wtime(), 0
    while (now := world.wtime()) - begun < wait:
        readings += 1
        assert readings < 200_000
    return readings, now - begun


@pytest.mark.parametrize("host", [HostConfig(), free()])
@pytest.mark.parametrize("wait", [1e-6, 1e-3, 1.0])
def test_waiting_for_a_time_by_reading_the_clock_ends(host, wait):
    _, went = clock_readings(host, wait)
    assert wait <= went <= wait * (1 + 1e-3) + 1e-7


def test_a_reading_of_the_clock_has_its_price():
    host = HostConfig(clock=250_000)
    world = World(IdealDevice(0, 1, Solo(), host))
    world.init()
    first = world.wtime()
    assert world.wtime() - first == pytest.approx(0.25e-6)
    for _ in range(5000):  # between calls that cost something it is always the same
        coll.run(world.comm_world, coll.barrier)
        before = world.process.device.now()
        world.wtime()
        assert world.process.device.now() - before == 250_000


def test_the_clock_costs_something():
    with pytest.raises(UserError, match=r"HostConfig\.clock=0 must be a whole number from 1"):
        HostConfig(clock=0)
