"""The worlds of a job: ranks without NICs, and with them."""

import pytest

from lanai_sim.job.nic_world import NicWorld
from lanai_sim.job.world import World

WORLDS = [pytest.param(("ideal", World), id="ideal"), pytest.param(("mpi-np", NicWorld), id="mpi-np")]
