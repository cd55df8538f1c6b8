"""Any traffic: sizes, orders, numbers of messages."""

import pytest
from pairs import in_turn

from lanai_firmware.programs.mpi_np.plan import McpConfig, paper
from lanai_host.operation import ANY_SOURCE, ANY_TAG, DeviceError, ErrorKind
from lanai_host.wait import Wait

from .np_calls import STANDARD, SYNCHRONOUS, Buffer, irecv, isend, pattern, recv, send, wait
from .np_world import World

SMALL = McpConfig(messages=8, receives=8, any_receives=2, ack_slots=2)
CONFIGS = {"default": McpConfig(), "small": SMALL, "paper": paper()}


@pytest.mark.parametrize("size", [0, 1, 4, 1023, 1024, 1025, 4096, 4097, 20_001])
@pytest.mark.parametrize("late", [False, True])
def test_one_message(size, late):
    def program(device):
        if device.rank == 0:
            if late:
                recv(device, 1, 0, tag=9)
            send(device, 1, pattern(size), tag=5, offset=13)
        else:
            pair = None if not late else irecv(device, 0, size + 3, tag=5, offset=77)
            if late:
                send(device, 0, b"", tag=9)
            else:
                for _ in range(50):
                    device.progress()
                pair = irecv(device, 0, size + 3, tag=5, offset=77)
            wait(device, pair)
            operation, buffer = pair
            assert (operation.source, operation.tag, operation.length, operation.error) == (0, 5, size, None)
            assert buffer.data[:size] == pattern(size)

    World(2).run(program)


@pytest.mark.parametrize(("name", "messages"), in_turn(CONFIGS, [(0, 40), (8, 40), (2000, 25), (9000, 25)]))
def test_reverse_tags(name, messages):
    """NP-G9: a program that MPI calls safe: many sends under way, received from the last to the
    first."""
    size, count = messages

    def program(device):
        if device.rank == 0:
            wait(device, *[isend(device, 1, pattern(size, i), tag=i) for i in range(count)])
        else:
            for i in reversed(range(count)):
                operation, data = recv(device, 0, size, tag=i)
                assert (operation.length, data) == (size, pattern(size, i))

    World(2, config=CONFIGS[name]).run(program)


@pytest.mark.parametrize("size", [100, 1024, 3000, 4096, 9000])
@pytest.mark.parametrize("early", [False, True])
def test_truncation(size, early):
    """NP-G5: the receive gets what fits and an error; the channel stays usable."""

    def program(device):
        if device.rank == 0:
            if early:
                recv(device, 1, 0, tag=9)
            send(device, 1, pattern(size))
            send(device, 1, pattern(50))
        else:
            pair = irecv(device, 0, 60) if early else None
            if early:
                send(device, 0, b"", tag=9)
            else:
                for _ in range(60):
                    device.progress()
                pair = irecv(device, 0, 60)
            wait(device, pair)
            assert pair[0].error is not None
            assert pair[0].error.kind is ErrorKind.TRUNCATED
            assert pair[0].error.text == f"(it has {size} bytes)"
            assert (pair[0].length, pair[1].data) == (60, pattern(size)[:60])
            operation, data = recv(device, 0, 50)
            assert (operation.error, data) == (None, pattern(50))

    World(2).run(program)


@pytest.mark.parametrize("size", [100, 3000, 9000])
@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("mode", [STANDARD, SYNCHRONOUS])
def test_a_truncated_message_to_oneself(size, early, mode):
    def program(device):
        pair = irecv(device, device.rank, 60) if early else None
        sent = isend(device, device.rank, pattern(size), mode=mode)
        if not early:
            for _ in range(50):
                device.progress()
            pair = irecv(device, device.rank, 60)
        wait(device, pair, sent)
        assert pair[0].error == DeviceError(ErrorKind.TRUNCATED, f"(it has {size} bytes)")
        assert (pair[0].length, pair[1].data) == (60, pattern(size)[:60])
        assert sent[0].error is None

    World(1).run(program)


