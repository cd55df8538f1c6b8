"""Ranks that poll: what a poll finds, when, and how many there are does not depend on whether the
simulator was asked each time."""

import sys

import pytest
from pairs import first_of

from lanai_sim.job.native_loop import NativeLoop
from lanai_sim.job.nic_service import RankAccess
from lanai_sim.job.result import Exit
from lanai_sim.kernel.cluster import Cluster
from openlanai import Job

# Rank 0 polls for messages that the others send late, first in silence, then while the others talk;
# it answers the last one.
LATE = """
from mpi4py import MPI
world = MPI.COMM_WORLD

def pass_time(microseconds):
    end = MPI.Wtime() + 1e-6 * microseconds
    while MPI.Wtime() < end:
        pass

if world.rank == 0:
    for tag in range(3):
        buffer, polls = bytearray(4), 0
        request = world.Irecv(buffer, MPI.ANY_SOURCE, tag)
        while not request.Test():
            polls += 1
        print(tag, polls, bytes(buffer).hex(), f"{1e6 * MPI.Wtime():.6f}")
    probes = 0
    while not world.Iprobe(1, 3):
        probes += 1
    world.Recv(bytearray(4), 1, 3)
    world.Send(b"done", 1, 4)
    print("probes", probes, f"{1e6 * MPI.Wtime():.6f}")
else:
    other = 3 - world.rank
    if world.rank == 1:
        pass_time(700)
        world.Send(b"1111", 0, 0)
    else:
        world.Recv(bytearray(4), 1, 9)  # blocked meanwhile
        pass_time(400)
        world.Send(b"2222", 0, 1)
    if world.rank == 1:
        world.Send(b"here", 2, 9)
    for _ in range(2):
        world.Sendrecv(bytes(2000), other, 7, bytearray(2000), other, 7)
    if world.rank == 1:
        world.Send(b"3333", 0, 2)
        pass_time(150)
        world.Send(b"4444", 0, 3)
        world.Recv(bytearray(4), 0, 4)
"""


@pytest.fixture
def asked(monkeypatch):
    """Count how often the simulator was asked what it knows of the time to come. Python answers."""
    times = []
    ask = RankAccess.quiet_until
    monkeypatch.setattr(NativeLoop, "used", False)

    def counted(self):
        times.append(ask(self))
        return times[-1]

    monkeypatch.setattr(RankAccess, "quiet_until", counted)
    return times


def play(capfd, **options):
    result = Job((sys.executable, "-c", LATE), 3, "mpi-np").but(**options).run()
    assert (result.code, result.report) == (0, "")
    return capfd.readouterr().out, result.sim_time, result.clocks


@pytest.mark.ci
@pytest.mark.parametrize("ranks_per_node", first_of(1, 3))
def test_polls_that_nothing_can_answer_are_not_asked(capfd, asked, ranks_per_node):
    skipped = play(capfd, ranks_per_node=ranks_per_node)
    few = len(asked)
    asked.clear()
    assert play(capfd, ranks_per_node=ranks_per_node, skip=False) == skipped
    assert set(asked) == {0}
    polls = sum(int(line.split()[1]) for line in skipped[0].splitlines())
    assert polls > 2000
    assert few < polls / 2
    assert few < len(asked) / 2


@pytest.mark.ci
def test_c_code_knows_as_well_for_how_long_nothing_happens(capfd, monkeypatch):
    """Each request of a rank has a tag there."""
    tags, close = [], Cluster.close

    def note(cluster):
        tags.append(cluster.last_tag)
        close(cluster)

    monkeypatch.setattr(Cluster, "close", note)
    skipped = play(capfd)
    assert play(capfd, skip=False) == skipped
    polls = sum(int(line.split()[1]) for line in skipped[0].splitlines())
    few, many = tags
    assert few < polls / 2 < polls < many


LIMIT = 4_000_000_000
FOR_EVER = """
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 0:
    request = MPI.COMM_WORLD.Irecv(bytearray(4), 1)
    while not request.Test():
        pass
"""


@pytest.mark.ci
def test_a_poll_for_what_never_comes_meets_the_limit():
    def end(**options):
        result = Job((sys.executable, "-c", FOR_EVER), 2, "mpi-np", max_sim_time=LIMIT).but(**options).run()
        assert "simulated time has reached --max-sim-time" in result.report
        return result.code, result.clocks

    code, clocks = end()
    assert code == Exit.TIME_LIMIT
    assert LIMIT < clocks[0] < LIMIT + 1_000_000  # to the poll that would have gone beyond
    assert end(skip=False) == (code, clocks)


# Rank 0 polls in each way for messages that take long, while the others talk. With an argument each poll is made.
IDEAL = """
import sys
from mpi4py import MPI
if sys.argv[1:]:
    import lanai_host.mpi.polling as polling
    polling.FEW = 1 << 60
world = MPI.COMM_WORLD
window = MPI.Win.Create(bytearray(8), comm=world)
window.Fence()
if world.rank == 0:
    polls = 0
    for tag, size in enumerate((100_001, 70_003, 200_007, 90_011)):
        buffer = bytearray(size)
        requests = [world.Irecv(buffer, MPI.ANY_SOURCE, tag), world.Irecv(bytearray(4), 2, 9)]
        first = requests[:1]
        ways = first[0].Test, lambda: MPI.Request.Testall(first), lambda: MPI.Request.Testany(first)[1]
        while not ways[tag % 3]():
            polls += 1
        world.Send(b"next", 1, tag)
        world.Send(b"talk", 2, 9)
        while not requests[1].Test():
            polls += 1
    while not world.Iprobe(1, 20):
        polls += 1
    world.Recv(bytearray(300_000), 1, 20)
    print(polls)
else:
    for tag, size in enumerate((100_001, 70_003, 200_007, 90_011)):
        if world.rank == 1:
            world.Send(bytes(size), 0, tag)
            world.Recv(bytearray(4), 0, tag)
        else:
            world.Recv(bytearray(4), 0, 9)
            world.Send(bytes(4), 0, 9)
    if world.rank == 1:
        window.Lock(0)
        window.Put(bytes(8), 0)
        window.Unlock(0)
        world.Send(bytes(300_000), 0, 20)
window.Fence()
window.Free()
"""


def test_polls_without_a_nic_pass_at_once_and_find_things_at_the_same_time():
    def end(*words):
        result = Job((sys.executable, "-c", IDEAL, *words), 3, capture=True).run().check()
        return int(result.outputs[0].stdout), result.clocks, result.summary.spent

    polls, *same = end()
    every, *expected = end("each")
    assert same == expected
    assert every > 3000
    assert polls < every / 3
