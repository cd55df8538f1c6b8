"""The whole study: run every experiment, answer every claim, draw, and word the page."""

from collections.abc import Mapping
from dataclasses import replace

from ...benches.p2p import plots
from ...benches.p2p.plots import STAGES, by_size
from ...drawing import Plot
from .. import verdicts
from ..page import Frame, Grid, Section
from ..studies import Study
from . import answers, experiments

# The thesis's figures, in its order.

SECTIONS = (
    Section(
        "Figures 3.3 and 3.4: programmed writes against DMA",
        plots={
            "fig3-3-pio-dma-latency": (
                "Latency of a small message by its way into the NIC. DMA begins to win where the curves cross: in the "
                "thesis below the crossing by send overhead, here above it."
            ),
            "fig3-3-pio-lines": (
                "Send overhead by programmed writes, word by word. Combined writes end at cache lines, hence the "
                "steps of 32 bytes."
            ),
            "fig3-4-pio-dma-send-overhead": (
                "Host overhead of a send by its way, with the thesis's crossing at 1,024 bytes. The price of pinning a "
                "page is fitted on it, and on nothing else."
            ),
            "fig3-4-pio-dma-receive-overhead": (
                "Host overhead of a receive by its way. Reading the NIC's memory costs more than DMA from some words "
                "on; in the thesis it does at all sizes."
            ),
        },
    ),
    Section(
        "Figures 4.2 to 4.4: bandwidth, overhead, latency",
        plots={
            "fig4-2-bandwidth": (
                "One-way bandwidth, with the thesis's peaks of both versions. Pinning sets the pace; with pages kept "
                "pinned the host bus does."
            ),
            "fig4-3-send-overhead": (
                "Host overhead of a send. It follows the words up to the threshold of 1,024 bytes, then the pages "
                "that are pinned."
            ),
            "fig4-4-latency": (
                "Latency of small messages, with the one number that the thesis prints. Ours is far below it."
            ),
        },
    ),
    Section(
        "Figures 4.5 and 4.6: where the time goes",
        plots={
            "fig4-5-break-down": (
                "The parts of the latency of 4 bytes. In the thesis the NICs' computation is three quarters of 68 us."
            ),
            "fig4-6-slowdown": (
                "The speed of code that is half memory accesses, beside DMA. One engine slows it by half, two stop it, "
                "as in the thesis."
            ),
        },
    ),
    Section(
        "Section 3.6: packets passed on",
        plots={
            "np51-cut-through": (
                "Latency with packets passed on as they come, as in Trapeze, and as whole packets. A page gains most."
            )
        },
    ),
    Section(
        "Section 4.4: a processor of 133 MHz",
        says="At 33 MHz by the thesis's policies, at 133 MHz by the project's defaults.",
        grids=(
            Grid(
                ("the NICs' part of a small message, us", "33 MHz", "133 MHz"),
                {"published / ours": ("s4_3.nic_time_derived", "s4_4.r4300_nic_time")},
            ),
        ),
    ),
)


# The thesis's figures drawn again: its policies beside the project's defaults and its first
# version.

Figures = Mapping[str, float]
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


FRAME = Frame(
    title="MPI-NP, measured again",
    believe=(
        "what each mechanism costs and gains: how the LBUS is shared, how queues are searched, where a body "
        "goes by DMA."
    ),
    doubt=("absolute times. Our firmware is seven times as fast as the thesis's, and one prediction of nine is near."),
    open="why a send costs the thesis's host 4 us: by a semaphore or by a dearer call, its text does not decide.",
    intro=(
        "MPI-NP (A. Wijeyeratnam, University of British Columbia, 1999) put the protocol of MPI on the processor of a "
        "Myrinet NIC. `lanai paper mpi-np` runs its experiments on our gateware and firmware, and writes this page.\n\n"
        "Time is simulated: 33 MHz processors without cache, 160 MB/s links, a 32-bit 33 MHz host bus, hosts "
        "that cost what `HostConfig` "
        "says. *Thesis's policies* means that pages are pinned and unpinned for each message, every message is "
        "acknowledged, small ones go "
        "without credit, used page entries are marked, a receive asks its sender, a body is written only into an empty "
        "channel, and a round trip sends before it posts its receive. The price of a page is fitted on figure 3.4 "
        "(`--host thesis`); no other number is fitted on the thesis. *Defaults* is what the project does otherwise. "
        "The program does not wait for its processor's cache to be written back, which the thesis's timings include."
    ),
    ours="thesis's policies",
    default="defaults",
    experiments=experiments.EXPERIMENTS,
    sections=SECTIONS,
)

STUDY = Study(
    paper="mpi-np",
    frame=FRAME,
    experiments=experiments,
    ways=answers.ways,
    draw=of,
    why_not=verdicts.reasons("mpi-np", answers.WHY_NOT, answers.CONTEXT_WHY_NOT),
    revision=2,
    quick_minutes=1,
)
