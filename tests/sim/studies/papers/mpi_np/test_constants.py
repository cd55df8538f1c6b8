"""The thesis's policies, hosts and order of calls."""

import pytest

from lanai_host.config import thesis as hosts
from lanai_sim.studies.benches.p2p import traffic
from lanai_sim.studies.papers import records
from lanai_sim.studies.papers.mpi_np import answers, host_work
from lanai_sim.studies.papers.mpi_np.host_work import thesis
from lanai_sim.studies.papers.mpi_np.study import STUDY


def test_the_thesis_asks_first_and_pins_for_every_message():
    """NP-22, NP-43, NP-49, NP-16, NP-46, NP-B1."""
    setting = thesis()
    assert setting.host == hosts()
    assert (setting.host.ask_first, setting.host.pio_when_empty, setting.host.pinned_cache_pages) == (True, True, 0)
    assert (setting.mcp.ack_slots, setting.mcp.mark_entries, setting.send_first) == (1, 1, True)


@pytest.mark.ci
def test_a_page_costs_what_figure_3_4_says():
    """A send of 1024 bytes keeps the host as long by DMA as by PIO."""
    pio, dma = (
        traffic.trips(traffic.setting_for(way, thesis()), (1024,), 1)[1024].send for way in (traffic.PIO, traffic.DMA)
    )
    assert dma == pytest.approx(pio, rel=0.005)


@pytest.mark.ci
def test_a_receive_that_is_posted_after_the_send_makes_the_trip_longer():
    """NP-B1."""
    after, before = (traffic.trips(thesis().but(send_first=first), (4,), 1)[4].one_way for first in (True, False))
    assert after > before + 1


# The table of slower code in the design record of MPI-NP: the figures of the record.


PAGE = STUDY.record.parents[1] / "design" / "mpi-np.md"


def rows(text):
    table = text.partition("| as it is |")[2].partition("\n\n")[0]
    lines = [line.split("|")[1:-1] for line in table.splitlines()[2:]]
    return {line[0].strip(): [float(cell) if cell.strip() else None for cell in line[1:-1]] for line in lines}


def needed(figures, code):
    return answers._needed(figures[f"{code}.nic_us"], figures[f"{code}.nic_us.133"])


def test_the_table_is_what_the_record_gives():
    figures = dict(records.read(STUDY.record, "mpi-np").figures)
    codes = ("general", "compiler.1", "compiler.0")
    bandwidth = "bandwidth_MBps.262144"
    wanted = {
        "the NICs' part of 4 bytes, us": [
            figures["thesis.stage_us.nic_send"] + figures["thesis.stage_us.nic_receive"],
            *(figures[f"{code}.thesis.nic_us"] for code in codes),
        ],
        "4 bytes one way, us": [figures["thesis.latency_us.4"], *(figures[f"{c}.thesis.latency_us.4"] for c in codes)],
        "256 KB, MB/s": [
            figures[f"version.second.{bandwidth}"], None, *(figures[f"{c}.second.{bandwidth}"] for c in codes[1:])
        ],
        "256 KB by the first version, MB/s": [
            figures[f"version.first.{bandwidth}"], None, *(figures[f"{c}.first.{bandwidth}"] for c in codes[1:])
        ],
        "speed needed to match BIP, times": [
            answers._factor(figures), *(needed(figures, f"{code}.ours") for code in codes)
        ],
    }  # fmt: skip
    found = rows(PAGE.read_text())
    assert list(found) == list(wanted)
    for name, cells in wanted.items():
        assert found[name] == [None if cell is None else pytest.approx(cell, abs=0.051) for cell in cells], name


# Thin or thick, measured: the same program on the same NICs and hosts, with either firmware.


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
