"""The paper's experiments, each a function from `quick` to figures."""

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from lanai_host.stacks.ccu.options import CcuOptions

from ....commands.run import libmpi_environment
from ....job.config import RunConfig
from ....job.launcher import run
from ....job.nic_world import NicWorld
from ..measuring import Experiment, Figures
from . import systems

PROGRAM = Path(__file__).with_name("patterns.py")
SIZES = (4, 1000, 2000, 4000, 6000, 8000, 12_000, 16_000)
FEW = (4, 1000, 8000, 16_000)
COLLECTIVE = (4, 250, 1000, 4000)
NODES = 8


def measured(pattern: str, ranks: int, options: CcuOptions, sizes: Sequence[int]) -> dict[int, float]:
    """Microseconds by size."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "times.json")
        command = (sys.executable, str(PROGRAM), str(file), pattern, *map(str, sizes))
        config = RunConfig(
            command,
            ranks,
            "ccu",
            host=systems.HOST,
            options=options,
            fabric=systems.FABRIC,
            environment=libmpi_environment(),
        )
        result = run(config, NicWorld)
        if result.code:
            raise RuntimeError(f"{pattern} on {ranks} ranks: {result.report}")
        return {int(size): time for size, time in json.loads(file.read_text()).items()}


def compared(pattern: str, ranks: int, sizes: Sequence[int]) -> Figures:
    """All systems' times."""
    return {
        f"{name}.{pattern}_us.{size}": time
        for name, options in systems.SYSTEMS.items()
        for size, time in measured(pattern, ranks, options, sizes).items()
    }


def pattern_of_two(pattern: str) -> Callable[[bool], Figures]:
    return lambda quick: compared(pattern, 2, FEW if quick else SIZES)


def pattern_of_eight(pattern: str) -> Callable[[bool], Figures]:
    return lambda quick: compared(pattern, NODES, COLLECTIVE[:2] if quick else COLLECTIVE)


def broadcast(quick: bool) -> Figures:
    """Beside all systems: ours with a packet for each node, and with fewer nodes."""
    figures = compared("bcast", NODES, COLLECTIVE[:3] if quick else COLLECTIVE)
    sizes = COLLECTIVE[2:3] if quick else COLLECTIVE
    found = measured("bcast", NODES, systems.unicast(), sizes)
    figures |= {f"unicast.bcast_us.{size}": time for size, time in found.items()}
    for nodes in (2, 4):
        found = measured("bcast", nodes, systems.SYSTEMS["ccu"], (1000,))
        figures[f"ccu.bcast_us_of_nodes.{nodes}"] = found[1000]
    return figures


def windows(quick: bool) -> Figures:
    """One-way time of 64 kB by window, with the acknowledgement every `window` packets and every
    25."""
    figures = {}
    for window in (1, 25) if quick else (1, 2, 4, 8, 16, 25, 30, 31):
        options = replace(systems.SYSTEMS["ccu"], window=window, packet=1024, ack_every=min(window, 25))
        figures[f"window.pingpong_us.{window}"] = measured("pingpong", 2, options, (32_768,))[32_768]
    return figures


def packets(quick: bool) -> Figures:
    """Cutting off: 8,000 bytes in packets of several sizes (CC-15, CC-20)."""
    figures = {}
    for size in (665, 1331) if quick else (333, 665, 1000, 1331):
        options = replace(systems.SYSTEMS["ccu"], packet=size)
        figures[f"packet.pingpong_us.{size}"] = measured("pingpong", 2, options, (8000,))[8000]
    return figures


EXPERIMENTS = [
    Experiment("pingpong", "a message bounces between two nodes (CC-B2, figures 2 to 4)", pattern_of_two("pingpong")),
    Experiment("ping", "one node keeps sending to another (CC-B1)", pattern_of_two("ping")),
    Experiment("exchange", "two nodes send to each other (CC-B3)", pattern_of_two("exchange")),
    Experiment("bcast", "barrier and broadcast on eight nodes (CC-B4, figure 5)", broadcast),
    *(
        Experiment(name, f"barrier and {name} on eight nodes ({where})", pattern_of_eight(name))
        for name, where in (
            ("gather", "CC-B5, figure 6"),
            ("scatter", "CC-B6, figure 7"),
            ("reduce", "CC-B7, figure 8"),
            ("allgather", "figure 11"),
            ("alltoall", "figure 12"),
            ("allreduce", "figure 13"),
            ("reduce_scatter", "figure 14"),
            ("scan", "figure 15"),
            ("bitonic", "CC-B8, figure 9"),
        )
    ),
    Experiment(
        "cannon",
        "Cannon's matrix product on nine nodes (CC-B9, figure 10)",
        lambda quick: compared("cannon", 9, (8,) if quick else (8, 24)),
    ),
    Experiment("windows", "32,768 bytes in packets of 1,024 by window", windows),
    Experiment("packets", "8,000 bytes by the size of packets", packets),
]
