"""The whole driver over wires that lose, damage, double and reorder packets."""

import random
from collections import Counter

import pytest

from lanai_firmware.nic.model import Packet
from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_hdl.machine import Verdict
from lanai_host.operation import ANY_SOURCE, ErrorKind

from .np_calls import SYNCHRONOUS, irecv, isend, pattern, wait
from .np_world import World

ON = McpConfig(recovery=1)
TIGHT = McpConfig(recovery=1, window=2, spare_buffers=2, messages=8, receives=12, any_receives=2, ack_slots=2, stages=4)
SIZES = [0, 4, 100, 900, 3000, 9000, 40_000]


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
        received = [(irecv(device, a, size, tag=tag), a, tag) for a in ranks for tag, size in enumerate(SIZES)]
        sent = [
            isend(device, b, pattern(size, me + 3 * b + tag + turn), tag=tag)
            for b in ranks
            for tag, size in enumerate(SIZES)
        ]
        wait(device, *[pair for pair, _, _ in received], *sent)
        for (operation, buffer), a, tag in received:
            assert operation.error is None
            assert buffer.data == pattern(SIZES[tag], a + 3 * me + tag + turn)


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
