"""Ranks that poll: what a poll finds, when, and how many there are does not depend on whether the
simulator was asked each time."""

import sys

import pytest
from pairs import first_of

from lanai_host.simulator.requests import Look
from lanai_sim.engines.words import Words
from lanai_sim.job.native_loop import NativeLoop
from lanai_sim.job.nic_service import RankAccess
from lanai_sim.job.rank_service import Refused, known_polls
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


def play(capfd, device="mpi-np", **options):
    result = Job((sys.executable, "-c", LATE), 3, device).but(**options).run()
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


def test_polls_that_pass_at_once_on_ideal_are_as_many_in_each_run(capfd):
    first = play(capfd, "ideal")
    assert [play(capfd, "ideal") for _ in range(3)] == [first] * 3


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


# Polls that the simulator does for a rank, over words of this process.


POLL, NOTING = 1000, 50


class Memory:
    """Words that hold 0 at first."""

    def __init__(self, count: int) -> None:
        self.view = memoryview(bytearray(4 * count))

    def words(self):
        return Words.of([(at, 0, self.view[at : at + 4]) for at in range(0, len(self.view), 4)])

    def set(self, number: int, value: int) -> None:
        self.view[4 * number : 4 * number + 4] = value.to_bytes(4, "big")


def polled(memory, place=-1, value=0, decisive=0):
    return known_polls(Look(POLL, place, value, NOTING, 1, decisive), memory.words())


def test_a_poll_does_nothing_until_a_word_has_changed():
    memory = Memory(2)
    poll = polled(memory)
    assert (poll.first(), poll.polls) == (POLL, 1)
    memory.set(1, 7)
    assert (poll.first(), poll.again(), poll.polls) == (None, None, 1)


def test_a_word_is_noted_once_and_only_if_no_other_has_changed():
    memory = Memory(2)
    poll = polled(memory, place=0, value=5)
    memory.set(0, 5)
    assert (poll.again(), poll.noted, len(poll.words)) == (POLL + NOTING, 1, 1)
    assert poll.again() is None
    other = polled(memory, place=0, value=5)
    memory.set(1, 1)
    assert (other.again(), other.noted) == (None, 0)
    assert polled(Memory(2), place=0, value=5).again() is None  # its time was up


def test_a_word_that_does_not_decide_may_change_again_and_again():
    memory = Memory(2)
    poll = polled(memory, decisive=1)
    memory.set(0, 3)
    assert (poll.first(), [word.seen for word in poll.words]) == (POLL, [3])
    assert poll.again() is None  # its time was up
    for value in (4, 5):
        memory.set(0, value)
        assert (poll.again(), [word.seen for word in poll.words]) == (POLL, [value])
    memory.set(1, 1)
    memory.set(0, 6)
    assert (poll.again(), poll.first(), poll.polls) == (None, None, 3)


@pytest.mark.parametrize(
    ("count", "place", "decisive", "text"),
    [
        (2, -1, 2, "2 of 2 words cannot be decisive: a wait needs another one"),
        (2, -1, 3, "3 of 2 words cannot be decisive"),
        (1, 0, 0, "word 0 of 1 cannot be noted"),
        (3, 0, 1, "word 0 of 2 cannot be noted"),
        (2, 2, 0, "word 2 of 2 cannot be noted"),
        (2, -2, 0, "word -2 of 2 cannot be noted"),
    ],
)
def test_what_cannot_be_is_refused(count, place, decisive, text):
    with pytest.raises(Refused, match=text):
        polled(Memory(count), place=place, decisive=decisive)
