"""The driver's choices: whatever they are, messages come whole and in order."""

import random
from collections import Counter

import pytest

from lanai_firmware.nic.model import Packet
from lanai_firmware.programs.mpi_np.layout import Op
from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_hdl.machine import Verdict
from lanai_host.config import HostConfig, free
from lanai_host.errors import UserError
from lanai_host.operation import ANY_SOURCE, ANY_TAG, ErrorKind
from lanai_host.stacks.mpi_np.endpoint import Endpoint

from .np_cluster import Ranks
from .np_world import SYNCHRONOUS, World, irecv, isend, pattern, recv, send, wait

SIZES = [0, 9, 1500, 9000, 40_000]


def program(device):
    """All sizes, early and late receives, both ways; the last receives take anything."""
    other = 1 - device.rank
    early = [irecv(device, other, size, tag=tag) for tag, size in enumerate(SIZES)]
    sent = [isend(device, other, pattern(size, tag), tag=tag) for tag, size in enumerate(SIZES)]
    sent += [isend(device, other, pattern(size, tag), tag=9 + tag, mode=SYNCHRONOUS) for tag, size in enumerate(SIZES)]
    wait(device, *early)
    assert [pair[1].data for pair in early] == [pattern(size, tag) for tag, size in enumerate(SIZES)]
    for tag, size in reversed(list(enumerate(SIZES))[1:]):
        assert recv(device, other, size, tag=9 + tag)[1] == pattern(size, tag)
    assert recv(device, ANY_SOURCE, 0, tag=ANY_TAG)[0].tag == 9
    wait(device, *sent)
    if device.rank:
        recv(device, 0, 0)
    else:
        send(device, 1, b"")


@pytest.mark.parametrize(
    "changes",
    [
        {"pages_per_entry": 1},
        {"host_matching": True},
        {"pinned_cache_pages": 0},
        {"pio_threshold": 0},
        {"ask_first": True},
        {"pio_when_empty": True},
        {"semaphore": True},
        {"pio_when_empty": True, "semaphore": True, "pinned_cache_pages": 0},
    ],
)
def test_any_choice_delivers(changes):
    """NP-22, NP-33, NP-41, NP-43, NP-45, NP-49, NP-54."""
    World(2, host=free().but(**changes)).run(program)


def test_matching_on_the_host_costs_its_time():
    """NP-33: the host compares envelopes, and the NIC has no receive posted."""

    def idle(device):
        if device.rank == 0:
            wait(device, *[isend(device, 1, b"x", tag=tag) for tag in range(10)])
        else:
            for tag in reversed(range(10)):
                recv(device, 0, 1, tag=tag)
        return device.bus.time

    costs = HostConfig(**{**vars(free()), "match": 1_000_000})
    assert World(2, host=costs).run(idle)[1] == 0
    assert World(2, host=costs.but(host_matching=True)).run(idle)[1] >= 10_000_000


@pytest.mark.parametrize(("empty", "written"), [(False, 10), (True, 1)])
def test_a_body_is_written_only_into_an_empty_channel(monkeypatch, empty, written):
    """NP-43: the sends before it are on the NIC, as nobody has posted a receive."""
    posted = []
    post = Endpoint.post

    def noted(endpoint, op, *arguments, **more):
        posted.append(op)
        return post(endpoint, op, *arguments, **more)

    monkeypatch.setattr(Endpoint, "post", noted)

    def program(device):
        if device.rank == 0:
            sends = [isend(device, 1, b"x", tag=tag) for tag in range(10)]
            counts.append(posted.count(Op.SEND_INLINE))
            wait(device, *sends)
            return
        for tag in reversed(range(10)):
            recv(device, 0, 1, tag=tag)

    counts = []
    World(2, config=McpConfig(eager_limit=0), host=free().but(pio_when_empty=empty)).run(program)
    assert counts == [written]


def test_a_semaphore_costs_two_system_calls_a_request():
    """NP-54."""

    def program(device):
        if device.rank == 0:
            wait(device, *[isend(device, 1, b"x", tag=tag) for tag in range(10)])
        else:
            for tag in range(10):
                recv(device, 0, 1, tag=tag)
        return device.bus.time

    costs = HostConfig(**{**vars(free()), "system_call": 1_000_000})
    assert World(2, host=costs).run(program) == [0, 0]
    assert World(2, host=costs.but(semaphore=True)).run(program) == [20_000_000, 20_000_000]


@pytest.mark.parametrize("count", [6, 8, 10, 12, 14, 16])
def test_no_message_is_slept_through(count):
    """A rank that is about to sleep asks once more for what has come. That may be what it waits for."""

    def program(device):
        if device.rank == 0:
            wait(device, *[isend(device, 1, b"x", tag=tag) for tag in range(count)])
            return
        for tag in reversed(range(count)):
            recv(device, 0, 1, tag=tag)

    host = HostConfig(**{**vars(free()), "match": 1_000_000}).but(host_matching=True)
    World(2, host=host).run(program)


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, 2) for name in ("host_matching", "ask_first", "pio_when_empty", "semaphore")]
    + [("pages_per_entry", 0), ("pages_per_entry", 5)],
)
def test_bad_values_are_quoted(name, value):
    with pytest.raises(UserError, match=f"HostConfig.{name}={value} must be"):
        HostConfig().but(**{name: value})


