"""The MCP compiled for the host does to every byte of SRAM what it does as plain Python."""

import pytest

from lanai_firmware.native import NativeProgram
from lanai_firmware.nic.model import Nic
from lanai_firmware.programs.mpi_np.scheduler import turn

from .np_calls import irecv, isend, pattern, wait
from .np_world import World

# Model NICs whose firmware is compiled for this machine: the same turns, sooner.


def take_native_turns(monkeypatch):
    """From now on every model NIC runs compiled firmware. The list that comes back names the NIC of
    each turn."""
    compiled, turns = {}, []

    def native_turn(nic):
        nic.wait = 0
        places = tuple(nic.machine.placed.items())
        if places not in compiled:
            compiled[places] = NativeProgram(turn, nic.machine.placed, speed=1)
        turns.append(nic)
        compiled[places].run(nic.machine)

    monkeypatch.setattr(Nic, "turn", native_turn)
    return turns


def exchange(device):
    """Both ways at once: short messages, a long one, some in reverse order."""
    other = 1 - device.rank
    sizes = [0, 12, 3000, 9000, 64]
    received = [irecv(device, other, size, tag=tag) for tag, size in reversed(list(enumerate(sizes)))]
    sent = [isend(device, other, pattern(size, tag + device.rank), tag=tag) for tag, size in enumerate(sizes)]
    wait(device, *sent, *received)
    for (operation, buffer), (tag, size) in zip(received, reversed(list(enumerate(sizes))), strict=True):
        assert operation.length == size
        assert buffer.data[:size] == pattern(size, tag + other)


def run_world():
    """Final SRAM of each NIC."""
    world = World(2)
    world.run(exchange)
    return [bytes(nic.machine.sram) for nic in world.fabric.nics]


@pytest.mark.ci
def test_native_mcp_is_the_python_mcp(monkeypatch):
    python = run_world()
    turns = take_native_turns(monkeypatch)
    native = run_world()
    assert len(turns) > 20
    for ours, theirs in zip(native, python, strict=True):
        differing = [index for index in range(len(ours)) if ours[index] != theirs[index]]
        assert not differing, [hex(index) for index in differing[:8]]
