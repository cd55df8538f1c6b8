"""The whole study: run every experiment, answer every claim, draw, and word the page."""

from collections.abc import Mapping

from ...benches.p2p.plots import by_size
from ...drawing import Plot
from .. import verdicts
from ..claims import load
from ..page import Cell, Frame, Grid, Section
from ..studies import Study
from . import answers, experiments
from .constants import BLOCKS
from .experiments import RINGS
from .stores import RING_NODES

# The paper's figures and tables, in its order.

COLUMNS = ("min_use.per_node", "max_use.per_node", "max_use.efficiency")


def _table_2() -> Grid:
    """Its sums over the nodes and its loads are these numbers again, so they do not stand here."""
    lines: dict[str, list[Cell]] = {
        f"{nodes}": [(f"table2.{column}", place) for column in COLUMNS] for place, nodes in enumerate(RINGS)
    }
    return Grid(("nodes", "to the next, MiB/s a node", "to the one before, MiB/s a node", "of the ring, %"), lines)


SECTIONS = (
    Section(
        "Figure 1: raw transfers",
        plots={
            "fig1-latency": (
                "A put or a get by commands of the adapter, until it has taken effect. Ours asks for what it gets by "
                "commands here; the device loads short gets, as the paper does, a word at a time."
            )
        },
    ),
    Section(
        "Figure 7: datatypes",
        plots={
            "fig7-noncontig": (
                "A vector of doubles by the size of its blocks, beside contiguous memory. The paper reaches 90 % of "
                "contiguous with blocks of 128 bytes, and twice the generic way from 16 bytes on."
            )
        },
    ),
    Section(
        "Figure 9: one-sided communication",
        plots={
            "fig9-latency": (
                "Latency of a call of `sparse` by access size. Windows in memory that the peer cannot reach are "
                "served by messages, which takes several times as long."
            ),
            "fig9-bandwidth": (
                "Bandwidth of the same. The paper has all but puts to shared windows meet at large accesses."
            ),
        },
    ),
    Section(
        "Figure 12 and table 2: a ringlet",
        "`MPI_Put` in `sparse` on `--fabric ring`, by stores, as in the paper. Nothing is fitted on it. A node's own "
        "bus is the limit on 4 nodes, the ring on 8.",
        {
            "fig12-scaling": (
                "MiB/s of the slowest node, by the nodes of a ringlet, with the paper's table. To the node before "
                "means that each packet passes all other nodes, so it falls with their number."
            )
        },
        (_table_2(),),
    ),
)


# The paper's figures drawn again, from ours.

Figures = Mapping[str, float]
CONTIGUOUS = "theirs.noncontig.contiguous"
WINDOWS = {"shared": "shared", "registered": "private, registered", "emulated": "private, by messages"}


def of(figures: Figures) -> dict[str, Plot]:
    """By file name, in the order of the paper."""
    found = {
        "fig1-latency": Plot(
            "Raw latency, put or get and settle (paper fig. 1)",
            "bytes",
            "us",
            {"put": by_size(figures, "raw.put_us"), "get": by_size(figures, "raw.get_us")},
            log="xy",
        ),
        "fig7-noncontig": Plot(
            "A vector of doubles, 256 KiB (paper fig. 7)",
            "bytes of a block",
            "MiB/s",
            _noncontig(figures),
            {"paper: 90 % of contiguous": {128.0: 0.9 * figures.get(CONTIGUOUS, 0)}},
            log="x",
        ),
        "fig9-latency": Plot(
            "Sparse: latency of a call (paper fig. 9)", "bytes", "us", _sparse(figures, "latency_us"), log="xy"
        ),
        "fig9-bandwidth": Plot(
            "Sparse: bandwidth (paper fig. 9)", "bytes", "MiB/s", _sparse(figures, "least"), log="x"
        ),
        "fig12-scaling": Plot(
            "Strided puts of all nodes at once (paper fig. 12, table 2)",
            "nodes",
            "MiB/s a node",
            {
                "ring, to the next": by_size(figures, "ring.least"),
                "ring, to the one before": by_size(figures, "ring.most"),
                "on a switch": by_size(figures, "scaling.least"),
            },
            {"paper, to the next": published("min_use"), "paper, to the one before": published("max_use")},
        ),
    }
    return {name: plot for name, plot in found.items() if any(plot.lines.values())}


