"""A rank whose own NIC is reset or hangs in a run, whatever it does then: it is told, and so are the ranks that wait
for it."""

import re
import sys

import pytest

import openlanai
from openlanai import Job

VICTIM = 1
WATCHDOG = 2_000_000_000  # picoseconds
HEAD = """
from array import array
from mpi4py import MPI
world, begin = MPI.COMM_WORLD, MPI.Wtime()
rank, peer = world.rank, world.rank ^ 1
data, got = bytearray(b"x" * 3000), bytearray(3000)
number, total = array("q", [1]), array("q", [0])
world.Set_errhandler(MPI.ERRORS_RETURN)

def message(sender, size=20_000):
    if rank % 2 == sender:
        world.Send(bytearray(size), peer)
    else:
        world.Recv(bytearray(size), peer)

def wait_in_turn(size=4):
    message(0, size)
    message(1, size)

def put_and_get():
    window.Fence()
    window.Put(data, peer, 3000 * (rank % 2))
    window.Fence()
    window.Get(got, peer, 3000 * (rank % 2))
    window.Fence()

def lock():
    window.Lock(peer)
    window.Put(data, peer, 3000 * (rank % 2))
    window.Unlock(peer)

def poll():
    request = world.Irecv(got, peer)
    while not request.Test():
        pass

def together():
    world.Barrier()
    world.Bcast(number, 0)
    world.Allreduce(number, total)
    world.Reduce(number, total, MPI.SUM, 3 % world.size)

doing = {
    "together": together,
    "send": lambda: message(1),
    "receive": lambda: message(0),
    "short": wait_in_turn,
    "put_and_get": put_and_get,
    "lock": lock,
    "rest": lambda: world.Recv(got, peer),
    "any": lambda: world.Recv(got, MPI.ANY_SOURCE),
    "poll": poll,
}[KIND]
try:
    if KIND in ("put_and_get", "lock"):
        window = MPI.Win.Allocate(6000, 1, comm=world)
        window.Set_errhandler(MPI.ERRORS_RETURN)
    for _ in range(400 if KIND == "short" else 40):
        doing()
    print("none", MPI.Wtime() - begin, "all went well")
except MPI.Exception as error:
    kinds = {MPI.ERR_OTHER: "own", MPI.ERR_PROC_ABORTED: "peer"}
    print(kinds.get(error.Get_error_class(), "?"), MPI.Wtime() - begin, error)
"""


def told(kind, device, ranks=2, nic=None, watchdog=WATCHDOG):
    """Run, and return by rank what it was told: which kind of error, how long after MPI_Init, and the text."""
    program = HEAD.replace("KIND", repr(kind))
    nics = {} if nic is None else {"nic": nic}
    machine = openlanai.Machine(host={"watchdog": watchdog}, **nics)
    job = Job([sys.executable, "-c", program], ranks, device, max_sim_time="500ms", capture=True).but(machine=machine)
    result = job.run()
    assert str(result.ending) == "finished", result.report
    answers = [one.stdout.split(maxsplit=2) for one in result.outputs]
    return [(kind, float(when), text) for kind, when, text in answers]


RESET = "was reset: it has forgotten what it was booted for"
SILENT = "is silent: for 2000 us its firmware neither looked at the doorbell nor moved anything"


def check(answers, at, seen=RESET):
    kind, when, text = answers[VICTIM]
    assert kind == "own"
    assert f"the NIC of rank 1 {seen}" in text
    assert "start the job again" in text
    for rank, (kind, when, text) in enumerate(answers):
        assert rank == VICTIM or kind == "peer", text
        assert "rank 1" in text
        assert when < (at + 4 * WATCHDOG) / 1e12


RARE = [pytest.param(kind, marks=pytest.mark.ci) for kind in ("short", "lock")]


@pytest.mark.parametrize("moment", [45_000_000, pytest.param(333_300_000, marks=pytest.mark.ci)])
@pytest.mark.parametrize("kind", ["send", "receive", "put_and_get", "rest", "any", *RARE])
@pytest.mark.parametrize("device", ["mbcf", "sci", "lanai2"])
def test_both_ranks_are_told(device, kind, moment, reset):
    reset(moment)
    check(told(kind, device), moment)


@pytest.mark.parametrize(("kind", "others"), [("put_and_get", "peer"), ("send", "none")])
@pytest.mark.parametrize("device", ["mbcf", pytest.param("sci", marks=pytest.mark.ci)])
def test_of_four_ranks_those_that_it_concerns_are_told(device, kind, others, reset):
    """Fences concern all, messages of one pair do not concern the other."""
    reset(45_000_000)
    answers = told(kind, device, ranks=4)
    check(answers[:2], 45_000_000)
    assert [kind for kind, _, _ in answers[2:]] == [others, others]


