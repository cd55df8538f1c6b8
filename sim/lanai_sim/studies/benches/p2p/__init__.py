"""Point-to-point figures of mpi-np as the thesis defines them (NP-B1 .. NP-B7), from simulated
time, beside its published values.

Two hosts, one switch. Parts: `traffic` is latency, bandwidth and host overhead by size (NP-B1 ..
NP-B4), `stages` where the time of a 4-byte message goes (NP-B5), `contention` how DMA slows the
processor (NP-B6), `ways` programmed I/O against DMA (NP-B7).
"""

import argparse
from pathlib import Path

from rich.table import Table

from lanai_firmware.programs.mpi_np.plan import McpConfig, paper
from lanai_host.config import PRESETS, HostConfig
from lanai_host.errors import UserError

from ....console import plain
from ... import drawing
from .. import core
from . import plots, stages, traffic
from .pair import Setting

NAME = "p2p"
HELP = "point-to-point latency, bandwidth, overhead, break-down, PIO against DMA of mpi-np beside the thesis's"

PARTS = ("traffic", "stages", "contention", "ways")
SIZES = (0, 4, 64, 256, 512, 1024, 2048, 4096, 16384)
LARGE = (65536, 262144, 1048576)  # up to all of the NIC's memory
STREAM_SIZES = (4096, 65536, 1048576)
WAY_SIZES = (4, 32, 64, 128, 256, 512, 1024, 2048, 4096)
PUBLISHED = {  # figure: the claim it stands beside
    "p2p.latency_us.4": "s4_3.latency_4B",
    "p2p.bandwidth_MBps.peak": "s4_1.peak_bandwidth",
    "p2p.send_overhead_us.4": "s5_1.send_overhead_related",
    "p2p.nic_share_percent": "s4_3.nic_share",
    "p2p.np_slowdown.one_dma": "s4_3.slowdown_one_dma",
    "p2p.np_speed.two_dma": "s4_3.stall_two_dma",
    "p2p.crossover_bytes.send_overhead.dma": "s4_2.send_threshold",
    "p2p.pio_period_bytes": "s3_6.pio_best_multiple",
}


def measure(
    host: HostConfig, mcp: McpConfig, repetitions: int, parts: tuple[str, ...] = PARTS, sizes: tuple[int, ...] = ()
) -> dict[str, float]:
    """The figures of the named parts; `sizes` instead of all of theirs."""
    setting = Setting(host, mcp)
    figures: dict[str, float] = {}
    if "traffic" in parts:
        figures |= traffic_figures(setting, sizes or (*SIZES, *LARGE), repetitions)
        crossing = [size for size in sizes or SIZES if 2 <= size < LARGE[0]]
        unaligned = traffic.trips(setting, crossing, repetitions, crossing=True)
        figures |= {f"p2p.unaligned_latency_us.{size}": trip.one_way for size, trip in unaligned.items()}
        if not sizes:
            streams = traffic.streams(setting, STREAM_SIZES)
            figures |= {f"p2p.stream_MBps.{size}": rate for size, rate in streams.items()}
    if "stages" in parts:
        figures |= stages.figures(stages.cut(stages.watch(setting)))
    if "contention" in parts:
        figures |= core.figures(core.speeds())
    if "ways" in parts:
        figures |= traffic.figures(traffic.measure(setting, sizes or WAY_SIZES, repetitions))
    return figures


def traffic_figures(setting: Setting, sizes: tuple[int, ...], repetitions: int) -> dict[str, float]:
    """Latency, bandwidth and overhead. Large messages are measured once: they take long, and vary
    little."""
    trips = traffic.trips(setting, [size for size in sizes if size < LARGE[0]], repetitions)
    trips |= traffic.trips(setting, [size for size in sizes if size >= LARGE[0]], 1)
    figures = {}
    for size, trip in trips.items():
        figures[f"p2p.latency_us.{size}"] = trip.one_way
        figures[f"p2p.send_overhead_us.{size}"] = trip.send
        if size:
            figures[f"p2p.bandwidth_MBps.{size}"] = trip.rate(size)
    rates = [trip.rate(size) for size, trip in trips.items() if size]
    return figures | ({"p2p.bandwidth_MBps.peak": max(rates)} if rates else {})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", choices=sorted(PRESETS), default="pentium2_266", help="what host work costs")
    parser.add_argument("--paper", action="store_true", help="the thesis's choices in the firmware")
    parser.add_argument(
        "--repetitions", type=int, default=3, metavar="N", help="round trips a size (default: %(default)s)"
    )
    parser.add_argument(
        "--parts", default=",".join(PARTS), metavar="P,P", help="which to measure (default: %(default)s)"
    )
    parser.add_argument("--sizes", default="", metavar="N,N", help="message sizes, instead of the usual ones")
    parser.add_argument("--output", metavar="DIR", help="draw plots into DIR (needs matplotlib)")
    parser.add_argument("--format", choices=("svg", "png", "pdf"), default="svg", help="... of this kind")


def parts_of(text: str) -> tuple[str, ...]:
    parts = tuple(text.split(","))
    for part in parts:
        if part not in PARTS:
            raise UserError(f"--parts names {part!r}; there are {', '.join(PARTS)}")
    return parts


def sizes_of(text: str) -> tuple[int, ...]:
    """'4,1024' -> sizes."""
    words = text.split(",") if text else []
    for word in words:
        if not word.isdecimal() or int(word) > 16 << 20:
            raise UserError(f"--sizes names {word!r}; sizes are bytes, from 0 to {16 << 20}")
    return tuple(sorted({int(word) for word in words}))


def run(args: argparse.Namespace) -> dict[str, float]:
    if args.repetitions < 1:
        raise UserError(f"--repetitions {args.repetitions} measures nothing; take at least 1")
    parts, sizes = parts_of(args.parts), sizes_of(args.sizes)
    output: Path | None = drawing.folder(args.output) if args.output else None
    figures = measure(PRESETS[args.host](), paper() if args.paper else McpConfig(), args.repetitions, parts, sizes)
    compare(figures)
    place(figures)
    if output is not None:
        for name, plot in plots.of(figures).items():
            drawing.draw(plot, output / f"{name}.{args.format}")
    return figures


def place(figures: dict[str, float]) -> None:
    """Print what a buffer that crosses into another page costs."""
    table = Table("bytes", "µs one way, buffers begin with a page", "they cross into another page")
    for size in sorted(int(size) for size in plots.by_size(figures, "p2p.unaligned_latency_us")):
        aligned, crossing = figures[f"p2p.latency_us.{size}"], figures[f"p2p.unaligned_latency_us.{size}"]
        table.add_row(f"{size:,}", f"{aligned:.2f}", f"{crossing:.2f}")
    if table.row_count:
        plain().print(table)


def compare(figures: dict[str, float]) -> None:
    """Print what the thesis published beside ours."""
    from ...papers import claims

    published = {claim.id: claim for claim in claims.load("mpi-np")}
    table = Table("figure", "here", "thesis", "what")
    for name, claim_id in PUBLISHED.items():
        if name in figures:
            claim = published[f"mpi-np.{claim_id}"]
            table.add_row(name, f"{figures[name]:.4g}", claim.published or "0", claim.says)
    plain().print(table)
