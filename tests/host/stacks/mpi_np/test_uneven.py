"""NICs with different numbers of ranks: none sends what the other has no room for."""

import pytest

from lanai_firmware.programs.mpi_np import state
from lanai_firmware.programs.mpi_np.plan import McpConfig

from .np_calls import isend, pattern, recv, wait
from .np_native import take_native_turns
from .np_world import World

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
