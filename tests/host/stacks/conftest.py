"""A NIC that is reset in the middle of a run."""

import pytest

from lanai_hdl.machine import Control, host_offset
from lanai_host.bus.greenlets import run_in_greenlet
from lanai_sim.job.nic_world import NicWorld


@pytest.fixture
def reset(monkeypatch):
    """Reset the NIC of rank 1 in every run, so many picoseconds behind the ranks' begin."""
    begin = NicWorld.begin

    def saboteur(bus, at):
        bus.elapse(at - bus.now)
        bus.write(host_offset("CONTROL"), int(Control.RESET))

    def at(moment):
        def sabotaged(world):
            begin(world)
            world.kernel.spawn(run_in_greenlet(saboteur, world.cluster.bus(1), world.started + moment), 1)

        monkeypatch.setattr(NicWorld, "begin", sabotaged)

    return at
