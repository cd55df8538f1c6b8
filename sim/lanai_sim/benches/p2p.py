"""Point-to-point figures of mpi-np as the thesis defines them (NP-B1 .. NP-B4), from simulated time, beside its published values.

One way is half of a round trip less what the far end computes, with the receive posted before the message comes; fresh data each time.
Each MPI call is charged as `HostConfig.call`. Two hosts, `lanai41()` NICs, one switch.
"""

import argparse
import ctypes
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from lanai_firmware.mcp import main as mcp_main
from lanai_firmware.mcp.plan import Line, McpConfig, paper
from lanai_hdl.config import lanai41
from lanai_host.bus import Wait
from lanai_host.config import PRESETS, HostConfig, HostCost
from lanai_host.device import Operation, SendMode
from lanai_host.devices.mpi_np import MpiNp
from lanai_host.driver import Attachment, boot, channel_number
from lanai_host.errors import UserError

from .. import fabric
from ..cluster import Cluster, ClusterBus

NAME = "p2p"
HELP = "point-to-point latency, bandwidth and overhead of mpi-np beside the thesis's"

LATENCY_SIZES = (0, 4, 64, 256, 1024, 2048, 4096)
BANDWIDTH_SIZES = (4096, 16384, 65536, 262144, 1048576)
OVERHEAD_SIZES = (4, 64, 256, 1024, 2048, 4096, 16384)
PUBLISHED = {  # claims mpi-np.s4_3.latency_4B, .s4_1.peak_bandwidth, .s5_1.send_overhead_related
    "p2p.latency_us.4": 68.0,
    "p2p.bandwidth_MBps.peak": 70.0,
    "p2p.send_overhead_us.4": 4.0,
}
PAUSE = 200_000_000  # picoseconds between measurements, so that none meets the tail of another


