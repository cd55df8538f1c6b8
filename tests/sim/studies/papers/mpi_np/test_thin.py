"""Thin or thick, measured: the same program on the same NICs and hosts, with either firmware."""

import pytest

from lanai_sim.studies.papers.mpi_np import answers, host_work
from lanai_sim.studies.papers.mpi_np.host_work import thesis


@pytest.mark.ci
def test_a_long_message_takes_more_from_a_program_that_computes_where_hosts_meet():
    """Only pinning is left of MPI-NP's gain. With BIP the transfer waits for the call."""
    thick = host_work.lost(thesis(), 65536)
    hosts = host_work.lost(host_work.thin(thesis()), 65536)
    assert thick["lost_us.send"] < 0.5 * hosts["lost_us.send"]
    assert thick["lost_us.receive"] < 0.5 * hosts["lost_us.receive"]


def test_what_is_answered_by_bip_is_measured():
    figures = dict.fromkeys(
        [
            "thesis.latency_us.4", "ours.latency_us.4", "bip.latency_us.4", "thesis.send_overhead_us.4",
            "bip.send_overhead_us.4", "clock.latency_us.nic.33", "clock.latency_us.nic.133", "bip.clock_us.33",
            "bip.clock_us.133", *(f"{who}.lost_us.{side}.65536" for who in ("bip", "thesis")
                                  for side in ("send", "receive")),
        ],
        2.5,
    )  # fmt: skip
    for claim in ("s4_3.latency_high", "s4_2.overhead_vs_bip", "s5_1.tradeoff", "s4_4.gains_more"):
        holds, seen = answers.BY_CLAIM[claim].verdict(figures)
        assert not holds, "neither is ahead"
        assert "bip" in seen