@pytest.mark.parametrize("size", [100, 3000, 9000])
def test_a_truncated_message_that_a_probe_took(size):
    def program(device):
        if device.rank == 0:
            send(device, 1, pattern(size))
            return
        while (taken := device.probe(0, ANY_TAG, 0, True)) is None:
            device.wait(None, Wait("probe"))
        buffer = Buffer(60)
        operation = device.receive_taken(taken, buffer.body)
        wait(device, (operation, buffer))
        assert operation.error == DeviceError(ErrorKind.TRUNCATED, f"(it has {size} bytes)")
        assert (operation.length, buffer.data) == (60, pattern(size)[:60])

    World(2).run(program)


@pytest.mark.parametrize("size", [0, 40, 9000])
def test_a_send_to_oneself_ends_with_its_receive(size):
    """NP-29: when a synchronous (or long) send of a rank to itself is done, so is the receive that
    met it."""

    def program(device):
        for late in (False, True):
            outer = irecv(device, device.rank, size, tag=2) if not late else None
            sent = isend(device, device.rank, pattern(size), tag=2, mode=SYNCHRONOUS)
            if late:
                for _ in range(20):
                    device.progress()
                outer = irecv(device, device.rank, size, tag=2)
            wait(device, sent)
            assert outer[0].done
            assert outer[1].data == pattern(size)

    World(2).run(program)


def test_probe_and_cancel():
    """A probe leaves the message, a matched one takes it; a cancelled receive takes none."""

    def program(device):
        if device.rank == 0:
            wait(device, *[isend(device, 1, pattern(size, tag), tag=tag) for tag, size in ((3, 5000), (4, 10))])
            return
        lost, _ = irecv(device, 0, 10, tag=77)
        while (seen := device.probe(0, 3, 0, False)) is None:
            device.wait(None, Wait("probe"))
        assert (seen.source, seen.tag, seen.length) == (0, 3, 5000)
        taken = device.probe(ANY_SOURCE, ANY_TAG, 0, True)
        assert (taken.source, taken.tag, taken.length) == (0, 3, 5000)
        while device.probe(0, 4, 0, False) is None:
            device.wait(None, Wait("probe"))
        assert recv(device, 0, 10, tag=4)[1] == pattern(10, 4)
        buffer = Buffer(5000)
        operation = device.receive_taken(taken, buffer.body)
        wait(device, (operation, buffer))
        assert buffer.data == pattern(5000, 3)
        assert device.cancel(lost)
        assert lost.done
        assert lost.cancelled

    World(2).run(program)


@pytest.mark.parametrize("delay", range(12))
def test_a_probe_finds_nothing_that_an_earlier_receive_takes(delay):
    """More receives of anyone than the NIC holds: those that wait on the host come before the
    probe, whenever messages arrive."""

    def program(device):
        if device.rank == 0:
            recv(device, 1, 0, tag=9)
            for tag in range(4):
                for _ in range(delay):
                    device.progress()
                wait(device, isend(device, 1, pattern(20, tag), tag=tag))
            return
        early = [irecv(device, ANY_SOURCE, 20, tag=ANY_TAG) for _ in range(3)]
        send(device, 0, b"", tag=9)
        while (seen := device.probe(ANY_SOURCE, ANY_TAG, 0, False)) is None:
            device.wait(None, Wait("probe"))
        assert seen.tag == 3
        assert recv(device, 0, 20, tag=3)[1] == pattern(20, 3)
        wait(device, *early)
        assert [pair[0].tag for pair in early] == [0, 1, 2]

    World(2, config=McpConfig(any_receives=1)).run(program)


def test_many_receives():
    """More receives posted than the NIC holds, met in reverse order."""
    count = 40

    def program(device):
        if device.rank == 0:
            recv(device, 1, 0, tag=1000)
            for i in reversed(range(count)):
                send(device, 1, pattern(100 * i, i), tag=i)
        else:
            pairs = [irecv(device, ANY_SOURCE if i % 3 else 0, 100 * i, tag=i) for i in range(count)]
            send(device, 0, b"", tag=1000)
            wait(device, *pairs)
            for i, (operation, buffer) in enumerate(pairs):
                assert (operation.tag, operation.length, buffer.data) == (i, 100 * i, pattern(100 * i, i))

    World(2, config=SMALL).run(program)