@pytest.mark.parametrize("device", ["mbcf", "lanai2", pytest.param("sci", marks=pytest.mark.ci)])
def test_a_rank_that_only_polls_is_told_too(device, reset):
    reset(45_000_000)
    answers = told("poll", device, watchdog=200_000_000)
    assert answers[VICTIM][0] == "own"


@pytest.mark.parametrize(
    ("device", "nic", "moment"),
    [
        ("t3d", "t3d", 300_000_000),
        ("t3d", "t3d_shell", 45_000_000),
        pytest.param("ccu", None, 300_000_000, marks=pytest.mark.ci),
    ],
)
def test_so_it_is_on_the_other_systems(device, nic, moment, reset):
    reset(moment)
    check(told("short", device, nic=nic), moment)


@pytest.mark.parametrize("seen", [RESET, SILENT])
@pytest.mark.parametrize("device", ["t3d", "bip", "ccu"])
def test_in_a_fence_of_four_ranks_all_are_told_of_the_one_whose_nic_is_lost(device, seen, reset, hang):
    """The dead NIC ends the packets that it had begun, which is a fault to the NICs that are well. The others wait for
    each other too, and have given up."""
    {RESET: reset, SILENT: hang}[seen](300_000_000)
    answers = told("put_and_get", device, ranks=4, nic="t3d" if device == "t3d" else None)
    check(answers, 300_000_000, seen)
    assert {named for _, _, text in answers for named in re.findall(r"rank (\d+)", text)} == {"1"}


@pytest.mark.parametrize(
    "moment", [45_000_000, *(pytest.param(at, marks=pytest.mark.ci) for at in (46_500_000, 48_000_000))]
)
@pytest.mark.parametrize("ranks", [2, 5])
def test_in_collectives_that_nics_carry_on_all_are_told(ranks, moment, reset):
    reset(moment)
    check(told("together", "lanai2", ranks=ranks), moment)


@pytest.mark.parametrize(
    ("device", "moment"),
    [("mpi-np", 300_000_000), ("mbcf", 45_000_000), ("sci", 45_000_000), ("sci", 46_000_000), ("lanai2", 45_000_000)],
)
def test_who_waits_for_a_rank_that_gave_up_is_told_why(device, moment, reset, hang):
    """The first ranks that are told leave the fence and the job, and others still wait for these."""
    (hang if device == "mpi-np" else reset)(moment)
    answers = told("put_and_get", device, ranks=4)
    assert [kind for kind, _, _ in answers] == ["peer", "own", "peer", "peer"]
    for _, _, text in answers:
        assert "rank 1" in text


def test_a_daemon_that_never_answers_in_mpi_init_ends_the_run_with_one_line(hang):
    hang(0)
    machine = openlanai.Machine(host={"watchdog": WATCHDOG})
    job = Job([sys.executable, "-c", "from mpi4py import MPI"], 2, "ccu", max_sim_time="50ms", capture=True)
    result = job.but(machine=machine).run()
    assert (result.code, str(result.ending)) == (2, "rank failed"), result.report
    assert re.fullmatch(f"lanai: error: the NIC of rank 1 {SILENT}.*start the job again\n", result.outputs[1].stderr)


LATE_END = """
from mpi4py import MPI
while MPI.Wtime() < 12e-3:
    pass
"""


@pytest.mark.parametrize("device", ["t3d", "bip", "ccu"])
def test_a_nic_that_hangs_before_the_end_does_not_keep_mpi_finalize(device, hang):
    hang(10_000_000_000, node=0)
    machine = openlanai.Machine(host={"watchdog": WATCHDOG})
    job = Job([sys.executable, "-c", LATE_END], 1, device, max_sim_time="50ms", capture=True)
    result = job.but(machine=machine).run()
    assert str(result.ending) == "finished", result.report


NEWS_BY_WAITS = """
from mpi4py import MPI
world = MPI.COMM_WORLD
peer = 1 - world.rank
never = world.Irecv(bytearray(4), peer, 1)
for _ in range(60):
    world.Sendrecv(bytearray(4), peer, 0, bytearray(4), peer, 0)
    assert not never.Test()
print(MPI.Wtime())
never.Cancel()
never.Wait()
"""


@pytest.mark.parametrize("device", ["mbcf", "bip"])
def test_a_rank_that_hears_by_waits_does_not_check_its_nic_when_it_polls(device):
    """A check takes time. The messages take longer than the watchdog, each of them much less."""

    def times(watchdog):
        job = Job([sys.executable, "-c", NEWS_BY_WAITS], 2, device, capture=True)
        result = job.but(machine=openlanai.Machine(host={"watchdog": watchdog})).run()
        assert result.ok, result.report
        return [one.stdout for one in result.outputs]

    assert times(150_000_000) == times(0)
