"""The paper's experiments, each a function from `quick` to figures: programs run with
hosts and NICs like the paper's. "ours" is the project's testbed."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lanai_hdl.config import NicConfig
from lanai_hdl.remote.config import Remote

from ....job.job import Job
from ....machine.machine import Machine
from ....machine.presets import sci_d330
from ..claims import Experiment, Figures, Programs
from . import below_mpi, constants, programs, stores
from .constants import ACCESSES, BLOCKS, KIB, MIB, NODES, TOTAL

MACHINE = Machine("sci_d330", host="pentium3_800")
THEIRS = Programs(programs, Job((), 2, "sci", MACHINE, options={"chunk": 32 * KIB}))
OURS = Programs(programs, Job((), 2, "sci"))
GENERIC = {"pack": "generic"}  # options
EMULATE = {"private": "emulate"}
COMMANDS = {"way": "commands"}
WINDOW = 64 * KIB
CALLS = 32  # of sparse at most, for each access size
QUICK_BLOCKS = (8, 16, 128, 8192)
QUICK_ACCESSES = (8, 64, 1024, 65536)
TRIPS = (8, 64, 1024)
SCALING = (2, 4, NODES)  # nodes; each number takes a switch of its own
RINGS = (4, 5, 6, 7, NODES)  # nodes of a ringlet
SEEDS = 8  # of partners by chance
FASTER = "sci_d330_200"
SHORT = 64  # bytes of a packet
COPIED, COPY = 8 * KIB, 1_000_000  # bytes, in one chunk; picoseconds a byte
SYSTEMS = ("mpi-np", "mbcf", "t3d", "ccu")  # other devices
STREAM = Programs(programs, Job((), 2, "ccu"))  # its daemon takes a message of any length at once, and buffers
OTHERS_TOTAL = 64 * KIB


def renamed(prefix: str, found: Mapping[str, float]) -> Figures:
    return {f"{prefix}.{name}": value for name, value in found.items()}


def noncontig(runs: Programs, quick: bool) -> Figures:
    """MiB/s: contiguous, and by both ways to pack; direct as percent of contiguous at 128 bytes, and
    the least gain over generic from 16 bytes to 8 KiB."""
    blocks = list(QUICK_BLOCKS if quick else BLOCKS)
    direct = runs.lines("noncontig", TOTAL, commas([0, *blocks]))
    generic = runs.lines("noncontig", TOTAL, commas(blocks), options=GENERIC)
    found = {f"direct.{block}": rate for block, rate in direct.items() if block != "0"}
    found |= renamed("generic", generic)
    gains = [direct[str(block)] / generic[str(block)] for block in blocks if 16 <= block <= 8 * KIB]
    return {
        "contiguous": direct["0"],
        **found,
        "share_at_128": 100 * direct["128"] / direct["0"],
        "least_gain": min(gains),
    }


def copies(quick: bool) -> Figures:
    """Return how often the hosts' processors copy a byte of a message, where nothing else costs them time:
    contiguous, in short blocks, in long blocks, and by the generic way; over a stream too."""
    only = {"preset": "free", "copy": COPY}
    short, long = 64, 4 * KIB
    direct = OURS.lines("noncontig", COPIED, commas((0, short, long)), host=only)
    generic = OURS.lines("noncontig", COPIED, commas((short,)), host=only, options=GENERIC)
    stream = STREAM.lines("noncontig", COPIED, commas((0, short)), host=only)
    rates = {
        "contiguous": direct["0"],
        "short": direct[str(short)],
        "long": direct[str(long)],
        "generic": generic[str(short)],
        "stream_contiguous": stream["0"],
        "stream_short": stream[str(short)],
    }
    return {f"copies.{name}": float(round(1e12 / COPY / MIB / rate)) for name, rate in rates.items()}


def in_node(quick: bool) -> Figures:
    """MiB/s of noncontig between two ranks of one node."""
    blocks = QUICK_BLOCKS if quick else BLOCKS
    rates = THEIRS.lines("noncontig", TOTAL, commas((0, *blocks)), ranks_per_node=2)
    return {"node.contiguous": rates["0"]} | {f"node.direct.{block}": rates[str(block)] for block in blocks}


def others(quick: bool) -> Figures:
    """Noncontig over contiguous on the other devices, with the project's hosts and wires."""
    found: Figures = {}
    for system in SYSTEMS[:1] if quick else SYSTEMS:
        runs = Programs(programs, Job((), 2, system))
        rates = runs.lines("noncontig", OTHERS_TOTAL, commas((0, *QUICK_BLOCKS)))
        found |= {f"others.{system}.share.{block}": rates[str(block)] / rates["0"] for block in QUICK_BLOCKS}
    return found


