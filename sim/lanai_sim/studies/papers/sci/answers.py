"""The answer of each experiment to the paper's claims: the figure to put beside the number, or what
must show; and why a claim has none."""

import math
from collections.abc import Callable, Sequence

from ...benches.p2p.plots import by_size
from .. import claims
from ..verdicts import NEAR, ByFigure, ByShape, Figures, Way
from . import packing_answers, stores
from .constants import NODES
from .experiments import RINGS

STORES = "Stores through the aperture. What lies side by side leaves in one packet, of up to 128 bytes."
TABLE_2 = (
    "MPI_Put in `sparse` on `--fabric ring`, by stores. Two nodes that put to each other have 117 MiB/s, and 110 on a "
    "host bus that cuts a line of 32 bytes when a packet comes in."
)
ROWS = RINGS  # nodes of the rows of table 2
ENDS = (RINGS[0], RINGS[-1])
RING = (
    "A ringlet of one-way links with bypass FIFOs, echoes and go bits. A node's own host bus carries what it sends and "
    "what it receives. On 4 nodes it is the limit, on 8 the ring is."
)
MEETINGS = (
    "Each node sends to the one opposite. Which packets meet decides: with stores that begin 8 clocks later, or cables "
    "half as long, it is 79.6 or 84.7 MiB/s, with both 81.5."
)
SHORT_PACKETS = (
    " Packets of at most 64 bytes make {f[short.half.8]:.1f} of it, but {f[short.least.4]:.1f} of the paper's "
    "122.9 for 4 nodes with minimum use."
)
SUFFICES = 0.9  # of what a node of the shortest ringlet has: a ringlet suffices its nodes
SLOW_ENOUGH = 6  # nodes beyond which the paper wants more than 166 MHz
LARGE = 65536  # bytes of the largest access of sparse


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

    return ByShape(holds, saw, STORES)


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

    return ByShape(holds, lambda figures: listed(values, unit)(figures) + without_mpi(figures, use), TABLE_2, values)


def short_packets(figures: Figures) -> str:
    """Return what shorter packets make of the ring, if that was measured."""
    return SHORT_PACKETS.format(f=figures) if "short.half.8" in figures else ""


def sufficient(figures: Figures) -> float:
    """Nodes of the longest ringlet that suffices its nodes."""
    rates = row(figures, "most")
    return float(max(nodes for nodes, rate in zip(ROWS, rates, strict=True) if rate > SUFFICES * rates[0]))


def sensible(figures: Figures) -> float:
    """Nodes of the longest ringlet at 200 MHz that gives a node what six nodes have at 166 MHz."""
    enough = figures[f"table_2.ring.{SLOW_ENOUGH}.max_use_mibps"]
    return float(max(nodes for nodes in stores.FASTER if figures[f"table_2.ring_200.{nodes}.max_use_mibps"] >= enough))


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


def _grows(figures: Figures) -> float:
    return sparse(figures, "get.shared", "latency_us", 1024) / sparse(figures, "get.shared", "latency_us", 8)


