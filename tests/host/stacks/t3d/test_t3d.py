"""`lanai run --device t3d`: MPI programs run on it, the same each time; what it cannot do is
refused."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import warm

from lanai_host import shmem
from lanai_host.errors import UserError
from lanai_host.stacks import stack
from lanai_host.stacks.base import Placement
from lanai_host.stacks.t3d.heap import T3dOptions
from lanai_host.stacks.t3d.stack import SHELL, T3dShellStack
from lanai_host.stacks.t3d.windows import LANDINGS, landings
from lanai_sim.machine import presets

PROGRAM = Path(__file__).parents[1] / "messages.py"
SIZES = "0,3,1023,1024,1025,9001"


def lanai(*arguments):
    return warm.lanai("run", *arguments, timeout=500)


def on_t3d(ranks, *options, sizes=SIZES):
    return lanai("-q", "-n", ranks, "--device", "t3d", *options, sys.executable, PROGRAM, sizes)


@pytest.mark.parametrize("ranks", [1, 3])
def test_messages_of_all_kinds_arrive_whole_and_in_order(ranks):
    run = on_t3d(ranks)
    assert (run.returncode, run.stderr) == (0, "")
    assert re.fullmatch(r"all there after 0\.0\d+ s\n", run.stdout)


@pytest.mark.parametrize(
    "option", ["short=64", *(pytest.param(n, marks=pytest.mark.ci) for n in ("long_sends=1", "reply_pages=1"))]
)
def test_the_sizes_that_the_paper_leaves_open_change_no_byte(option):
    run = on_t3d(2, "--option", option, sizes="100,9001")
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.slow
def test_on_a_torus_with_long_messages():
    run = on_t3d(8, "--fabric", "torus:2x2x2", sizes=f"{SIZES},300001")
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--ranks-per-node", "2"), "t3d puts one rank on a NIC, not 2; leave out --ranks-per-node"),
        (("--option", "short=1023"), "T3dOptions.short=1023 must be a multiple of 4"),
        (("--option", "short=8"), "short"),
        (("--option", "slots=8"), "has no key 'slots'"),
    ],
)
def test_what_it_cannot_do_is_refused(arguments, text):
    run = lanai("-n", "2", "--device", "t3d", *arguments, sys.executable, PROGRAM, "0")
    assert (run.returncode, run.stdout) == (2, "")
    assert text in run.stderr


# `--device t3d --nic t3d_shell`: MPI and SHMEM programs on NICs whose remote-memory adapter is the shell.

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[3] / "examples" / "shmem"
NIC = presets.t3d_shell()


def on_shell(ranks, *words, options=(), more=()):
    chosen = [word for option in options for word in ("--option", option)]
    return lanai("-q", "-n", ranks, "--device", "t3d", "--nic", "t3d_shell", *chosen, *more, sys.executable, *words)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("ranks", "option", "sizes"),
    [
        (1, "short=1024", SIZES),
        (3, "short=1024", SIZES),
        (2, "short=16384", "1025,9001"),
        (2, "long_sends=1", "9001"),
        (2, "reply_pages=1", "9001"),
        (2, "unfinished=spin", "9001"),
        (2, "cache=line", "1025,9001"),
    ],
)
def test_messages_of_all_kinds_arrive_whole_and_in_order_shell(ranks, option, sizes):
    run = on_shell(ranks, PROGRAM, sizes, options=[option])
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("all there after")


@pytest.mark.ci
def test_a_message_of_several_windows_arrives():
    run = on_shell(2, HERE / "programs.py", "one_way")
    assert (run.returncode, run.stdout, run.stderr) == (0, "all there\n", "")


@pytest.mark.ci
@pytest.mark.parametrize("example", ["ring", "counter"])
def test_shmem_runs(example):
    run = on_shell(2, EXAMPLES / f"{example}.py")
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.ci
@pytest.mark.parametrize("option", ["cache=off", "unfinished=late"])
def test_the_paper_s_earlier_versions_fail_here_too(option):
    """A deadlock is reported, with nothing that polls for ever."""
    run = on_shell(2, PROGRAM, "4,9000", options=[option])
    assert run.returncode == 3
    assert "MPI_Waitall" in run.stderr


TO_AND_FRO = """
from mpi4py import MPI
world = MPI.COMM_WORLD
other, data = 1 - world.rank, bytearray(9000)
try:
    for _ in range(40):
        if world.rank:
            world.Recv(data, other)
        world.Send(bytes(9000), other)
        if not world.rank:
            world.Recv(data, other)
except MPI.Exception as error:
    print(world.rank, error)
