"""A NIC that is reset or hangs in the middle of a run."""

import pytest
from tests.host.stacks import sabotage

from lanai_hdl.machine import Control, host_offset
from lanai_host.bus.greenlets import run_in_greenlet
from lanai_sim.job.nic_world import NicWorld


def reset_nic(bus, image):
    bus.write(host_offset("CONTROL"), int(Control.RESET))


def hang_nic(bus, image):
    sabotage.hang(bus, image)
    bus.write(host_offset("DOORBELL"), 1)


@pytest.fixture
def reset(monkeypatch):
    """Reset the NIC of rank 1 in every run, so many picoseconds behind the ranks' begin."""
    return _at(monkeypatch, reset_nic)


@pytest.fixture
def hang(monkeypatch):
    """Let the firmware of the NIC of rank 1, or of another node, hang likewise."""
    return _at(monkeypatch, hang_nic)


def _at(monkeypatch, act):
    begin = NicWorld.begin

    def saboteur(bus, image, at):
        bus.elapse(at - bus.now)
        act(bus, image)

    def at(moment, node=1):
        def sabotaged(world):
            begin(world)
            bus, image = world.cluster.bus(node), world.image
            world.kernel.spawn(run_in_greenlet(saboteur, bus, image, world.started + moment), node)

        monkeypatch.setattr(NicWorld, "begin", sabotaged)

    return at
