"""The study of MPI-NP: what its claims' answers compute, and the thesis's figures drawn again."""

from dataclasses import replace
from math import inf

from ...benches.p2p import plots
from ...benches.p2p.plots import STAGES, by_size
from ...drawing import Plot
from ..page import Grid
from ..studies import study
from ..verdicts import Computed, Figures
from . import experiments


def _factor(figures: Figures) -> float:
    slow = figures["ours.stage_us.nic_send"] + figures["ours.stage_us.nic_receive"]
    return _needed(slow, figures["clock.nic_us.133"])


def _needed(slow: float, fast: float) -> float:
    """The clock, over 33 MHz, at which the NICs' part of 4 bytes is 2 us: from 33 and 133 MHz, by a
    part that stays and one that scales."""
    work = (slow - fast) / (1 / 33 - 1 / 133)
    return work / (2 - (slow - work / 33)) / 33


def _nic_time(figures: Figures) -> float:
    return figures["thesis.stage_us.nic_send"] + figures["thesis.stage_us.nic_receive"]


def _latency_crossover(figures: Figures) -> float:
    """Return where DMA begins to win by latency; infinity if it never does, in which case there is no
    figure."""
    figures["ways.dma_latency_us.4"]  # it was measured at all
    return figures.get("ways.crossover_bytes.latency.dma", inf)


def _where_by_latency(figures: Figures) -> str:
    latency = _latency_crossover(figures)
    return "DMA never wins up to 4096 bytes" if latency == inf else f"DMA wins from {latency:.0f} bytes"


def _staircase(figures: Figures) -> bool:
    small = [figures[f"thesis.send_overhead_us.{size}"] for size in (4, 256, 1024)]
    large = [figures[f"thesis.send_overhead_us.{size}"] for size in (2048, 8192, 16384, 32768)]
    return small == sorted(small) and large == sorted(large) and large[0] >= small[-1]


COMPUTED: Computed = {
    "s4_3.nic_time_derived": _nic_time,
    "rest": lambda f: f["thesis.latency_us.4"] - _nic_time(f),
    "s4_1.batching_gain": lambda f: f["version.second.bandwidth_MBps.peak"] / f["version.first.bandwidth_MBps.peak"],
    "s4_3.slowdown_one_dma": lambda f: 100 * (f["np.np_slowdown.one_dma"] - 1),
    "s5_1.np_speed_needed": _factor,
    "general_factor": lambda f: _needed(f["general.ours.nic_us"], f["general.ours.nic_us.133"]),
    "called_factor": lambda f: _needed(f["compiler.1.ours.nic_us"], f["compiler.1.ours.nic_us.133"]),
    "where_by_latency": _where_by_latency,
    "s3_6.latency_crossover_lower": lambda f: _latency_crossover(f) < f["ways.crossover_bytes.send_overhead.dma"],
    "s3_6.recv_always_dma": lambda f: f["ways.crossover_bytes.receive_overhead.dma"] <= 4,
    "s4_1.drop_beyond_buffer": lambda f: (
        f["rules.buffer.on.bandwidth_MBps.16384"] < 0.99 * f["rules.buffer.on.bandwidth_MBps.4096"]
    ),
    "s4_1.partial_batch_waste": lambda f: f["batch.us_of_page_that_begins_an_entry"] > f["batch.us_of_other_page"],
    "s4_1.pin_limits_bandwidth": lambda f: (
        f["version.kept.bandwidth_MBps.peak"] > f["version.second.bandwidth_MBps.peak"]
        and f["version.unmarked.bandwidth_MBps.peak"] > f["version.second.bandwidth_MBps.peak"]
    ),
    "s4_2.overhead_shape": _staircase,
    "s4_3.latency_high": lambda f: f["thesis.latency_us.4"] > f["bip.latency_us.4"],
    "s4_2.overhead_vs_bip": lambda f: (
        f["bip.send_overhead_us.4"] < f["thesis.send_overhead_us.4"]
        and f["bip.lost_us.send.65536"] > f["thesis.lost_us.send.65536"]
    ),
    "s4_2.overhead_reason": lambda f: (
        f["rules.none.overhead_us.4"] <= f["bip.send_overhead_us.4"] < f["rules.empty.overhead_us.4"]
    ),
    "s5_1.tradeoff": lambda f: (
        f["bip.latency_us.4"] < f["thesis.latency_us.4"]
        and f["bip.lost_us.send.65536"] + f["bip.lost_us.receive.65536"]
        > f["thesis.lost_us.send.65536"] + f["thesis.lost_us.receive.65536"]
    ),
    "s4_4.cache_unblocks": lambda f: f["cache.saved_percent.4"] > 10,
    "s4_4.gains_more": lambda f: (
        f["clock.latency_us.nic.33"] / f["clock.latency_us.nic.133"] > f["bip.clock_us.33"] / f["bip.clock_us.133"]
    ),
    "s2_4_2.trapeze_bandwidth": lambda f: (
        f["cut.on.latency_us.4096"] < f["cut.off.latency_us.4096"]
        and f["cut.on.bandwidth_MBps.262144"] > f["cut.off.bandwidth_MBps.262144"]
    ),
    "s3_1.no_cross_channel_blocking": lambda f: (
        f["channels.latency_us.beside_a_full_one"] < 1.25 * f["ours.latency_us.4"]
    ),
    "s3_4.host_table_infeasible": lambda f: f["table.host.latency_us.0"] > f["table.nic.latency_us.0"],
    "s3_4.sequential_search": lambda f: f["search.latency_us.0"] < f["search.latency_us.8"] < f["search.latency_us.32"],
    "s3_7.small_path_needs_empty_ring": lambda f: (
        f["rules.empty.send_overhead_us.2"] > 1.5 * f["rules.empty.send_overhead_us.1"]
    ),
    "s1_2.special_sends_on_nic": lambda f: f["special.host_us.synchronous"] < f["special.host_us.synchronous_by_hosts"],
    "abstract.overlap": lambda f: (
        f["overlap.hidden_percent.receive.nic"] > 90 and f["overlap.hidden_percent.send.nic"] > 90
    ),
}