"""


@pytest.mark.ci
@pytest.mark.parametrize("begin", ["300us", "335us"])
def test_a_cable_that_is_pulled_ends_the_run_and_both_ranks_learn_why(begin):
    """One rank sends and meets the failure. The other only waits: its own NIC has nothing to send."""
    run = on_shell(2, "-c", TO_AND_FRO, more=("--fault", f"down nic0 from={begin} to=3ms", "--max-sim-time", "60ms"))
    assert run.returncode == 0, run.stderr
    found = {int(rank): text for rank, _, text in (line.partition(" ") for line in run.stdout.splitlines())}
    assert set(found) == {0, 1}
    sender = next(rank for rank, text in found.items() if f"the NIC of rank {rank} met an access that failed" in text)
    assert "the peer's NIC does not answer" in found[sender]
    assert f"rank {sender} has gone: its NIC met an access that failed" in found[1 - sender]


MANY = """
import sys
from mpi4py import MPI
world = MPI.COMM_WORLD
count, size = int(sys.argv[1]), int(sys.argv[2])
other = 1 - world.rank
sends = [world.Issend(bytes([n % 251]) * size, other, tag=n) for n in range(count)]
for n in reversed(range(count)):
    memory = bytearray(size)
    world.Recv(memory, other, n)
    assert memory == bytes([n % 251]) * size
MPI.Request.Waitall(sends)
print("all there")
"""


@pytest.mark.ci
def test_long_messages_wait_for_windows():
    """Both ranks send more of them than peers have windows, and take them in another order."""
    run = on_shell(2, "-c", MANY, "12", "9000")
    assert (run.returncode, run.stdout, run.stderr) == (0, "all there\n" * 2, "")


def test_the_stack_follows_the_nic_s_blocks():
    t3d = stack("t3d")
    assert t3d.on(["remote"]) is SHELL
    assert t3d.on(["barrier"]) is t3d.on([]) is t3d
    assert isinstance(SHELL, T3dShellStack)


def refusal(ranks=2, per=1, nic=NIC, **options):
    with pytest.raises(UserError) as raised:
        SHELL.check(T3dOptions(**options), Placement(ranks, per, lambda a, b: 0, nic))
    return str(raised.value)


def test_what_it_cannot_do_is_refused_shell():
    barrier = NIC.but(blocks=(*NIC.blocks, *presets.t3d_barrier().blocks))
    assert "adaptive=yes is not for NICs with the remote-memory adapter" in refusal(adaptive=True)
    assert "t3d puts one rank on a NIC, not 2" in refusal(4, 2)
    assert "the host sees a header's first line before the second has come" in refusal(status="first")
    assert "the barrier tree is served by firmware" in refusal(nic=barrier)
    assert "too few for long messages; choose smaller options" in refusal(100, short=16384)


def test_windows_are_as_many_as_the_page_table_has_room_for():
    assert landings(1 << 12) == LANDINGS
    assert landings(36) == 1
    assert landings(35) < 1


# SHMEM without MPI: its examples run, and what it cannot do is refused.

EXAMPLES_SHMEM = Path(__file__).parents[4] / "examples" / "shmem"
SAID = {
    "ring": "2 ranks have the block of their left neighbour\n",
    "counter": "10 numbers taken, each once\n",
}


def test_an_example_runs():
    run = lanai("-q", "-n", 2, "--device", "t3d", sys.executable, EXAMPLES_SHMEM / "counter.py")
    assert (run.returncode, run.stdout, run.stderr) == (0, SAID["counter"], "")


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--option", "preset=t3e", "--fault", "reorder * rate=0.3 seed=3 by=300us")])
@pytest.mark.parametrize("name", SAID)
def test_examples_run_whether_or_not_the_network_keeps_the_order(name, options):
    run = lanai("-q", "-n", 2, "--device", "t3d", *options, sys.executable, EXAMPLES_SHMEM / f"{name}.py")
    assert (run.returncode, run.stdout) == (0, SAID[name]), run.stderr


WRONG = """
from lanai_host import shmem
from lanai_host.errors import UserError
with shmem.start(heap=100) as heap:
    block = heap.allocate(64)
    for wrong in (
        lambda: heap.allocate(64),
        lambda: heap.put(2, block, block, 4),
        lambda: heap.get(0, 12, block, 4),
        lambda: heap.put_bytes(0, block + 4090, bytes(64)),
    ):
        try:
            wrong()
        except UserError as error:
            if heap.rank == 0:
                print(error)
"""


@pytest.mark.slow
def test_what_is_not_in_the_heap_is_refused():
    run = lanai("-q", "-n", 2, "--device", "t3d", sys.executable, "-c", WRONG)
    assert run.stderr == ""
    first, second, third, fourth = run.stdout.splitlines()
    assert first == "cannot allocate 64 bytes: the symmetric heap has 36 left; open a larger one"
    assert second == "rank 2 is not there; there are 2, from 0"
    assert third.startswith("4 bytes at offset 12 are not in the symmetric heap")
    assert fourth.startswith("64 bytes at offset")


def test_without_nics_it_says_how_to_start():
    with pytest.raises(UserError, match="shmem needs NICs; start the program with: lanai run --device t3d"):
        shmem.start()


def test_another_device_is_refused():
    run = subprocess.run(
        [sys.executable, "-m", "lanai_sim", "run", "-q", sys.executable, EXAMPLES_SHMEM / "ring.py"],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert run.returncode != 0
    assert "shmem runs on the device t3d, not on 'ideal'" in run.stderr
