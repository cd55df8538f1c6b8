"""NICs that stand for the machine of a paper: what they were fitted on."""

import pytest

from lanai_hdl.config import PRESETS as OWN
from lanai_host.config import HostCost, alpha21064
from lanai_sim.machine.presets import PRESETS, t3d, t3d_barrier, t3e
from lanai_sim.studies.papers.claims import load


def test_the_gateware_s_own_presets_are_among_them():
    assert PRESETS.items() >= OWN.items()


def test_the_host_bus_of_the_t3d_carries_the_peak_that_the_paper_implies():
    """A line of 32 bytes takes its setup and a clock a word."""
    nic = t3d()
    clocks = nic.read_setup + 8 * nic.max_burst // nic.host_bus_bits
    (claim,) = (claim for claim in load("t3d") if claim.id == "t3d.s4.peak_derived")
    assert nic.max_burst * nic.host_bus_khz / clocks / 1000 == pytest.approx(claim.value, rel=0.01)


def test_the_t3e_is_the_same_nic():
    assert t3e() == t3d()


def test_the_barrier_tree_is_all_that_its_preset_adds():
    assert t3d_barrier().but(blocks=()) == t3d()


def test_nothing_is_pinned_on_the_t3d():
    host = alpha21064()
    assert [host.price(what) for what in (HostCost.PIN, HostCost.PIN_PAGE, HostCost.UNPIN_PAGE)] == [0, 0, 0]
