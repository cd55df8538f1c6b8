"""What the firmware's switches cost and bring: one-way times of the same messages with recovery on, and with cut-through off.

The host's own work is free here, so that what is left is bus, NIC and wire; cycles are the NIC processor's.
"""

import argparse

from lanai_firmware.mcp.plan import McpConfig
from lanai_hdl.config import lanai41
from lanai_host.config import free
from lanai_host.errors import UserError

from .p2p import traffic
from .p2p.pair import Setting

NAME = "mcp"
HELP = "one-way times of mpi-np with recovery on or off, cut-through on or off"

SIZES = (4, 1024, 4096, 16384, 65536, 262144)
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--repetitions", type=int, default=3, metavar="N", help="round trips a size (default: %(default)s)"
    )


def run(args: argparse.Namespace) -> dict[str, float]:
    if args.repetitions < 1:
        raise UserError(f"--repetitions {args.repetitions} measures nothing; take at least 1")
    return measure(SIZES, args.repetitions)


__all__ = ["HELP", "NAME", "add_arguments", "measure", "run"]
