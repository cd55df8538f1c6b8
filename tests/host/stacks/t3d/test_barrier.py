"""Barriers of `t3d` by the barrier tree: passed together, faster than by messages, and an error when it is lost."""

import sys
from pathlib import Path

import pytest
from pairs import first_of

from lanai_firmware.programs.put_barrier.layout import LOST
from lanai_host.operation import ErrorKind
from lanai_host.stacks.t3d.by_firmware import Barriers

from .test_t3d import EXAMPLES_SHMEM, SAID, lanai

PROGRAM = Path(__file__).with_name("programs.py"), "barriers"
ONLY = """
from mpi4py import MPI
world = MPI.COMM_WORLD
world.Barrier()
world.Barrier()
begin = MPI.Wtime()
for _ in range(20):
    world.Barrier()
if world.rank == 0:
    print((MPI.Wtime() - begin) / 20 * 1e6)
"""
TREE = ("-q", "--device", "t3d", "--nic", "t3d_barrier")


class Bus:
    """Memory whose first word the NIC would write."""

    def __init__(self):
        self.view = memoryview(bytearray(4))
        self.bus_address = 0x1000

    def allocate(self, size):
        return self


class Puts:
    def __init__(self):
        self.asked = []

    def barrier(self, rank, bits, result):
        self.asked.append((rank, bits, result))


def test_a_bit_has_one_barrier_at_a_time_and_the_next_one_clears_it():
    bus, puts = Bus(), Puts()
    barriers = Barriers(bus, puts, 3)
    first, second, other = barriers.begin(2), barriers.begin(2), barriers.begin(5)
    assert puts.asked == [(3, 4, 0x1000), (3, 32, 0x1000)]
    barriers.look()
    assert (first.done, second.done, other.done) == (False, False, False)
    bus.view[:] = (4).to_bytes(4, "big")
    barriers.look()
    assert (first.done, second.done, other.done) == (True, False, False)
    assert puts.asked[2:] == [(3, 4, 0x1000)]
    barriers.look()
    assert not second.done  # its bit is clear here, and the switch's still set
    bus.view[:] = (32).to_bytes(4, "big")
    barriers.look()
    assert second.done
    assert other.done
    assert barriers.idle


def test_a_tree_that_is_lost_ends_what_waits():
    bus = Bus()
    barriers = Barriers(bus, Puts(), 0)
    two = barriers.begin(0), barriers.begin(0)
    assert not barriers.lost
    bus.view[:] = int(LOST).to_bytes(4, "big")
    assert barriers.lost
    barriers.fail_all(ErrorKind.NIC_LOST, "gone")
    assert [one.error.kind for one in two] == [ErrorKind.NIC_LOST] * 2
    assert barriers.idle


def test_barriers_of_all_kinds_are_passed():
    run = lanai(*TREE, "-n", 3, sys.executable, *PROGRAM)
    assert (run.returncode, run.stdout, run.stderr) == (0, "passed\n" * 3, "")


@pytest.mark.parametrize("fabric", first_of("switches:2", "torus:2x2x1"))
def test_several_switches_have_one_tree(fabric):
    run = lanai(*TREE, "-n", 4, "--fabric", fabric, sys.executable, *PROGRAM)
    assert (run.returncode, run.stdout, run.stderr) == (0, "passed\n" * 4, "")


@pytest.mark.ci
def test_a_barrier_takes_less_time_than_by_messages():
    by = {}
    for nic in ("t3d", "t3d_barrier"):
        run = lanai("-q", "-n", 2, "--device", "t3d", "--nic", nic, "--host", "alpha21064", sys.executable, "-c", ONLY)
        assert (run.returncode, run.stderr) == (0, "")
        by[nic] = float(run.stdout)
    assert by == {"t3d": pytest.approx(66.35, abs=0.01), "t3d_barrier": pytest.approx(61.70, abs=0.01)}


@pytest.mark.slow
def test_the_tree_on_a_network_that_reorders():
    more = ("--option", "preset=t3e", "--fault", "reorder * rate=0.2 seed=3 by=300us")
    run = lanai(*TREE, "-n", 2, *more, sys.executable, *PROGRAM)
    assert run.returncode == 0
    assert run.stderr
    assert all(line.startswith("lanai: fault: reorder of ") for line in run.stderr.splitlines())


def test_a_tree_that_is_lost_is_an_error_at_both_ranks():
    run = lanai(*TREE, "-n", 2, "--fault", "down nic1 from=300us to=100ms", sys.executable, "-c", ONLY)
    assert run.returncode != 0
    for rank in range(2):
        assert f"the NIC of rank {rank} has lost the barrier tree" in run.stderr


def test_shmem_uses_it():
    run = lanai(*TREE, "-n", 2, sys.executable, EXAMPLES_SHMEM / "counter.py")
    assert (run.returncode, run.stdout, run.stderr) == (0, SAID["counter"], "")


def test_a_fabric_without_it_is_refused():
    run = lanai(*TREE, "-n", 4, "--fabric", "segment", "true")
    assert run.returncode == 2
    assert "fabric 'segment' has no barrier tree" in run.stderr
    assert "take switch, switches:N, torus: or mesh:" in run.stderr
