"""One-sided communication on the systems whose adapter reaches the memory of others: every byte
right, and nothing needed of the target's processor."""

import sys
from pathlib import Path

import pytest
import warm
from pairs import first_of

from lanai_host.stacks import names
from lanai_sim.studies.benches.one_sided import measure

PROGRAM = Path(__file__).with_name("one_sided.py")
FAULTS = [
    word for kind in ("drop", "corrupt", "duplicate", "reorder") for word in ("--fault", f"{kind} * rate=0.01 seed=3")
]


def run(device, ranks, *options):
    options = ("-q", "-n", ranks, "--device", device, *options)
    return warm.lanai("run", *options, sys.executable, PROGRAM, timeout=900)


@pytest.mark.parametrize(
    ("device", "choice"),
    [
        ("sci", "private=register"),
        pytest.param("sci", "private=emulate", marks=pytest.mark.slow),
        pytest.param("sci", "longest_get=1000", marks=pytest.mark.slow),
        pytest.param("mbcf", "requests=1", marks=pytest.mark.slow),
        pytest.param("mbcf", "fifo_pages=1", marks=pytest.mark.slow),
    ],
)
def test_one_sided_communication_of_all_kinds(device, choice):
    done = run(device, 4, "--ranks-per-node", "2", "--option", choice)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.ci
def test_windows_are_not_told_that_a_peer_was_not_there_yet():
    """At the start of the last of five ranks on three nodes, the segment of the first does not exist:
    the device says hello later, and no window has failed."""
    done = run("sci", 5, "--ranks-per-node", "2")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("device", ["mbcf", "sci"])
def test_one_sided_communication_with_faults_of_all_kinds(device):
    done = run(device, 3, *FAULTS)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("device", first_of("sci", "mbcf"))
def test_a_target_that_computes_is_reached_as_soon_as_one_that_waits(device):
    """Put and flush take at most 5 us while the target computes for 10 ms."""
    found = measure(device)
    assert found["busy_put_flush_us"] == pytest.approx(found["put_flush_us"], rel=1e-3)
    assert found["busy_fetch_op_us"] == pytest.approx(found["fetch_op_us"], rel=1e-3)
    assert found["private_put_flush_us"] < 1.1 * found["put_flush_us"]
    assert max(found.values()) < 5


# Windows on every messaging system, whether it moves their data itself or MPI does it by messages.

PROGRAM_FENCES = Path(__file__).with_name("fences.py")


@pytest.mark.parametrize(
    "sizes", ["1,4096", pytest.param("0,100,1024,1025,4095,4097,9001,60000", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("device", names())
def test_puts_and_gets_arrive_whole(device, sizes):
    run = warm.lanai("run", "-q", "-n", 3, "--device", device, sys.executable, PROGRAM_FENCES, sizes, timeout=300)
    assert (run.stdout, run.stderr) == ("all there\n" * 3, "")
