"""The studies of MPI/MBCF, the T3D and MPI-NP: their claims, answers and constants."""

import json

import pytest

from lanai_host.config import thesis as hosts
from lanai_sim.cli import main
from lanai_sim.studies.benches.p2p import traffic
from lanai_sim.studies.papers import claims, records
from lanai_sim.studies.papers.claims import Kind
from lanai_sim.studies.papers.mbcf import experiments, times
from lanai_sim.studies.papers.mbcf import study as mbcf_study
from lanai_sim.studies.papers.mbcf.npb_build import PROGRAMS
from lanai_sim.studies.papers.mbcf.primitives import LATENCY_SIZES, STREAM_SIZES
from lanai_sim.studies.papers.mbcf.study import STUDY
from lanai_sim.studies.papers.mpi_np import host_work
from lanai_sim.studies.papers.mpi_np import study as mpi_np_study
from lanai_sim.studies.papers.mpi_np.host_work import thesis
from lanai_sim.studies.papers.mpi_np.study import STUDY as MPI_NP_STUDY
from lanai_sim.studies.papers.records import Record
from lanai_sim.studies.papers.t3d import study
from lanai_sim.studies.papers.verdicts import ByShape

WHO = ("theirs", "ours")


def made_up():
    """A figure of each name that the experiments give."""
    found = {}
    for way in ("sr", "nsr"):
        found |= {f"{who}.rtt.{way}.{size}": 100.0 for who in WHO for size in experiments.ROUND_TRIP_SIZES}
        found |= {f"{who}.bandwidth.{way}.{size}": 10.0 for who in WHO for size in experiments.BANDWIDTH_SIZES}
        found |= {f"theirs.half_duplex.{way}.{size}": 9.0 for size in experiments.BANDWIDTH_SIZES}
    for what, sizes in (("oneway", LATENCY_SIZES), ("full", STREAM_SIZES), ("half", STREAM_SIZES)):
        found |= {f"theirs.{what}.{kind}.{size}": 10.0 for kind in ("write", "fifo") for size in sizes}
    for program in PROGRAMS:
        for what in ("written_percent", "messages", "bytes"):
            found |= {f"theirs.npb.{program.name}.{which}.{what}": 50.0 for which in ("S", "W", "any_source.W")}
    for name in times.WHY:
        found |= {f"theirs.npb.{name}.{what}": 20.0 for what in ("seconds", "nsr.seconds", "mops", "nsr.mops")}
    return found | {
        f"theirs.kernel.{name}.{what}": 50.0 for name in experiments.KERNELS for what in ("written_percent", "ms")
    }


def test_each_claim_has_an_answer_or_a_reason():
    found = STUDY.answer(made_up())
    assert [one.claim.id for one in found] == [claim.id for claim in claims.load("mbcf")]
    assert all(one.answered or len(one.why) > 10 for one in found)
    assert "No experiment or test yet." not in {one.why for one in found}
    text = STUDY.page(Record(made_up()))
    in_tables = {name for section in STUDY.frame.sections for grid in section.grids for name in grid.claims}
    assert all(one.short in in_tables or f"`{one.short}`" in text for one in found)


def test_nine_tenths_of_what_is_not_context_are_answered():
    """By a figure or a test."""
    found = [one for one in STUDY.answer(made_up()) if one.claim.kind is not Kind.CONTEXT]
    assert sum(one.answered for one in found) >= 0.9 * len(found)


@pytest.mark.slow
def test_what_the_paper_sees_shows():
    """Round trips are theirs within 6 percent, requests shorten each of them, and they do not cost
    streams much bandwidth."""
    found = experiments.round_trip(experiments.theirs(), True)
    found |= experiments.bandwidth(experiments.theirs("switching-hub"), experiments.BANDWIDTH_SIZES, True)
    published = {claim.id: claim.value for claim in claims.load("mbcf")}
    for way in ("sr", "nsr"):
        for size in experiments.ROUND_TRIP_SIZES:
            assert found[f"theirs.rtt.{way}.{size}"] == pytest.approx(published[f"mbcf.t4_1.{way}.{size}"], rel=0.06)
    assert found["theirs.rtt.sr.0"] == pytest.approx(71, rel=0.03)
    for name in ("requests_help", "no_requests_in_streams"):
        way = STUDY.ways()[f"mbcf.s4_2.{name}"]
        assert isinstance(way, ByShape)
        holds, seen = way.verdict(found)
        assert holds, seen


@pytest.mark.slow
def test_receives_that_name_no_source_get_nothing_by_remote_write():
    """Table 4.3, MG."""
    way = STUDY.ways()["mbcf.t4_3.mg"]
    assert isinstance(way, ByShape)
    named = {f"theirs.kernel.mg_named.{what}": 0.0 for what in ("written_percent", "ms")}  # not measured here
    holds, seen = way.verdict(named | experiments.kernels(True))
    assert holds, seen


