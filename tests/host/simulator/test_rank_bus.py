"""A rank's bus: polls and waits that the simulator does for it take the same simulated time as its own."""

import sys

import pytest

from openlanai import Job

MESSAGES = 16
PROGRAM = f"""
import sys
from collections import Counter
from lanai_host.bus.base import Bus
from lanai_host.simulator.client import SimulatorClient
from lanai_host.simulator.rank_bus import RankBus
if sys.argv[1] == "steps":
    RankBus.look_and_wait = Bus.look_and_wait  # each step is a request
asked, call = Counter(), SimulatorClient.call
def counted(self, op, payload=b""):
    asked[op.name] += 1
    return call(self, op, payload)
SimulatorClient.call = counted
from mpi4py import MPI
world, size = MPI.COMM_WORLD, int(sys.argv[2])
data = bytearray(size)
right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
times = []
world.Barrier()
asked.clear()
for turn in range({MESSAGES}):
    if (world.rank + turn) % 2:
        world.Send(data, right, tag=turn)
    else:
        world.Recv(data, left, tag=turn)
    times.append(MPI.Wtime())
print(world.rank, sum(asked.values()), times[-1], hash(tuple(times)))
"""


def lines(device, way, size, ranks, capfd, **options):
    """Each rank's requests, and what it says of its times; the result."""
    if device == "t3d_shell":
        device, options = "t3d", {"nic": "t3d_shell"} | options
    result = Job((sys.executable, "-c", PROGRAM, way, str(size)), ranks, device).but(**options).run()
    assert (result.code, result.report) == (0, "")
    words = sorted(line.split() for line in capfd.readouterr().out.splitlines())
    assert len(words) == ranks
    return [int(word[1]) for word in words], [word[2:] for word in words], result.clocks


DEVICES = ("mbcf", "sci", "t3d", "t3d_shell", "ccu", "bip")


@pytest.mark.parametrize(("size", "ranks"), [(4, 2), (9000, 4)])
@pytest.mark.parametrize("device", DEVICES)
def test_the_simulator_polls_at_the_same_times_as_the_rank(device, size, ranks, capfd):
    own = lines(device, "steps", size, ranks, capfd)
    simulated = lines(device, "one request", size, ranks, capfd)
    assert simulated[1:] == own[1:]
    assert sum(simulated[0]) < sum(own[0])


@pytest.mark.parametrize(("device", "most"), [("mbcf", 1), ("sci", 2), ("t3d", 1), ("ccu", 1), ("bip", 1)])
def test_a_short_message_takes_few_requests(device, most, capfd):
    requests, _, _ = lines(device, "one request", 4, 2, capfd)
    assert sum(requests) <= most * MESSAGES + 4