def sparse(
    runs: Programs,
    quick: bool,
    operation: str,
    memory: str,
    synchronisation: str = "fence",
    *,
    options: Mapping[str, Any] | None = None,
) -> Figures:
    """Latency and rate of a pair by access size."""
    sizes = QUICK_ACCESSES if quick else ACCESSES
    arguments = (operation, memory, synchronisation, 1, CALLS, WINDOW, commas(sizes))
    return runs.lines("sparse", *arguments, options=options or {})


def windows(runs: Programs, quick: bool) -> Figures:
    """Shared windows, registered private ones, emulated private ones, and PSCW."""
    found: Figures = {}
    for operation in ("put", "get"):
        found |= renamed(f"{operation}.shared", sparse(runs, quick, operation, "shared"))
        found |= renamed(f"{operation}.emulated", sparse(runs, quick, operation, "private", options=EMULATE))
        found |= renamed(f"{operation}.registered", sparse(runs, quick, operation, "private"))
    return found | renamed("put.pscw", sparse(runs, quick, "put", "shared", "pscw"))


def trips(quick: bool) -> Figures:
    return renamed("theirs.trip", THEIRS.lines("trips", commas(TRIPS)))


def scaling(quick: bool) -> Figures:
    """Each node puts to the next one, on a switch."""
    found: Figures = {}
    for nodes in SCALING[:1] if quick else SCALING:
        arguments = ("put", "shared", "fence", 1, 4, 2 * WINDOW, 8 * KIB)
        rates = THEIRS.lines("sparse", *arguments, ranks=nodes)
        found[f"scaling.least.{nodes}"] = rates[f"least.{8 * KIB}"]
    return found


def partners(seed: int, shared: bool = False) -> list[int]:
    """Return partners of the nodes by chance, with four transfers on each segment: another one for each node, so that
    all segments have the same number, or `shared` ones, so that they have it in the mean."""
    chance, found = random.Random(seed), list(range(NODES))
    while any(a == b for a, b in enumerate(found)) or sum((b - a) % NODES for a, b in enumerate(found)) != 4 * NODES:
        if shared:
            found = chance.choices(range(NODES), k=NODES)
        else:
            chance.shuffle(found)
    return found