# The thesis's figures drawn again: its policies beside the project's defaults and its first
# version.

SMALL = 1024
LATENCY, NIC_SHARE = 68, 0.75  # of 4 bytes, in the thesis: microseconds, and the NICs' share of them
SLOWDOWN = "fig4-6-slowdown"
BESIDE_DMA = {"thesis, one edge": {100.0: 1 / 1.5}, "thesis, both edges": {100.0: 0.0}}  # all slots taken


def of(figures: Figures) -> dict[str, Plot]:
    """By file name, in the order of the thesis."""
    same = {
        "p2p." + name.split(".", 1)[1]: value
        for name, value in figures.items()
        if name.startswith(("ways.", "np.", "ours."))
    }
    drawn = plots.of(same)
    found = drawn | {
        "np51-cut-through": Plot(
            "Cut-through delivery (thesis section 3.6)",
            "bytes",
            "us one way",
            {
                "packets passed on as they come": by_size(figures, "cut.on.latency_us"),
                "whole packets": by_size(figures, "cut.off.latency_us"),
            },
            log="xy",
        ),
        "fig4-2-bandwidth": Plot(
            "One-way bandwidth (thesis fig. 4.2)",
            "bytes",
            "MB/s",
            {
                "the thesis's policies": by_size(figures, "thesis.bandwidth_MBps"),
                "first version": by_size(figures, "version.first.bandwidth_MBps"),
                "project's defaults": by_size(figures, "ours.bandwidth_MBps"),
                **_bip(figures, "bandwidth_MBps", 1 << 20),
            },
            marks={"thesis, peak": 70, "thesis, peak of the first version": 60},
            log="x",
        ),
        "fig4-3-send-overhead": Plot(
            "Host overhead of a send (thesis fig. 4.3)",
            "bytes",
            "us",
            {
                "pages pinned for each message": _upto(by_size(figures, "thesis.send_overhead_us"), 32768),
                "pages stay pinned": _upto(by_size(figures, "ours.send_overhead_us"), 32768),
                **_bip(figures, "send_overhead_us", 32768),
            },
            marks={"thesis, later interface": 4},
            log="x",
        ),
        "fig4-4-latency": Plot(
            "Latency of small messages (thesis fig. 4.4)",
            "bytes",
            "us",
            {
                "the thesis's policies": _upto(by_size(figures, "thesis.latency_us"), SMALL),
                "project's defaults": _upto(by_size(figures, "ours.latency_us"), SMALL),
                **_bip(figures, "latency_us", SMALL),
            },
            points={"thesis": {4.0: LATENCY}},
        ),
        "fig4-5-break-down": Plot("Where the time of 4 bytes goes (thesis fig. 4.5)", "us", "", bars=_stages(figures)),
    }
    if SLOWDOWN in drawn:
        found[SLOWDOWN] = replace(drawn[SLOWDOWN], points=BESIDE_DMA)
    return {name: plot for name, plot in found.items() if any(plot.lines.values()) or plot.bars}


def _stages(figures: Figures) -> dict[str, dict[str, float]]:
    """The parts of 4 bytes' latency; of the thesis's only the NICs' is known."""
    settings = {"defaults": "ours", "thesis's policies": "thesis"}
    found = {
        label: {name.replace("_", ", "): figures[f"{setting}.stage_us.{name}"] for name in STAGES}
        for label, setting in settings.items()
        if f"{setting}.stage_us.{STAGES[0]}" in figures
    }
    nics = NIC_SHARE * LATENCY
    return found | {"thesis": {"NICs together": nics, "the rest": LATENCY - nics}} if found else {}


def _bip(figures: Figures, name: str, most: float) -> dict[str, dict[float, float]]:
    """The same of BIP's firmware on these NICs, if it was measured."""
    found = _upto(by_size(figures, f"bip.{name}"), most)
    return {"bip, the thesis's hosts": found} if found else {}


def _upto(points: dict[float, float], most: float) -> dict[float, float]:
    return {size: value for size, value in points.items() if size <= most}


GRIDS = {
    "Section 4.4: a processor of 133 MHz": (
        Grid(
            ("the NICs' part of a small message, us", "33 MHz", "133 MHz"),
            {"published / ours": ("s4_3.nic_time_derived", "s4_4.r4300_nic_time")},
        ),
    )
}
STUDY = study("mpi-np", experiments, COMPUTED, of, GRIDS)
