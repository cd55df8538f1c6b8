"""Run an MPI program, unchanged, on simulated NICs. `python` as the program is the interpreter that lanai runs under."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from lanai_firmware.mcp.plan import McpConfig
from lanai_hdl.config import PRESETS as NIC_PRESETS
from lanai_host.config import PRESETS as HOST_PRESETS
from lanai_host.connect import DEVICES
from lanai_host.errors import UserError

from .. import faults, launcher, processes
from ..kernel import FOREVER, Kernel
from ..launcher import RunConfig, WaveConfig, World
from ..units import duration

NAME = "run"
HELP = "run an MPI program on N simulated NICs"


def sim_time(text: str) -> int:
    """'20ms' -> picoseconds, for argparse."""
    try:
        return duration(text)
    except UserError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


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
    parser.add_argument("--nic", choices=sorted(NIC_PRESETS), default="lanai41", help="what each NIC is built as")
    parser.add_argument(
        "--host", choices=sorted(HOST_PRESETS), default="pentium2_266", help="what the host's own work costs"
    )
    parser.add_argument(
        "--host-option", action="append", default=[], metavar="NAME=VALUE",
        help="change one choice of the host, e.g. pio_threshold=256, host_matching=1",
    )  # fmt: skip
    parser.add_argument(
        "--firmware", action="append", default=[], metavar="NAME=VALUE",
        help="change one choice of the NIC's firmware, e.g. recovery=1, ack_slots=1",
    )  # fmt: skip
    parser.add_argument(
        "--cpu-scale", type=float, default=0.0, metavar="X",
        help="also charge the program's measured CPU time, times X; runs are then no longer deterministic",
    )  # fmt: skip
    parser.add_argument("--threads", type=count, default=1, help="threads that evaluate NICs; results are the same")
    parser.add_argument("--no-skip", action="store_true", help="evaluate still NICs too; results are the same")
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="F",
        help="e.g. 'drop nic0 packet=3', 'corrupt * rate=0.01 seed=7'",
    )
    parser.add_argument(
        "--wave", metavar="FILE", help="write waveforms (VCD); with several nodes FILE gets their numbers"
    )
    parser.add_argument("--wave-nodes", default="0", metavar="N,N", help="whose waveforms (default: 0)")
    parser.add_argument("--wave-from", type=sim_time, default=0, metavar="TIME")
    parser.add_argument("--wave-to", type=sim_time, default=FOREVER, metavar="TIME")
    parser.add_argument("--prefix", action="store_true", help="put [rank] before each line that a rank prints")
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM ARGS", help="what each rank runs")


def libmpi_environment(program: str = "python") -> dict[str, str]:
    """What makes a program find our libmpi."""
    from lanai_host.abi.programs import environment

    return environment(Path(processes.resolve_program(program)))


def numbers(option: str, words: list[str]) -> dict[str, int]:
    """NAME=VALUE words as a dictionary."""
    found = {}
    for word in words:
        name, _, value = word.partition("=")
        if not name or not value.isdecimal():
            raise UserError(f"{option} {word!r} is not understood; write NAME=NUMBER")
        found[name] = int(value)
    return found


def wave_of(args: argparse.Namespace) -> WaveConfig | None:
    if args.wave is None:
        return None
    words = args.wave_nodes.split(",")
    if not all(word.isdecimal() for word in words):
        raise UserError(f"--wave-nodes {args.wave_nodes!r} is not understood; write node numbers, such as 0,1")
    return WaveConfig(args.wave, tuple(int(word) for word in words), args.wave_from, args.wave_to)


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
    if args.cpu_scale:
        print("lanai: note: --cpu-scale makes this run depend on the machine and its load", file=sys.stderr)
    config = RunConfig(
        command,
        args.ranks,
        args.device,
        host=HOST_PRESETS[args.host]().but(cpu_scale=args.cpu_scale, **numbers("--host-option", args.host_option)),
        ranks_per_node=args.ranks_per_node,
        fabric=args.fabric,
        nic=NIC_PRESETS[args.nic](),
        mcp=McpConfig().but(**numbers("--firmware", args.firmware)),
        threads=args.threads,
        skip=not args.no_skip,
        faults=tuple(faults.parse(text) for text in args.fault),
        wave=wave_of(args),
        max_sim_time=args.max_sim_time,
        max_wall=args.max_wall,
        prefix=args.prefix,
        progress=sys.stderr.isatty(),
        environment=libmpi_environment(command[0]),
    )
    result = launcher.run(config, world_of(config))
    launcher.print_report(result)
    return result.code