class Buffer:
    """Page-aligned memory of this process."""

    def __init__(self, size: int) -> None:
        self.memory = ctypes.create_string_buffer(size + 4096)
        self.address = -(-ctypes.addressof(self.memory) // 4096) * 4096
        self.size = size

    @property
    def segments(self) -> Sequence[tuple[int, int]]:
        return ((self.address, self.size),) if self.size else ()

    def fill(self, seed: int) -> None:
        ctypes.memmove(self.address, bytes((seed + i) & 0xFF for i in range(self.size)), self.size)

    def holds(self, seed: int) -> bool:
        return ctypes.string_at(self.address, self.size) == bytes((seed + i) & 0xFF for i in range(self.size))


class Host:
    """One of the two ranks. `began` is shared by both: when the stream's first send was called."""

    def __init__(self, bus: ClusterBus, attachment: Attachment, config: HostConfig, began: list[int]) -> None:
        self.bus = bus
        self.began = began
        self.device = MpiNp(bus, attachment, config)
        self.peer = 1 - attachment.rank
        self.why = Wait("bench p2p", self.peer)

    async def send(self, buffer: Buffer) -> Any:
        self.device.charge(HostCost.CALL)
        operation = await self.device.begin_send(self.peer, 1, 0, buffer.segments, SendMode.STANDARD)
        await self.device.endpoint.pay()
        return operation

    async def receive(self, buffer: Buffer) -> Any:
        self.device.charge(HostCost.CALL)
        return await self.device.begin_receive(self.peer, 1, 0, buffer.segments)

    async def finish(self, operation: Any) -> None:
        self.device.charge(HostCost.CALL)
        await self.device.finish([operation], self.why)
        await self.device.endpoint.pay()

    async def pause(self, number: int = 0) -> None:
        """Some time, never the same against the NIC's clock."""
        await self.bus.elapse(PAUSE + 7_001 * number)

    async def ping(self, size: int, repetitions: int) -> tuple[float, float]:
        """Median one-way time and send overhead, microseconds, on the side that begins."""
        out, back = Buffer(size), Buffer(size)
        ways, overheads = [], []
        for number in range(repetitions + 1):
            out.fill(number)
            answer = await self.receive(back)
            await self.pause(number)
            begin = self.bus.now
            sent = await self.send(out)
            placed = self.bus.now
            await self.finish(answer)
            end = self.bus.now
            await self.finish(sent)
            if not back.holds(number + 1):
                raise UserError(f"bench p2p: message {number} of {size} bytes came back damaged; this is a bug")
            if number:  # the first one pins
                ways.append((end - begin) / 2e6)
                overheads.append((placed - begin) / 1e6)
        return median(ways), median(overheads)

    async def pong(self, size: int, repetitions: int) -> None:
        out, back = Buffer(size), Buffer(size)
        for number in range(repetitions + 1):
            question = await self.receive(back)
            out.fill(number + 1)
            await self.finish(question)
            await self.finish(await self.send(out))

    async def stream(self, size: int, count: int) -> float:
        """MB/s of `count` messages one after the other, from the first send to the last receive; both sides call this."""
        buffers = [Buffer(size) for _ in range(count)]
        sender = self.peer == 1
        operations: list[Operation] = []
        for number in range(2):  # the first round pins
            if sender:
                await self.pause()
                self.began[0] = self.bus.now
            operations = []
            for buffer in buffers:
                if sender:
                    buffer.fill(number)
                operations.append(await (self.send(buffer) if sender else self.receive(buffer)))
            for operation in operations:
                await self.finish(operation)
        if not sender and not all(buffer.holds(1) for buffer in buffers):
            raise UserError(f"bench p2p: a stream of {size}-byte messages came damaged; this is a bug")
        return size * count / ((self.bus.now - self.began[0]) / 1e6)


def measure(host: HostConfig, mcp: McpConfig, repetitions: int) -> dict[str, float]:
    """All figures."""
    from lanai_firmware.compiler import build

    nic = lanai41()
    image = build(mcp_main.main, nic)
    cluster = Cluster(fabric.star(2), nic)
    figures: dict[str, float] = {}
    arrived: list[int] = []
    began = [0]

    async def program(bus: ClusterBus) -> None:
        rank = bus.number
        route = cluster.fabric.route
        lines = {(rank, peer): Line(route(rank, peer), channel_number(0, 2, rank)) for peer in range(2)}
        (attachment,) = await boot(bus, image, mcp, 2, [rank], lines)
        side = Host(bus, attachment, host, began)
        arrived.append(rank)
        while len(arrived) < 2:
            await bus.elapse(1_000_000)
        await bus.elapse(PAUSE)
        for size in sorted({*LATENCY_SIZES, *OVERHEAD_SIZES}):
            if rank:
                await side.pong(size, repetitions)
            else:
                way, overhead = await side.ping(size, repetitions)
                if size in LATENCY_SIZES:
                    figures[f"p2p.latency_us.{size}"] = way
                if size in OVERHEAD_SIZES:
                    figures[f"p2p.send_overhead_us.{size}"] = overhead
        for size in BANDWIDTH_SIZES:
            rate = await side.stream(size, max(3, min(8, 2 * 1048576 // size)))
            if rank:
                figures[f"p2p.bandwidth_MBps.{size}"] = rate

    try:
        for node in range(2):
            cluster.spawn(node, program, host)
        cluster.run()
    finally:
        cluster.close()
    peak = max(value for name, value in figures.items() if ".bandwidth_" in name)
    figures["p2p.bandwidth_MBps.peak"] = peak
    return figures


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", choices=sorted(PRESETS), default="pentium2_266", help="what host work costs")
    parser.add_argument("--paper", action="store_true", help="the thesis's choices in the firmware")
    parser.add_argument(
        "--repetitions", type=int, default=8, metavar="N", help="round trips a size (default: %(default)s)"
    )
    parser.add_argument("--plot", metavar="FILE", help="draw latency and bandwidth to FILE (needs matplotlib)")


def run(args: argparse.Namespace) -> dict[str, float]:
    if args.repetitions < 1:
        raise UserError(f"--repetitions {args.repetitions} measures nothing; take at least 1")
    figures = measure(PRESETS[args.host](), paper() if args.paper else McpConfig(), args.repetitions)
    table = Table("figure", "here", "thesis")
    for name, published in PUBLISHED.items():
        table.add_row(name, f"{figures[name]:.4g}", f"{published:g}")
    Console().print(table)
    if args.plot:
        plot(figures, args.plot)
    return figures


def plot(figures: dict[str, float], file: str) -> None:
    """Latency and bandwidth against size."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise UserError("--plot needs matplotlib; install openlanai[plot]") from error
    drawing = Figure(figsize=(8, 3.5))
    for axes, kind in zip(drawing.subplots(1, 2), ("latency_us", "bandwidth_MBps"), strict=True):
        prefix = f"p2p.{kind}."
        points = sorted(
            (int(n[len(prefix) :]), v)
            for n, v in figures.items()
            if n.startswith(prefix) and n[len(prefix) :].isdigit()
        )
        axes.plot([size for size, _ in points], [value for _, value in points], marker="o")
        axes.set_xscale("symlog")
        axes.set_xlabel("bytes")
        axes.set_ylabel(kind.replace("_", ", "))
    drawing.tight_layout()
    try:
        drawing.savefig(Path(file))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot draw to {file!r}: {error}") from error


__all__ = ["HELP", "NAME", "add_arguments", "measure", "run"]
