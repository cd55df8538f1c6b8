"""The paper's figures and tables, in its order."""

from ..sections import Cell, Grid, Section
from .experiments import RINGS

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