def published(use: str) -> dict[float, float]:
    """The paper's bandwidth a node, by nodes."""
    (values,) = (claim.values for claim in load("sci") if claim.id == f"sci.table2.{use}.per_node")
    return dict(zip(map(float, RING_NODES), values, strict=True))


def _noncontig(figures: Figures) -> dict[str, dict[float, float]]:
    curves = {way: by_size(figures, f"theirs.noncontig.{way}") for way in ("direct", "generic")}
    contiguous = figures.get(CONTIGUOUS)
    if contiguous is not None:
        curves["contiguous"] = dict.fromkeys(map(float, BLOCKS), contiguous)
    return curves


def _sparse(figures: Figures, what: str) -> dict[str, dict[float, float]]:
    return {
        f"{operation}, {says}": by_size(figures, f"theirs.sparse.{operation}.{name}.{what}")
        for operation in ("put", "get")
        for name, says in WINDOWS.items()
    }


FRAME = Frame(
    title="SCI-MPICH, measured again",
    believe=("what packing straight into remote memory gains over a copy, and table 2 with one transfer a segment."),
    doubt=(
        "the ring with many transfers a segment, which is up to 17 % slow, and strided stores: none here is "
        "mis-aligned, as the paper's worst are."
    ),
    open=("blocks of 8 bytes, and which partners the paper's random ones were."),
    intro=(
        "SCI-MPICH (Worringen, Gäer and Reker, 2002) packs datatypes straight into remote memory and has the "
        "one-sided communication of MPI-2. This page runs its experiments on our adapter and the device `sci`, and "
        "sets what it published beside what comes out. `lanai paper sci` writes it. "
        "[The mechanisms](mechanisms.md#sci) are on a page of their own, [what differs](../reference/sci.md) on "
        "that of the device.\n\n"
        "*SCI* stands for `--nic sci_d330 --host pentium3_800`: a link of 664 MB/s, a host bus of 528 MB/s, and six "
        "constants that are taken from the paper: the set-up of a store on the host bus and the latency of a cable, "
        "each from the best of the strided stores of one size; the price of a copied byte from figure 7; `streams` and "
        "`stream_slots` of the adapter, so that the worst of the strided stores of 8 bytes come out; and, for puts "
        "by commands alone, the set-up of a read on the host bus from table 2. *Myrinet* is the project's "
        "testbed, `lanai41` and `pentium2_266`. Both have a switch; only the experiment `ringlet` has the fabric "
        "`ring`. The processor stores messages and puts through the aperture, loads gets of at most 64 bytes, and has "
        "longer ones put by the target. All strides but the best of each size, and stores without write combining, are "
        "predicted. Table 2 is measured by MPI_Put in `sparse` on rings, as in the paper, which stores. The set-up of "
        "a read does not move it: with 5 instead of 56 each of 4 nodes has 115.9 MiB/s instead of 115.8. "
        "[Remote memory](../reference/remote.md#on-a-ring) says why a ring is most efficient with 5 nodes without MPI, "
        "and the paper's with 6. Bandwidths are in MiB/s, as in the paper. Time is simulated."
    ),
    ours="SCI",
    default="Myrinet",
    experiments=experiments.EXPERIMENTS,
    sections=SECTIONS,
)

STUDY = Study(
    paper="sci",
    frame=FRAME,
    experiments=experiments,
    ways=answers.ways,
    draw=of,
    why_not=verdicts.reasons("sci", answers.WHY_NOT, answers.CONTEXT_WHY_NOT),
    revision=5,
    quick_minutes=1,
)
