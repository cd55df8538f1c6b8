"""Many peers, few pools: all-to-all traffic whose messages lie in host memory between their
channels' turns."""

import pytest

from lanai_firmware.programs.mpi_np import state
from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_hdl.errors import UserError
from lanai_host.operation import ANY_SOURCE
from lanai_host.stacks.mpi_np import spill_memory

from .np_calls import isend, pattern, recv, wait
from .np_native import take_native_turns
from .np_world import World

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
    assert spill_memory.address_of(None, config, 2) == 0, "as many pools as channels"
    with pytest.raises(UserError, match=r"3 channels that share 2 pools need \d+ bytes of host memory .* and have 0"):
        spill_memory.address_of(None, config, 3)
