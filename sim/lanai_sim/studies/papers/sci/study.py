"""The study of SCI-MPICH: the paper's figures and table drawn again."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from ...benches.p2p.plots import by_size
from ...drawing import Plot
from .. import claims
from ..claims import load
from ..page import Cell, Grid
from ..studies import study
from ..verdicts import NEAR, ByShape, Computed, Figures
from . import experiments, stores
from .constants import BLOCKS, NODES
from .experiments import RINGS, SEEDS, SYSTEMS
from .stores import CHUNKS, L2, RING_NODES

ROWS = RINGS  # nodes of the rows of table 2
ENDS = (RINGS[0], RINGS[-1])
SUFFICES = 0.9  # of what a node of the shortest ringlet has: a ringlet suffices its nodes
SLOW_ENOUGH = 6  # nodes beyond which the paper wants more than 166 MHz
LARGE = 65536  # bytes of the largest access of sparse
GOOD = 0.9  # of contiguous, as direct_pack_ff has at 128 bytes
GROWS = 1.2


def over_generic(figures: Figures, setting: str = "theirs") -> dict[float, float]:
    """Direct over generic, by block size."""
    direct, generic = (by_size(figures, f"{setting}.noncontig.{way}") for way in ("direct", "generic"))
    if not direct:
        raise KeyError("noncontig")
    return {block: direct[block] / generic[block] for block in direct}


def with_dear_blocks(figures: Figures) -> float:
    """Return direct over generic at blocks of 16 bytes if each block had a price that made both as fast at 8."""
    direct, generic = (by_size(figures, f"theirs.noncontig.{way}") for way in ("direct", "generic"))
    price = 8 / generic[8] - 8 / direct[8]
    return (16 / generic[16]) / (16 / direct[16] + price)


def sparse(figures: Figures, window: str, what: str, size: int) -> float:
    """Return a figure of `window`, such as "put.shared"."""
    return figures[f"theirs.sparse.{window}.{what}.{size}"]


def strided(figures: Figures, access: int) -> dict[float, float]:
    """MiB/s of stores of `access` bytes through the aperture, by stride."""
    plain = {name.removesuffix("_mibps"): rate for name, rate in figures.items()}
    found = by_size(plain, f"aperture.combined.store.{access}")
    if not found:
        raise KeyError("aperture")
    return found


def with_gaps(figures: Figures, access: int) -> dict[float, float]:
    return {stride: rate for stride, rate in strided(figures, access).items() if stride > access}


def spread(access: int) -> ByShape:
    """Return the answer to a claim that the stride matters for writes of so many bytes."""

    def holds(figures: Figures) -> bool:
        rates = with_gaps(figures, access).values()
        return min(rates) < 0.5 * max(rates)

    def saw(figures: Figures) -> str:
        rates = with_gaps(figures, access)
        worst, best = min(rates, key=lambda stride: rates[stride]), max(rates, key=lambda stride: rates[stride])
        return f"{rates[worst]:.1f} MiB/s (stride {worst:.0f}) to {rates[best]:.1f} (stride {best:.0f})"

    return ByShape(holds, saw)


def with_misaligned(figures: Figures) -> str:
    """The spread of aligned strides, and mis-aligned ones."""
    saw = spread(256).saw
    assert callable(saw)
    rates = ", ".join(f"{figures[f'aperture.combined.misaligned.{stride}_mibps']:.0f}" for stride in stores.MISALIGNED)
    return f"{saw(figures)}; {rates} with strides of {', '.join(map(str, stores.MISALIGNED))}"


def converged(figures: Figures) -> list[float]:
    return [sparse(figures, window, "least", LARGE) for window in ("put.emulated", "get.emulated", "get.shared")]


def row(figures: Figures, use: str) -> list[float]:
    """MiB/s a node by the number of nodes. `use`: "least" or "most" of the ring."""
    return [figures[f"ring.{use}.{nodes}"] for nodes in ROWS]


def summed(figures: Figures, use: str) -> list[float]:
    return [nodes * rate for nodes, rate in zip(ROWS, row(figures, use), strict=True)]


def shares(figures: Figures, use: str) -> list[float]:
    """Percent of the ring's nominal bandwidth. Of the least use: what the nodes offer, as nothing but their own
    buses slows them down."""
    return [100 * rate / figures["design.ring_166"] for rate in summed(figures, use)]


def without_mpi(figures: Figures, use: str) -> str:
    names = {"least": "min_use_mibps", "most": "max_use_mibps"}
    rates = [figures.get(f"table_2.ring.{nodes}.{names[use]}") for nodes in ENDS]
    known = ", ".join(f"{rate:.1f}" for rate in rates if rate is not None)
    return f"; without MPI {known} MiB/s a node of {ENDS[0]} and {ENDS[-1]}" if known else ""


def rows(name: str, values: Callable[[Figures], Sequence[float]], unit: str, use: str) -> ByShape:
    """Return the answer to a column of table 2: each row within 10 percent. `use`: "least" or "most"."""
    (claim,) = (claim for claim in claims.load("sci") if claim.id == f"sci.table2.{name}")

    def holds(figures: Figures) -> bool:
        return all(abs(ours / theirs - 1) < NEAR for ours, theirs in zip(values(figures), claim.values, strict=True))

    return ByShape(holds, lambda figures: listed(values, unit)(figures) + without_mpi(figures, use), values=values)


def sufficient(figures: Figures) -> float:
    """Nodes of the longest ringlet that suffices its nodes."""
    rates = row(figures, "most")
    return float(max(nodes for nodes, rate in zip(ROWS, rates, strict=True) if rate > SUFFICES * rates[0]))


def sensible(figures: Figures) -> float:
    """Nodes of the longest ringlet at 200 MHz that gives a node what six nodes have at 166 MHz."""
    enough = figures[f"table_2.ring.{SLOW_ENOUGH}.max_use_mibps"]
    return float(max(nodes for nodes in stores.FASTER if figures[f"table_2.ring_200.{nodes}.max_use_mibps"] >= enough))


def by_chance(figures: Figures, how: str = "chance") -> list[float]:
    return [figures[f"ring.{how}.{seed}"] for seed in range(SEEDS)]


def listed(values: Callable[[Figures], Sequence[float]], unit: str = "MiB/s") -> Callable[[Figures], str]:
    return lambda figures: ", ".join(f"{value:.1f}" for value in values(figures)) + f" {unit}"


def _adjacent_are_best(figures: Figures) -> bool:
    return all(
        strided(figures, access)[access] > 0.99 * max(with_gaps(figures, access).values()) for access in (8, 256)
    )


def _best_stride(figures: Figures) -> float:
    """Return the greatest common divisor of the strides with the best bandwidth."""
    rates = strided(figures, 256)
    best = max(rates.values())
    return float(math.gcd(*(int(stride) for stride, rate in rates.items() if rate > 0.99 * best)))


def grows(figures: Figures) -> float:
    return sparse(figures, "get.shared", "latency_us", 1024) / sparse(figures, "get.shared", "latency_us", 8)


# Blocks elsewhere: on other messaging systems, within a node, in a cache.


def shares_of(figures: Figures, system: str) -> dict[float, float]:
    """Bandwidth of blocks over contiguous, by block size."""
    found = by_size(figures, f"others.{system}.share")
    if not found:
        raise KeyError("others")
    return found


def good_throughout(figures: Figures) -> list[str]:
    return [system for system in SYSTEMS if min(shares_of(figures, system).values()) > GOOD]


def in_node(figures: Figures) -> dict[float, float]:
    """Direct over contiguous between ranks of a node, by block size."""
    found = by_size(figures, "node.direct")
    if not found:
        raise KeyError("node")
    return {block: rate / figures["node.contiguous"] for block, rate in found.items()}


def _others(figures: Figures) -> str:
    worst = (min(shares_of(figures, system).items(), key=lambda item: item[1]) for system in SYSTEMS)
    return "; ".join(
        f"{system} at least {100 * share:.0f} % of contiguous (blocks of {block:.0f} bytes)"
        for system, (block, share) in zip(SYSTEMS, worst, strict=True)
    )


def _best_in_node(figures: Figures) -> str:
    found = in_node(figures)
    return f"{min(found.values()):.3f} to {max(found.values()):.3f} times contiguous"


def _fills(figures: Figures) -> str:
    kinds = []
    for kind in ("unequal", "equal"):
        rates = by_size(figures, f"cache.{kind}")
        kinds.append(f"{kind} blocks " + ", ".join(f"{rates[chunk]:.2f}" for chunk in CHUNKS))
    sizes = ", ".join(f"{chunk // 1024}" for chunk in CHUNKS)
    return f"bytes filled a byte with chunks of {sizes} KiB: {'; '.join(kinds)}"


def _thrashes(figures: Figures) -> bool:
    """Beyond some size of a chunk unequal blocks cost the cache more, and equal ones never do."""
    unequal, equal = (
        figures[f"cache.{kind}.{L2}"] / figures[f"cache.{kind}.{CHUNKS[0]}"] for kind in ("unequal", "equal")
    )
    return unequal > GROWS > equal


COMPUTED: Computed = {
    "s2.read_fraction": lambda f: f["pio.load_MiBps"] < 0.5 * f["pio.store_MiBps"],
    "s2.sequential_best": ByShape(
        _adjacent_are_best,
        lambda f: "; ".join(
            f"{access} bytes: {strided(f, access)[access]:.1f} MiB/s one behind the other, "
            f"at most {max(with_gaps(f, access).values()):.1f} with gaps"
            for access in (8, 256)
        ),
    ),
    "s3_2.copies_generic": lambda f: f["copies.generic"] - f["copies.contiguous"],
    "s3_3.copies_direct": lambda f: max(f["copies.short"], f["copies.long"]) - f["copies.contiguous"],
    "over_generic": lambda f: over_generic(f)[8],
    "with_dear_blocks": with_dear_blocks,
    "worst_of_8": lambda f: min(with_gaps(f, 8).values()),
    "s3_4.generic_wins_8": lambda f: over_generic(f)[8] < 1,
    "s4_3.strided_write_8": spread(8),
    "s4_3.strided_write_256": replace(spread(256), saw=with_misaligned),
    "s4_3.best_stride": _best_stride,
    "s4_3.write_combining_off": lambda f: (
        100 * (1 - f["aperture.uncombined.store.256.256_mibps"] / f["aperture.combined.store.256.256_mibps"])
    ),
    "s4_3.get_spike": lambda f: (
        sparse(f, "get.shared", "latency_us", 24)
        > 1.1 * max(sparse(f, "get.shared", "latency_us", size) for size in (16, 32))
    ),
    "s4_3.get_latency_grows": lambda f: grows(f) > 4,
    "grows": grows,
    "s4_3.private_latency": lambda f: (
        sparse(f, "put.emulated", "latency_us", 8) > 5 * sparse(f, "put.shared", "latency_us", 8)
    ),
    "s4_3.converge": ByShape(lambda f: min(converged(f)) > 0.9 * max(converged(f)), listed(converged)),
    "s4_3.put_below_raw": lambda f: sparse(f, "put.shared", "least", 8) < strided(f, 8)[16],
    "s4_3.fence_cheapest": lambda f: (
        sparse(f, "put.shared", "latency_us", 8)
        <= sparse(f, "put.pscw", "latency_us", 8)
        < 1.05 * sparse(f, "put.shared", "latency_us", 8)
    ),
    "table2.min_use.per_node": rows("min_use.per_node", lambda f: row(f, "least"), "MiB/s", "least"),
    "table2.min_use.accumulated": rows("min_use.accumulated", lambda f: summed(f, "least"), "MiB/s", "least"),
    "table2.max_use.per_node": rows("max_use.per_node", lambda f: row(f, "most"), "MiB/s", "most"),
    "table2.max_use.accumulated": rows("max_use.accumulated", lambda f: summed(f, "most"), "MiB/s", "most"),
    "table2.max_use.load": rows("max_use.load", lambda f: shares(f, "least"), "percent", "least"),
    "table2.max_use.efficiency": rows("max_use.efficiency", lambda f: shares(f, "most"), "percent", "most"),
    "s5_3.peak_8_nodes": lambda f: stores.mean(by_chance(f)),
    "least_by_chance": lambda f: min(by_chance(f)),
    "most_by_chance": lambda f: max(by_chance(f)),
    "least_shared": lambda f: min(by_chance(f, "shared")),
    "most_shared": lambda f: max(by_chance(f, "shared")),
    "mean_shared": lambda f: stores.mean(by_chance(f, "shared")),
    "s5_3.saturation_nodes": sufficient,
    "s5_3.max_ringlet": sensible,
    "s5_3.congestion": lambda f: shares(f, "most")[-1],
    "s5_3.linear_with_clock": lambda f: f[f"ring.faster.{NODES}"] / f[f"ring.most.{NODES}"],
    "s5_3.segment_use": lambda f: [f[f"design.segment.{name}"] for name in ("mean", "least", "most")] == [4, 1, 8],
    "s6.osc_latency": lambda f: all(
        f[f"theirs.trip.one_sided.{size}"] > f[f"theirs.trip.two_sided.{size}"] for size in (8, 64)
    ),
    "s3_2.copies_stream": lambda f: f["copies.stream_short"] - f["copies.stream_contiguous"],
    "s3_3_2.chunk_below_l2": ByShape(_thrashes, _fills),
    "s3_4.shm_exceeds": ByShape(lambda f: max(in_node(f).values()) > 1.01, _best_in_node),
    "s5_3.others_generic": ByShape(lambda f: not good_throughout(f), _others),
}


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
