"""The answers of the experiments to claims about blocks elsewhere: on other messaging systems, within a
node, in a cache."""

from ...benches.p2p.plots import by_size
from ..verdicts import ByFigure, ByShape, Figures, Way
from .experiments import SYSTEMS
from .stores import CHUNKS, L2

GOOD = 0.9  # of contiguous, as direct_pack_ff has at 128 bytes
GROWS = 1.2


def shares(figures: Figures, system: str) -> dict[float, float]:
    """Bandwidth of blocks over contiguous, by block size."""
    found = by_size(figures, f"others.{system}.share")
    if not found:
        raise KeyError("others")
    return found


def good_throughout(figures: Figures) -> list[str]:
    return [system for system in SYSTEMS if min(shares(figures, system).values()) > GOOD]


def in_node(figures: Figures) -> dict[float, float]:
    """Direct over contiguous between ranks of a node, by block size."""
    found = by_size(figures, "node.direct")
    if not found:
        raise KeyError("node")
    return {block: rate / figures["node.contiguous"] for block, rate in found.items()}


def _others(figures: Figures) -> str:
    worst = (min(shares(figures, system).items(), key=lambda item: item[1]) for system in SYSTEMS)
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


WAYS: dict[str, Way] = {
    "s3_2.copies_stream": ByFigure(
        lambda f: f["copies.stream_short"] - f["copies.stream_contiguous"],
        "The device `ccu`, which takes a message of any length at once and has buffers of its own. Its library copies "
        "blocks straight to and from the packets of its daemon, so those are the packed form.",
    ),
    "s3_3_2.chunk_below_l2": ByShape(
        _thrashes,
        _fills,
        "A model of the cache alone (256 KiB, lines of 32 bytes, 8 ways), over the blocks in the order in which this "
        "library unpacks 256 KiB. The program's memory and the chunk share the cache, so a chunk of half its size is "
        "too long.",
    ),
    "s3_4.shm_exceeds": ByShape(
        lambda f: max(in_node(f).values()) > 1.01,
        _best_in_node,
        "Two ranks of one node. A copied byte has one price wherever it lies: no caches are modelled.",
    ),
    "s5_3.others_generic": ByShape(
        lambda f: not good_throughout(f),
        _others,
        "Our other devices stand for the MPIs of table 1. `mpi-np` and `t3d` pack short blocks and send; `mbcf` and "
        "`ccu` copy each byte of a contiguous message too, so blocks cost them nothing more.",
    ),
}
