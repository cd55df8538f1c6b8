"""Recovery on the gateware: an mpi4py program over wires that lose, damage, double and reorder
packets."""

import sys

import pytest

from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_sim.job.result import Exit
from lanai_sim.machine import faults
from openlanai import Job

TRAFFIC = """
from mpi4py import MPI
world = MPI.COMM_WORLD
me, ranks = world.rank, range(world.size)
def data(a, b, size):
    return bytes((7 * a + 3 * b + i) & 255 for i in range(size))
sizes = [0, 4, 900, 3000, 20000]
for turn in range(TURNS):
    received = [(a, size, tag, bytearray(size)) for a in ranks for tag, size in enumerate(sizes)]
    requests = [world.Irecv(buffer, source=a, tag=tag) for a, size, tag, buffer in received]
    sent = [data(me, b, size) for b in ranks for size in sizes]
    requests += [world.Isend(sent[b * len(sizes) + tag], dest=b, tag=tag) for b in ranks for tag in range(len(sizes))]
    MPI.Request.Waitall(requests)
    for a, size, tag, buffer in received:
        assert buffer == data(a, me, size), (turn, a, tag)
world.Barrier()
print("all right")
"""
BAD = ("drop", "corrupt", "duplicate", "reorder")


def traffic(ranks, turns, fault_texts, **firmware):
    command = (sys.executable, "-c", TRAFFIC.replace("TURNS", str(turns)))
    planned = tuple(faults.parse(text) for text in fault_texts)
    return Job(command, ranks, "mpi-np", options=McpConfig(**firmware)).but(faults=planned).run()


def test_right_data_over_bad_wires(capfd):
    rates = [f"{kind} * rate=0.02 seed={seed}" for seed, kind in enumerate(BAD)]
    result = traffic(2, 1, rates, recovery=1)
    assert (result.code, result.report) == (0, "")
    assert {note.split()[1] for note in result.notes} == set(BAD), "each kind must have struck"
    assert capfd.readouterr().out.count("all right") == 2


def test_without_recovery_the_run_ends_with_a_report():
    result = traffic(2, 1, ["drop nic0 packet=6"])
    assert result.code == Exit.DEADLOCK
    assert "rank 1" in result.report
    assert result.notes == ("fault: drop of 1 from nic0",)


@pytest.mark.slow
def test_lost_peer_is_an_mpi_error(capfd):
    """A cable that stays dead: every rank gets an error, none hangs."""
    result = traffic(2, 1, ["down nic0 from=3ms to=10s"], recovery=1, retries=2, retry_cycles=8192)
    assert result.code not in (0, Exit.DEADLOCK)
    told = capfd.readouterr().err
    assert "PEER_FAILED" in told or "does not answer" in told


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_storm(seed):
    rates = [f"{kind} * rate=0.04 seed={10 * seed + n}" for n, kind in enumerate(BAD)]
    assert traffic(4, 3, rates, recovery=1).code == 0
