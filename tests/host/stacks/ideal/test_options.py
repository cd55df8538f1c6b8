"""The cost of a message on `ideal`: a latency, and its time on the sender's link."""

import re
from itertools import pairwise

import pytest
import warm

from lanai_hdl.config import lanai41
from lanai_host.stacks.ideal.stack import IdealOptions, unlimited

STREAM = """\
from mpi4py import MPI
world, data = MPI.COMM_WORLD, bytearray(65536)
begun = MPI.Wtime()
for _ in range(8):
    world.Recv(data) if world.rank else world.Send(data, 1)
if world.rank:
    print("bytes a microsecond:", round(8e-6 * len(data) / (MPI.Wtime() - begun)))
"""


def rate(*options):
    """Return the rate of a stream of 64 KB messages, in MB/s."""
    done = warm.lanai("run", "-n", 2, *options, "python", "-c", STREAM, timeout=500)
    assert done.returncode == 0, done.stderr
    return int(re.fullmatch(r"bytes a microsecond: (\d+)\n", done.stdout)[1])


def test_a_stream_fills_the_link_and_no_more():
    link = lanai41().link_kbytes / 1000
    assert 0.99 * link <= rate() <= link


def test_the_free_network_is_an_option():
    assert rate("--option", "preset=unlimited") > 100_000
    assert rate("--option", "byte_time=1000") in range(990, 1001)


@pytest.mark.parametrize(("options", "byte_time"), [(IdealOptions(), 6250), (unlimited(), 0)])
def test_presets(options, byte_time):
    assert options == IdealOptions(latency=1_000_000, byte_time=byte_time)


SIZES = """\
import numpy
from mpi4py import MPI
world = MPI.COMM_WORLD
for size in range(512, 20480, 512):
    send, receive = numpy.zeros(size // 8), numpy.zeros(size // 8)
    world.Barrier()
    begun = MPI.Wtime()
    world.{call}(send, receive)
    taken = world.reduce(MPI.Wtime() - begun, MPI.MAX)
    if world.rank == 0:
        print(round(1e9 * taken))
"""


@pytest.mark.parametrize("call", ["Allreduce", "Reduce"])
@pytest.mark.parametrize("ranks", [4, 8])
def test_a_longer_vector_takes_no_less_time(call, ranks):
    """The change of the algorithm comes where both take about as long."""
    done = warm.lanai("run", "-n", ranks, "--quiet", "python", "-c", SIZES.format(call=call), timeout=500)
    assert done.returncode == 0, done.stderr
    times = [int(line) for line in done.stdout.split()]
    assert len(times) == 39
    for shorter, longer in pairwise(times):
        assert longer > 0.97 * shorter, times
