"""`lanai bench scale`: many NICs give right answers on every system, which the program of the bench
checks."""

import argparse

import pytest

from lanai_host.errors import UserError
from lanai_sim.studies.benches import scale


def asked(**changes):
    return argparse.Namespace(**({"nics": [4], "device": "mpi-np", "ranks_per_node": 1} | changes))


@pytest.mark.ci
@pytest.mark.parametrize(
    ("device", "nics", "ranks_per_node"),
    [
        ("mpi-np", 32, 1),
        ("mpi-np", 66, 1),
        ("mbcf", 32, 1),
        ("sci", 32, 1),
        ("t3d", 32, 1),
        ("ccu", 16, 2),
        ("ccu", 40, 1),
        ("bip", 66, 1),
        pytest.param("mpi-np", 64, 1, marks=pytest.mark.by_hand),
        pytest.param("mbcf", 64, 1, marks=pytest.mark.by_hand),
        pytest.param("sci", 64, 1, marks=pytest.mark.by_hand),
        pytest.param("t3d", 64, 1, marks=pytest.mark.by_hand),
        pytest.param("ccu", 16, 4, marks=pytest.mark.by_hand),
        pytest.param("ccu", 128, 1, marks=pytest.mark.by_hand),
        pytest.param("bip", 128, 1, marks=pytest.mark.by_hand),
    ],
)
def test_many_nics_give_right_answers(device, nics, ranks_per_node):
    figures = scale.once(device, nics, ranks_per_node)
    assert figures[f"scale.cpu_s_per_nic.{nics}"] == pytest.approx(figures[f"scale.cpu_s.{nics}"] / nics)
    for name in ("ring", "barrier", "allreduce", "halo"):
        assert figures[f"scale.simulated_us.{nics}.{name}"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("device", ["mbcf", "sci"])
def test_a_hop_among_128_nics_takes_what_it_takes_among_16(device):
    """A rank polls for those that it talks to. A barrier has 7 rounds and not 4."""
    few, many = scale.once(device, 16), scale.once(device, 128)
    assert many["scale.simulated_us.128.ring"] / 128 < 1.5 * few["scale.simulated_us.16.ring"] / 16
    assert many["scale.simulated_us.128.barrier"] < 5 * few["scale.simulated_us.16.barrier"]


@pytest.mark.ci
def test_the_bench_takes_the_least_of_its_runs(monkeypatch):
    monkeypatch.setattr(scale, "ROUNDS", 1)
    figures = scale.run(asked(nics=[1, 2]))
    assert figures["scale.cpu_s.1"] > 0
    assert figures["scale.simulator_mb.2"] > figures["scale.simulator_mb_per_nic.2"] > 1
    assert figures["scale.reference_us"] > 0


def test_bad_numbers_are_refused():
    for wrong in ({"nics": [4, 0]}, {"ranks_per_node": 0}):
        with pytest.raises(UserError, match="0 is not a count; --nics and --ranks-per-node take whole numbers from 1"):
            scale.run(asked(**wrong))


@pytest.mark.ci
def test_a_run_that_is_refused_says_why():
    with pytest.raises(UserError, match=r"the run of 241 ranks ended with code 2:\n.*put more ranks on a NIC"):
        scale.once("ccu", 241)