@pytest.mark.slow
def test_primitives_are_theirs():
    """Tables 2.1 and 2.2. Two cells are left out: half duplex, 16 bytes of either primitive cost
    their sender more than 4 or 64 do."""
    found = experiments.raw()
    published = {claim.id: claim.value for claim in claims.load("mbcf")}
    for claims_name, figures, sizes in mbcf_study.RAW:
        for kind in ("write", "fifo"):
            for size in sizes:
                if (figures, size) == ("half", 16):
                    continue
                theirs = published[f"mbcf.{claims_name.format(kind)}.{size}"]
                bound = 0.06 if figures == "half" else 0.05
                assert found[f"theirs.{figures}.{kind}.{size}"] == pytest.approx(theirs, rel=bound), (
                    figures,
                    kind,
                    size,
                )


@pytest.mark.slow
def test_collisions_are_what_the_paper_saw_on_a_hub():
    """Table 4.2, half duplex, messages of one packet: within 15 percent. Where NICs take turns they
    are more than that above it."""
    published = {claim.id: claim.value for claim in claims.load("mbcf")}
    for setting, near in ((experiments.theirs("csma"), True), (experiments.theirs("hub"), False)):
        found = experiments.bandwidth(setting, (1024,), False, "half_duplex")
        for way in ("sr", "nsr"):
            ratio = found[f"theirs.half_duplex.{way}.1024"] / published[f"mbcf.t4_2.{way}h.1024"]
            assert (0.85 < ratio < 1.15) == near, (way, ratio)


# `lanai paper t3d`: its claims, its sizes, and the whole run behind slow.


def test_sizes_are_those_of_the_paper():
    """T3-B1, T3-G2, T3-G6: what the three figures of the paper show, which prints no latency."""
    values = {claim.id.removeprefix("t3d."): claim for claim in claims.load("t3d")}
    sizes = study.LATENCY_SIZES
    assert (sizes[0], sizes[-1], sizes.step) == values["s4.latency_sizes"].values
    sizes = study.MEDIUM_SIZES
    assert (sizes[0], sizes[-1], sizes.step) == values["s4.medium_sizes"].values
    sizes = study.LARGE_SIZES
    assert (sizes[0], sizes[-1]) == values["s4.large_sizes"].values
    assert values["s4.processors"].value == study.RANKS


def test_constants_are_those_of_the_device():
    figures = study.figures(True)
    assert (figures["design.slots_per_pair"], figures["design.send_levels"]) == (1, 2)
    assert (figures["design.alignment"], figures["design.alignment_first"]) == (4, 8)


def test_experiments_have_names_of_their_own():
    names = [one.name for one in study.EXPERIMENTS]
    assert len(set(names)) == len(names)


@pytest.mark.slow
def test_the_quick_study_answers_24_claims(tmp_path):
    """The bars: what is fitted is met, 107 MB/s at 1 MB and 100 MB/s at 100 kB, and the shape between. What is not
    fitted is as it was found: puts by stores, and gets that fetch words, which the host's prices decide."""
    file = tmp_path / "figures.json"
    assert main(["paper", "t3d", "--quick", "--jobs", "2", "--json", str(file)]) == 0
    figures = json.loads(file.read_text())["figures"]
    assert figures["paper.t3d.answered"] >= 24
    found = {name.removeprefix("paper.t3d.figure."): value for name, value in figures.items()}
    assert found["bandwidth_MBps.1000000"] == pytest.approx(107, rel=0.02)
    assert found["bandwidth_MBps.100000"] == pytest.approx(100, rel=0.01)
    assert found["bandwidth_MBps.1000000"] >= 0.98 * found["put_MBps"]
    assert 5 <= found["put_MBps"] / found["get_MBps"] <= 7
    assert found["choices.get_MBps"] < 0.8 * found["get_MBps"]
    for name in ("put_MBps", "bandwidth_MBps.100000"):
        assert found[f"choices.{name}"] == pytest.approx(found[name], rel=0.01)
    for size in study.MEDIUM_QUICK:
        assert found[f"time_us.{size}"] == pytest.approx(65 + size / 107, rel=0.1)


# The thesis's policies, hosts and order of calls.


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


PAGE = MPI_NP_STUDY.record.parents[1] / "design" / "mpi-np.md"


def rows(text):
    table = text.partition("| as it is |")[2].partition("\n\n")[0]
    lines = [line.split("|")[1:-1] for line in table.splitlines()[2:]]
    return {line[0].strip(): [float(cell) if cell.strip() else None for cell in line[1:-1]] for line in lines}


def needed(figures, code):
    return mpi_np_study._needed(figures[f"{code}.nic_us"], figures[f"{code}.nic_us.133"])


def test_the_table_is_what_the_record_gives():
    figures = dict(records.read(MPI_NP_STUDY.record, "mpi-np").figures)
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
            mpi_np_study._factor(figures), *(needed(figures, f"{code}.ours") for code in codes)
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
    thick = traffic.lost(thesis(), 65536)
    hosts = traffic.lost(host_work.thin(thesis()), 65536)
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
        holds, seen = MPI_NP_STUDY.ways()[f"mpi-np.{claim}"].verdict(figures)
        assert not holds, "neither is ahead"
        assert "bip" in seen
