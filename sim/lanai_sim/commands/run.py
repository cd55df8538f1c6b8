"""Run an MPI program, unchanged, on simulated NICs. `python` as the program is the interpreter that lanai runs under."""

import argparse
import os
from collections.abc import Callable

from lanai_host.connect import DEVICES
from lanai_host.errors import UserError

from .. import launcher
from ..kernel import FOREVER, Kernel
from ..launcher import RunConfig, World

NAME = "run"
HELP = "run an MPI program on N simulated NICs"

UNITS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}


def sim_time(text: str) -> int:
    """'20ms' -> picoseconds."""
    for unit in ("ps", "ns", "us", "ms", "s"):
        number = text.removesuffix(unit)
        if number != text:
            try:
                value = float(number)
            except ValueError:
                break
            if value > 0:
                return int(value * UNITS[unit])
    raise argparse.ArgumentTypeError(f"{text!r} is not a time; write a number and a unit, such as 500us, 20ms or 1s")


def count(text: str) -> int:
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a count; write a whole number from 1")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", "--ranks", type=count, default=1, metavar="N", help="processes to start")
    parser.add_argument("--device", choices=DEVICES, default="ideal", help="messaging system below MPI")
    parser.add_argument("--ranks-per-node", type=count, default=1, metavar="K", help="ranks that share a NIC")
    parser.add_argument(
        "--fabric", default="switch", metavar="F", help="switch, switches:N, pair, or a .toml file with cables"
    )
    parser.add_argument(
        "--max-sim-time",
        type=sim_time,
        default=FOREVER,
        metavar="TIME",
        help="end at this simulated time, e.g. 20ms",
    )
    parser.add_argument(
        "--max-wall", type=float, default=float("inf"), metavar="SECONDS", help="end after this much real time"
    )
    parser.add_argument("--prefix", action="store_true", help="put [rank] before each line that a rank prints")
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM ARGS", help="what each rank runs")


def libmpi_environment() -> dict[str, str]:
    """What makes C programs and mpi4py find our libmpi."""
    from lanai_host.abi import library_directory

    directory = str(library_directory())
    paths = [directory, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    return {"LD_LIBRARY_PATH": os.pathsep.join(paths), "MPI4PY_LIBMPI": directory, "MPI4PY_MPIABI": "mpich"}


def world_of(config: RunConfig) -> Callable[[RunConfig, Kernel], World]:
    """The world in which the device lives."""
    if config.device == "ideal":
        return World
    from ..nic_world import NicWorld

    return NicWorld


def run(args: argparse.Namespace) -> int:
    command = tuple(args.program[1:] if args.program[:1] == ["--"] else args.program)
    if not command:
        raise UserError("no program was named; write, for example: lanai run -n 2 python examples/mpi/ring.py")
    config = RunConfig(
        command, args.ranks, args.device, ranks_per_node=args.ranks_per_node, fabric=args.fabric, max_sim_time=args.max_sim_time, max_wall=args.max_wall, prefix=args.prefix,
        environment=libmpi_environment(),
    )  # fmt: skip
    result = launcher.run(config, world_of(config))
    launcher.print_report(result)
    return result.code
