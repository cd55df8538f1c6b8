"""Any traffic: sizes, orders, numbers of messages."""

import pytest
from pairs import in_turn

from lanai_firmware.programs.mpi_np import state
from lanai_firmware.programs.mpi_np.plan import McpConfig, paper
from lanai_hdl.errors import UserError
from lanai_host.config import HostConfig
from lanai_host.mpi import point_to_point, probing
from lanai_host.mpi.datatypes import PREDEFINED
from lanai_host.mpi.world import World as Mpi
from lanai_host.operation import ANY_SOURCE, ANY_TAG, DeviceError, ErrorKind, Wait
from lanai_host.process_manager import Local, Registry
from lanai_host.stacks.mpi_np import driver

from .np_world import STANDARD, SYNCHRONOUS, Buffer, World, irecv, isend, pattern, recv, send, wait
from .test_handover import take_native_turns

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


# NICs with different numbers of ranks: none sends what the other has no room for.

COUNT = 28


@pytest.mark.ci
def test_credit_is_what_the_most_crowded_nic_has(monkeypatch):
    """NP-06: rank 4, alone on its NIC, sends rank 0, one of four, more than rank 0's channel has
    room for before it is received."""
    take_native_turns(monkeypatch)

    def program(device):
        if device.rank == 4:
            wait(device, *[isend(device, 0, pattern(4096, i), tag=i) for i in range(COUNT)])
        if device.rank == 0:
            for _ in range(200):
                device.bus.step()
            for i in range(COUNT):
                assert recv(device, 4, 4096, tag=i)[1] == pattern(4096, i)

    world = World(5, 4, McpConfig())
    world.run(program)
    for nic in world.fabric.nics:
        with nic.machine:
            assert state.nic.dropped == 0


# Messages of a process to itself, which go through its NIC.

BYTE = PREDEFINED["MPI_BYTE"]


@pytest.mark.parametrize("size", [0, 8, 3000, 100_000])
def test_a_matched_one_is_there_when_its_receive_has_begun(size):
    """The NIC does not go on to write to the buffer, which programs drop after one MPI_Test."""

    def program(device):
        mpi = Mpi(device, HostConfig(), manager=Local(0, Registry()))
        mpi.init()
        comm = mpi.comm_self
        sent, got = Buffer(pattern(size)), Buffer(size)
        sends = point_to_point.issend(comm, sent.address, size, BYTE, 0, 6)
        message, status = probing.mprobe(comm, 0, 6)
        assert status.count == size
        receives = message.irecv(got.address, size, BYTE)
        assert receives.done
        assert got.data == sent.data
        sends.wait()

    World(1).run(program)


# Many peers, few pools: all-to-all traffic whose messages lie in host memory between their
# channels' turns.

RANKS = 7
SIZES = (8, 700, 3000, 6000)


def all_to_all(device):
    """Everyone sends everything to everyone before anyone receives; then from the last to the
    first, some from anyone."""
    me, peers = device.rank, range(device.size)
    sent = [isend(device, peer, pattern(size, me + i), tag=i) for i, size in enumerate(SIZES) for peer in peers]
    for _ in range(300):
        device.progress()
    for i in (3, 1, 2):
        for peer in reversed(peers):
            operation, data = recv(device, peer, SIZES[i], tag=i)
            assert (operation.length, data) == (SIZES[i], pattern(SIZES[i], peer + i))
    sources = set()
    for _ in peers:
        operation, data = recv(device, ANY_SOURCE, SIZES[0], tag=0)
        assert data == pattern(SIZES[0], operation.source)
        sources.add(operation.source)
    assert sources == set(peers)
    wait(device, *sent)


@pytest.mark.ci
@pytest.mark.parametrize(("resident", "per_nic"), [(2, 1), pytest.param(3, 4, marks=pytest.mark.slow)])
def test_all_to_all(resident, per_nic, monkeypatch):
    """Seven ranks, two pools a NIC; and four ranks a NIC, whose 28 channels share three."""
    take_native_turns(monkeypatch)
    world = World(RANKS, per_nic, McpConfig(messages=8, ack_slots=2, resident=resident))
    world.run(all_to_all)
    for nic in world.fabric.nics:
        with nic.machine:
            assert state.nic.fetched > 0, "nothing was moved: the test tests nothing"
            assert state.nic.dropped == 0


def test_more_channels_than_the_ceiling():
    """A NIC serves five ranks in a world of 65: 325 channels, where 64 have pool of their own;
    three ranks of it speak."""

    def program(device):
        peers = (0, 7, 64)
        if device.rank in peers:
            sent = [isend(device, peer, pattern(50, device.rank), tag=3) for peer in peers]
            for _ in range(100):
                device.progress()
            for peer in reversed(peers):
                assert recv(device, peer, 50, tag=3)[1] == pattern(50, peer)
            wait(device, *sent)

    World(65, 5, McpConfig(resident=2, any_receives=0, receives=8)).run(program)


def test_boot_asks_for_the_memory():
    config = McpConfig(resident=2)
    assert driver.spill_address(None, config, 2) == 0, "as many pools as channels"
    with pytest.raises(UserError, match=r"3 channels that share 2 pools need \d+ bytes of host memory .* and have 0"):
        driver.spill_address(None, config, 3)