BY_CLAIM: dict[str, Way] = packing_answers.WAYS | {
    "s2.node": ByFigure(
        "design.cpu_mhz", "No clock is simulated. Prices of work are those of the host of 266 MHz, divided by so much."
    ),
    "s2.nodes": ByFigure("design.nodes", "The same, on a switch."),
    "s2.pci_clock": ByFigure("design.pci_mhz", "The preset has half the width at twice the clock."),
    "s2.read_fraction": ByShape(
        lambda f: f["pio.load_MiBps"] < 0.5 * f["pio.store_MiBps"],
        "loads {f[pio.load_MiBps]:.2f}, stores {f[pio.store_MiBps]:.1f} MiB/s; 8 bytes are loaded in "
        "{f[pio.load_us.8]:.2f} us",
        "Through the aperture. Each load is of 4 bytes, and waits for the peer's word.",
    ),
    "s2.sequential_best": ByShape(
        _adjacent_are_best,
        lambda f: "; ".join(
            f"{access} bytes: {strided(f, access)[access]:.1f} MiB/s one behind the other, "
            f"at most {max(with_gaps(f, access).values()):.1f} with gaps"
            for access in (8, 256)
        ),
        STORES,
    ),
    "s3_2.copies_generic": ByFigure(
        lambda f: f["copies.generic"] - f["copies.contiguous"], "Packed at the sender, gathered at the receiver."
    ),
    "s3_3.copies_direct": ByFigure(
        lambda f: max(f["copies.short"], f["copies.long"]) - f["copies.contiguous"],
        "Stored from where the blocks lie, and unpacked from the segment.",
    ),
    "s3_4.total": ByFigure("design.total", "The same."),
    "s3_4.stride": ByFigure("design.gap", "The same."),
    "s3_4.min_block": ByFigure("design.min_block", "The default of the option `min_block`."),
    "s3_4.ninety_percent": ByFigure(
        "theirs.noncontig.share_at_128",
        "Blocks are stored from where they lie, and are adjacent in the segment, so they leave in whole lines.",
        "ours.noncontig.share_at_128",
    ),
    "s3_4.twice_generic": ByFigure(
        "theirs.noncontig.least_gain",
        "The least from 16 bytes to 8 KiB. The price of a copied byte was fitted on it.",
        "ours.noncontig.least_gain",
    ),
    "s3_4.generic_wins_8": ByShape(
        lambda f: over_generic(f)[8] < 1,
        lambda f: (
            f"direct is {over_generic(f)[8]:.2f} times as fast at 8 bytes; with a price of a block that made both as "
            f"fast there, {with_dear_blocks(f):.2f} times at 16 bytes"
        ),
        "Cause not known. Blocks are adjacent in the peer's segment, and 8 bytes behind 8 bytes join in the "
        "processor's buffer and in the adapter's. Without write combining contiguous memory has 80 MiB/s, and blocks "
        "of 8 bytes 95 % of it. With each block a transaction of its own (`way=commands`, `short_block`), the generic "
        "way is ahead. A price of a block, whatever it is for, is not the cause: the paper has 2 times at 16 bytes.",
    ),
    "s4_3.stride_sparse": ByFigure("design.stride", "The same."),
    "s4_3.strided_write_8": spread(8),
    "s4_3.strided_write_256": spread(256),
    "s4_3.best_stride": ByFigure(
        _best_stride,
        "Stores of 256 bytes through the aperture: lines of 32 bytes decide. At 288 and 512 accesses also wait for "
        "each other's buffers.",
    ),
    "s4_3.write_combining_off": ByFigure(
        lambda f: 100 * (1 - f["aperture.uncombined.store.256.256_mibps"] / f["aperture.combined.store.256.256_mibps"]),
        "Stores of 256 bytes through the aperture, one behind the other. Only the best with it is fitted.",
    ),
    "s4_3.get_spike": ByShape(
        lambda f: (
            sparse(f, "get.shared", "latency_us", 24)
            > 1.1 * max(sparse(f, "get.shared", "latency_us", size) for size in (16, 32))
        ),
        lambda f: ", ".join(
            f"{size} bytes {sparse(f, 'get.shared', 'latency_us', size):.2f} us" for size in (16, 24, 32)
        ),
        "The paper does not know its cause either.",
    ),
    "s4_3.get_latency_grows": ByShape(
        lambda f: _grows(f) > 4,
        lambda f: f"1024 bytes take {_grows(f):.1f} times as long as 8",
        "Gets of at most 64 bytes are loads, 4 bytes each. The target sends longer ones (`longest_get`).",
    ),
    "s4_3.private_latency": ByShape(
        lambda f: sparse(f, "put.emulated", "latency_us", 8) > 5 * sparse(f, "put.shared", "latency_us", 8),
        lambda f: (
            f"8 bytes: {sparse(f, 'put.emulated', 'latency_us', 8):.2f} us by messages, "
            f"{sparse(f, 'put.shared', 'latency_us', 8):.2f} us directly"
        ),
        "With `private=emulate`: a message, a remote interrupt and an answer. Registered memory is reached as shared "
        "memory is.",
    ),
    "s4_3.converge": ByShape(
        lambda f: min(converged(f)) > 0.9 * max(converged(f)),
        listed(converged),
        "Put and Get on private windows, Get on a shared one, at 64 KiB: all by message exchange.",
    ),
    "s4_3.put_below_raw": ByShape(
        lambda f: sparse(f, "put.shared", "least", 8) < strided(f, 8)[16],
        lambda f: (
            f"8 bytes each 16: {sparse(f, 'put.shared', 'least', 8):.2f} MiB/s, {strided(f, 8)[16]:.2f} "
            "by stores without MPI"
        ),
        "The MPI call costs time, and both ranks put at once.",
    ),
    "s4_3.fence_cheapest": ByShape(
        lambda f: (
            sparse(f, "put.shared", "latency_us", 8)
            <= sparse(f, "put.pscw", "latency_us", 8)
            < 1.05 * sparse(f, "put.shared", "latency_us", 8)
        ),
        lambda f: (
            f"8 bytes: {sparse(f, 'put.shared', 'latency_us', 8):.3f} us with a fence, "
            f"{sparse(f, 'put.pscw', 'latency_us', 8):.3f} with post, start, complete and wait"
        ),
        "Either waits until all puts have taken effect, and then for a word or a short message.",
    ),
    "s5_3.peak_per_node": ByFigure("ring.most.5", TABLE_2),
    "s5_3.ring_166": ByFigure("design.ring_166", "A flit of 4 bytes each slot."),
    "s5_3.ring_200": ByFigure("design.ring_200", "The preset `sci_d330_200`."),
    "table2.min_use.per_node": rows("min_use.per_node", lambda f: row(f, "least"), "MiB/s", "least"),
    "table2.min_use.accumulated": rows("min_use.accumulated", lambda f: summed(f, "least"), "MiB/s", "least"),
    "table2.max_use.per_node": rows("max_use.per_node", lambda f: row(f, "most"), "MiB/s", "most"),
    "table2.max_use.accumulated": rows("max_use.accumulated", lambda f: summed(f, "most"), "MiB/s", "most"),
    "table2.max_use.load": rows("max_use.load", lambda f: shares(f, "least"), "percent", "least"),
    "table2.max_use.efficiency": rows("max_use.efficiency", lambda f: shares(f, "most"), "percent", "most"),
    "s5_3.saturation_nodes": ByFigure(
        sufficient, "The most nodes that have at least 90 % of what 4 nodes have each, with maximum use."
    ),
    "s5_3.max_ringlet": ByFigure(
        sensible,
        "The paper wants a faster ring for more than 6 nodes. This is the most nodes that have at 200 MHz what 6 have "
        "at 166 MHz, with maximum use and without MPI.",
    ),
    "s5_3.congestion": ByFigure(lambda f: shares(f, "most")[-1], TABLE_2),
    "s5_3.peak_8_nodes": ByFigure(f"ring.half.{NODES}", lambda f: f"{RING} {MEETINGS}{short_packets(f)}"),
    "s5_3.linear_with_clock": ByFigure(
        lambda f: f[f"ring.faster.{NODES}"] / f[f"ring.most.{NODES}"],
        "Of 8 nodes, each of which puts to the one before it, by MPI.",
    ),
    "s5_3.segment_use": ByShape(
        lambda f: [f[f"design.segment.{name}"] for name in ("mean", "least", "most")] == [4, 1, 8],
        "mean {f[design.segment.mean]:.0f}, least {f[design.segment.least]:.0f}, most {f[design.segment.most]:.0f}",
        "If each node sends to one so many nodes ahead, the farthest target is 7 nodes away. The paper counts 8.",
    ),
    "s6.osc_latency": ByShape(
        lambda f: all(f[f"theirs.trip.one_sided.{size}"] > f[f"theirs.trip.two_sided.{size}"] for size in (8, 64)),
        "8 bytes: a put and its fence {f[theirs.trip.one_sided.8]:.2f} us, a message {f[theirs.trip.two_sided.8]:.2f}; "
        "64 bytes: {f[theirs.trip.one_sided.64]:.2f} and {f[theirs.trip.two_sided.64]:.2f} us",
        "The fence is a barrier by messages.",
    ),
}

WHY_NOT = {
    "s3_4.block_range": "The sizes are those of the paper; it has no number to find.",
    "s5_3.torus": "The torus itself is not run.",
    "s2.pio_dip": "Not modelled: the bandwidth of the processor's own memory is the same at all sizes.",
    "s5_3.lam_shm": "LAM is not built here.",
    "s5_3.t3e_similar": "The speed of the T3E is not modelled; its preset is that of the T3D.",
    "s5_3.xeon_scale": "It is about another machine.",
}
CONTEXT_WHY_NOT = "It is about other systems."


def ways() -> dict[str, Way]:
    """By the claim's whole id."""
    return {f"sci.{name}": way for name, way in BY_CLAIM.items()}