def on_rings(quick: bool) -> Figures:
    """The least of the nodes' MiB/s where each puts to the next one on a ringlet, to the one before
    it, and to one by chance; the second with a faster ring too."""
    found: Figures = {}
    for nodes in RINGS[:1] if quick else RINGS:
        found[f"ring.least.{nodes}"] = on_ring(nodes, 1)
        found[f"ring.most.{nodes}"] = on_ring(nodes, nodes - 1)
    if not quick:
        found[f"ring.half.{NODES}"] = on_ring(NODES, NODES // 2)
        found |= {f"ring.chance.{seed}": on_ring(NODES, commas(partners(seed))) for seed in range(SEEDS)}
        found[f"ring.faster.{NODES}"] = on_ring(NODES, NODES - 1, FASTER)
    return found


def on_ring(
    nodes: int, distance: int | str, nic: NicConfig | str = MACHINE.nic, options: Mapping[str, Any] | None = None
) -> float:
    """MiB/s of the slowest node, where each puts to the one so many nodes ahead, or to the one that a list says."""
    arguments = ("put", "shared", "fence", distance, 4, 2 * WINDOW, 8 * KIB)
    rates = THEIRS.lines("sparse", *arguments, ranks=nodes, fabric="ring", nic=nic, options=options or {})
    return rates[f"least.{8 * KIB}"]


def with_shared_targets(quick: bool) -> Figures:
    """The same of 8 nodes whose partners by chance may be those of others too; none with `quick`."""
    seeds = () if quick else range(SEEDS)
    return {f"ring.shared.{seed}": on_ring(NODES, commas(partners(seed, shared=True))) for seed in seeds}


def with_short_packets(quick: bool) -> Figures:
    """The same with packets of at most 64 bytes, as SCI has them too: each to the one opposite on 8 nodes, and both
    ends of table 2."""
    if quick:
        return {}
    nic = sci_d330()
    (adapter,) = nic.blocks
    assert isinstance(adapter, Remote)
    nic = nic.but(blocks=(replace(adapter, payload=SHORT, stream_bytes=SHORT),))
    points = {f"half.{NODES}": (NODES, NODES // 2), "least.4": (4, 1), f"most.{NODES}": (NODES, NODES - 1)}
    return {f"short.{name}": on_ring(*at, nic) for name, at in points.items()}


def by_commands(quick: bool) -> Figures:
    """Puts on a ringlet of 4 nodes, and short blocks, by commands of the adapter: what the way makes."""
    ends = {"least": 1, "most": RINGS[0] - 1}
    found = {f"commands.ring.{name}.{RINGS[0]}": on_ring(RINGS[0], at, options=COMMANDS) for name, at in ends.items()}
    blocks = THEIRS.lines("noncontig", TOTAL, commas((0, 8, 128)), options=COMMANDS)
    return found | renamed("commands.noncontig", blocks)


def both_ways(quick: bool) -> Figures:
    return renamed("both_ways", THEIRS.lines("both_ways", 16 * KIB, 4 * KIB, ranks=NODES))


def pulled(quick: bool) -> Figures:
    """A cable without a fault, and out for a millisecond in the midst of messages and puts."""
    found: Figures = {}
    for name, faults in (("whole", ()), ("pulled", ("down nic0 from=1ms to=2ms",))):
        found |= renamed(f"cable.{name}", THEIRS.lines("pulled", 50_000, 2, faults=faults))
    return found


def busy(quick: bool) -> Figures:
    """A put and its flush while the target computes for 10 ms."""
    return renamed("busy", THEIRS.lines("busy"))


def commas(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


EXPERIMENTS = (
    Experiment("constants", "what the paper says of its machine and its programs", constants.figures),
    Experiment(
        "raw",
        "puts and gets without MPI (SC-B1, figure 1)",
        lambda quick: below_mpi.figures(below_mpi.by_commands),
    ),
    Experiment(
        "pio",
        "stores and loads without MPI (SC-B1, figure 1)",
        lambda quick: below_mpi.figures(below_mpi.by_processor),
    ),
    Experiment(
        "aperture",
        "stores through the aperture, by stride: with write combining, without, and mis-aligned (SC-B4)",
        lambda quick: renamed("aperture", stores.store_figures(sci_d330())),
    ),
    Experiment("copies", "copies by the hosts' processors (section 3.2, figure 4)", copies),
    Experiment(
        "noncontig",
        "a vector of doubles: contiguous, direct and generic (SC-B2, figure 7)",
        lambda quick: renamed("theirs.noncontig", noncontig(THEIRS, quick)),
    ),
    Experiment("node", "the same vector between ranks of one node (section 3.4)", in_node),
    Experiment("others", "the same vector on our other devices (section 5.3, figure 10)", others),
    Experiment("cache", "cache fills of a receiver, by the bytes of a handshake (section 3.3.2)", stores.cache_figures),
    Experiment(
        "sparse",
        "puts and gets by access size: shared windows, private ones (SC-B3, figure 9)",
        lambda quick: renamed("theirs.sparse", windows(THEIRS, quick)),
    ),
    Experiment("trips", "an exchange of puts beside half a round trip by messages (section 6)", trips),
    Experiment("scaling", "sparse on 2, 4 and 8 nodes, each to the next (SC-B5, figure 12)", scaling),
    Experiment(
        "table_2",
        "puts without MPI on ringlets of 4 to 8 nodes (table 2)",
        lambda quick: {} if quick else renamed("table_2", stores.ring_figures()),
    ),
    Experiment("ringlet", "sparse on ringlets of 4 to 8 nodes, by MPI (table 2, figure 12)", on_rings),
    Experiment("shared_targets", "8 nodes whose partners by chance others may have too", with_shared_targets),
    Experiment("short_packets", "the same with packets of at most 64 bytes", with_short_packets),
    Experiment("commands", "the same by commands of the adapter: 4 nodes, and blocks of noncontig", by_commands),
    Experiment("both_ways", "8 nodes, each to both its neighbours", both_ways),
    Experiment("cable", "a cable out for 1 ms (SC-06)", pulled),
    Experiment("busy", "puts to a target that computes", busy),
    Experiment(
        "our_noncontig",
        "noncontig on the project's testbed",
        lambda quick: renamed("ours.noncontig", noncontig(OURS, True)),
    ),
    Experiment(
        "our_sparse",
        "sparse on the project's testbed",
        lambda quick: renamed("ours.sparse", windows(OURS, True)),
    ),
)
