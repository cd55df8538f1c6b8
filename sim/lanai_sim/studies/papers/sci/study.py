"""The study of SCI-MPICH: the paper's figures and table drawn again."""

from ...benches.p2p.plots import by_size
from ...drawing import Plot
from ..claims import load
from ..page import Cell, Grid
from ..studies import study
from ..verdicts import Figures
from . import experiments
from .answers import COMPUTED
from .constants import BLOCKS
from .experiments import RINGS
from .stores import RING_NODES

COLUMNS = ("min_use.per_node", "max_use.per_node", "max_use.efficiency")


def _table_2() -> Grid:
    """Its sums over the nodes and its loads are these numbers again, so they do not stand here."""
    lines: dict[str, list[Cell]] = {
        f"{nodes}": [(f"table2.{column}", place) for column in COLUMNS] for place, nodes in enumerate(RINGS)
    }
    return Grid(("nodes", "to the next, MiB/s a node", "to the one before, MiB/s a node", "of the ring, %"), lines)


# The paper's figures drawn again, from ours.

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


STUDY = study("sci", experiments, COMPUTED, of, {"Figure 12 and table 2: a ringlet": (_table_2(),)})
