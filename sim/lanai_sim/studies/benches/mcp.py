"""Costs and gains of the firmware's switches: one-way times of the same messages with recovery on, and
with cut-through off.

The host's own work is free here, so that what is left is bus, NIC and wire; cycles are the NIC
processor's.
"""

import argparse

from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_hdl.config import lanai41
from lanai_host.config import free
from lanai_host.errors import UserError

from .p2p import traffic
from .p2p.pair import Buffer, Setting, Side, play

NAME = "mcp"
HELP = "one-way times of mpi-np with recovery on or off, cut-through on or off; what restoring an evicted channel costs"

SIZES = (4, 1024, 4096, 16384, 65536, 262144)
KEPT_SIZES = (4, 1024, 4096)  # of messages that lie on the NIC while another channel is restored
WAYS = {
    "default": McpConfig(),
    "store_and_forward": McpConfig(cut_through=0),
    "recovery": McpConfig(recovery=1),
}


def measure(sizes: tuple[int, ...], repetitions: int) -> dict[str, float]:
    """Microseconds and MB/s one way by size for each way; processor cycles of the smallest size."""
    figures: dict[str, float] = {}
    cycles_per_us = lanai41().slot_khz / 2000
    for name, config in WAYS.items():
        trips = traffic.trips(Setting(free(), config), sizes, repetitions)
        for size, trip in trips.items():
            figures[f"mcp.{name}.one_way_us.{size}"] = trip.one_way
            if size >= 1024:
                figures[f"mcp.{name}.MBps.{size}"] = trip.rate(size)
        figures[f"mcp.{name}.cycles.{min(sizes)}"] = trips[min(sizes)].one_way * cycles_per_us
    return figures


def late_receive(config: McpConfig, size: int) -> float:
    """Microseconds to receive a message that has come, after the receiver has had one of its own of
    the same size."""

    def program(side: Side) -> float:
        buffer, own = Buffer(size), Buffer(size)
        for number in range(2):  # the first one pins
            if not side.rank:
                side.finish(side.send(buffer))
            side.meet()
            sent = [side.send(own, side.rank)] if side.rank else []
            side.meet()
            begin = side.now
            if side.rank:
                side.finish(side.receive(buffer))
            end = side.now
            if side.rank:
                side.finish(side.receive(own, side.rank), *sent)
            side.pause(number)
        return (end - begin) / 1e6

    result: float = play(Setting(free(), config), program)[1]
    return result


def pools(sizes: tuple[int, ...]) -> dict[str, float]:
    """Measure the cost of evicting a channel: one message is written to host memory and another comes
    back (docs/design/mpi-np.md)."""
    figures = {}
    for size in sizes:
        own, shared = (late_receive(McpConfig(resident=resident), size) for resident in (0, 1))
        figures[f"mcp.rooms.late_receive_us.{size}"] = own
        figures[f"mcp.rooms.swap_us.{size}"] = shared - own
        figures[f"mcp.rooms.swap_cycles.{size}"] = (shared - own) * lanai41().slot_khz / 2000
    return figures


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--repetitions", type=int, default=3, metavar="N", help="round trips a size (default: %(default)s)"
    )


def run(args: argparse.Namespace) -> dict[str, float]:
    if args.repetitions < 1:
        raise UserError(f"--repetitions {args.repetitions} measures nothing; take at least 1")
    return measure(SIZES, args.repetitions) | pools(KEPT_SIZES)


__all__ = ["HELP", "NAME", "add_arguments", "measure", "pools", "run"]