# Channels with send buffers on the gateware (NP-04, NP-39).

SIZES_SEND_BUFFERS = (0, 4, 1024, 1500, 3000, 4096, 5000, 12345)


@pytest.mark.parametrize("changes", [{}, {"cut_through": 0, "quick": 0}, {"recovery": 1}])
def test_random_messages_both_ways(changes):
    """Many wait for credit, and receives take them in another order."""
    dice = random.Random(1)
    messages = [[(tag, dice.choice(SIZES_SEND_BUFFERS)) for tag in range(40)] for _ in range(2)]

    def program(rank):
        mine, others = messages[rank.rank], list(messages[1 - rank.rank])
        sent = [rank.send(1 - rank.rank, pattern(size, tag), tag) for tag, size in mine]
        random.Random(2 + rank.rank).shuffle(others)
        for tag, size in others:
            received = rank.receive(1 - rank.rank, size, tag)
            rank.finish(received)
            assert received[1].data == pattern(size, tag)
        rank.finish(*sent)
        return len(others)

    mcp = McpConfig(messages=8, ack_slots=1, send_buffer=16384).but(**changes)
    assert Ranks(mcp=mcp).run(program, program) == [40, 40]


# The whole driver over wires that lose, damage, double and reorder packets.

ON = McpConfig(recovery=1)
TIGHT = McpConfig(recovery=1, window=2, spare_buffers=2, messages=8, receives=12, any_receives=2, ack_slots=2, stages=4)
SIZES_RECOVERY = [0, 4, 100, 900, 3000, 9000, 40_000]


def weather(seed, rate):
    """A filter that spoils packets at random; `struck` counts each way to do so."""
    dice = random.Random(seed)
    held = {}
    struck = Counter()

    def filter(source, target, packet):
        dial = dice.random() / rate
        late = held.pop((source, target), [])
        struck[int(dial)] += dial < 4
        if dial < 1:
            return late
        if dial < 2:
            return [Packet(packet.route, b"\xff" * len(packet.data), int(Verdict.VALID | Verdict.CRC)), *late]
        if dial < 3:
            return [packet, packet, *late]
        if dial < 4 and not late:
            held[source, target] = [packet]
            return []
        return [packet, *late]

    filter.struck = struck
    return filter


def exchange(device, rounds):
    """Everyone to everyone, all sizes at once."""
    ranks, me = range(device.size), device.rank
    for turn in range(rounds):
        received = [(irecv(device, a, size, tag=tag), a, tag) for a in ranks for tag, size in enumerate(SIZES_RECOVERY)]
        sent = [
            isend(device, b, pattern(size, me + 3 * b + tag + turn), tag=tag)
            for b in ranks
            for tag, size in enumerate(SIZES_RECOVERY)
        ]
        wait(device, *[pair for pair, _, _ in received], *sent)
        for (operation, buffer), a, tag in received:
            assert operation.error is None
            assert buffer.data == pattern(SIZES_RECOVERY[tag], a + 3 * me + tag + turn)


def run(config, seed, rate, rounds=2, ranks=3):
    world = World(ranks, config=config)
    world.fabric.filter = weather(seed, rate)
    world.run(exchange, rounds)
    assert all(world.fabric.filter.struck[way] for way in range(4)), "each way to spoil a packet must have happened"


@pytest.mark.ci
@pytest.mark.parametrize(("config", "seed"), [(TIGHT, 2), (ON, 1)], ids=["tight", "default"])
def test_bad_weather(config, seed):
    run(config, seed, 0.01)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("config", [ON, TIGHT], ids=["default", "tight"])
def test_storm(config, seed):
    run(config, seed, 0.02 * (1 + seed % 3), rounds=4)


def test_lost_peer_fails_what_waits_for_it():
    """Both ranks end with errors rather than wait for ever, whatever they were at."""

    def program(device):
        other = 1 - device.rank
        wait(device, isend(device, other, b"first"), irecv(device, other, 5))
        world.fabric.filter = lambda source, target, packet: [packet] if source == target else []
        pairs = [isend(device, other, pattern(size), tag=1) for size in (4, 3000, 50_000)]
        pairs += [isend(device, other, pattern(9), tag=2, mode=SYNCHRONOUS)]
        pairs += [irecv(device, other, 50, tag=3), irecv(device, ANY_SOURCE, 50, tag=4)]
        pairs += [irecv(device, other, 50, tag=5) for _ in range(20)]  # more than the NIC has entries for
        wait(device, *pairs)
        late = [isend(device, other, b"x"), irecv(device, other, 1), irecv(device, ANY_SOURCE, 1)]
        wait(device, *late)
        wait(device, isend(device, device.rank, b"self"), irecv(device, device.rank, 4))
        return [operation.error and operation.error.kind for operation, _ in pairs[3:] + late]

    world = World(2, config=TIGHT.but(retries=2))
    for errors in world.run(program):
        assert set(errors) == {ErrorKind.PEER_FAILED}
