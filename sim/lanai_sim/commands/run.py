"""Run an MPI program, unchanged, on simulated NICs. `python` as the program is the interpreter that
lanai runs under."""

import argparse
import sys
from pathlib import Path
from typing import Any

from lanai_host.config import DRIVER_ONLY
from lanai_host.config import PRESETS as HOST_PRESETS
from lanai_host.errors import UserError
from lanai_host.simulator.protocol import ENV_LEAKS, ENV_RACES
from lanai_host.stacks import names as device_names
from lanai_host.stacks import stack

from ..engines.kinds import names as engine_names
from ..figures import write_json
from ..job import launcher, settings
from ..job.buffers import Buffers
from ..job.config import RunConfig
from ..job.restart.plan import is_kill
from ..job.start import libmpi_environment, run_job
from ..machine.presets import PRESETS as NIC_PRESETS
from ..units import duration

NAME = "run"
HELP = "run an MPI program on N simulated NICs"
STEP = 20_000  # picoseconds of a counted step, if no price is given: some five cycles of the default host
# Flags that mean NICs or what joins them.
NIC_FLAGS = (
    "nic", "nic_option", "firmware", "buffers", "fabric", "engine", "threads", "no_skip", "no_snapshot", "fault",
    "survive_death",
    "wave", "wave_nodes", "wave_from", "wave_to",
)  # fmt: skip


def sim_time(text: str) -> str:
    """'20ms' for argparse: looked at here, so that a complaint names the flag."""
    try:
        duration(text)
    except UserError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def compute(text: str) -> int:
    """'free', 'counted' or 'counted:PRICE' for argparse: picoseconds for each step."""
    how, colon, price = text.partition(":")
    if text == "free":
        return 0
    if how != "counted" or (colon and not price):
        raise argparse.ArgumentTypeError(f"{text!r} is not understood; write free, counted, or counted:20ns")
    return duration(sim_time(price)) if colon else STEP


def count(text: str) -> int:
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a count; write a whole number from 1")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A flag that is not given is None (or empty), and then the configuration file or the default
    counts."""
    add = parser.add_argument
    on: dict[str, Any] = {"action": "store_const", "const": True}
    add("--config", metavar="FILE", help="settings as TOML; the flags below are laid over them")
    add("-n", "--ranks", type=count, metavar="N", help="processes to start (default: 1)")
    add("--device", choices=device_names(), help="messaging system below MPI (default: ideal)")
    add(
        "--universe",
        type=count,
        metavar="N",
        help="ranks and spares together; spares have NICs for processes that the program starts (default: none)",
    )
    add("--ranks-per-node", type=count, metavar="K", help="ranks that share a NIC (default: 1)")
    add(
        "--fabric",
        metavar="F",
        help="switch (the default), switches:N, pair, torus:XxYxZ, mesh:XxYxZ, segment, ethernet, hub, "
        "switching-hub, "
        "or a .toml file with cables",
    )
    add("--max-sim-time", type=sim_time, metavar="TIME", help="end at this simulated time, e.g. 20ms")
    add("--max-wall", type=float, metavar="SECONDS", help="end after this much real time")
    add("--nic", choices=sorted(NIC_PRESETS), help="what each NIC is built as (default: lanai41)")
    add("--host", choices=sorted(HOST_PRESETS), help="what the host's own work costs (default: pentium2_266)")
    options: dict[str, Any] = {"action": "append", "default": []}
    add("--nic-option", **options, metavar="NAME=VALUE", help="change one parameter of the NICs, e.g. link_latency=16")
    add("--host-option", **options, metavar="NAME=VALUE",
        help="change one choice of the host, e.g. pio_threshold=256, host_matching=1")  # fmt: skip
    add("--firmware", **options, metavar="NAME=VALUE",
        help="change one choice of the NIC's firmware, e.g. recovery=1, ack_slots=1")  # fmt: skip
    add("--option", **options, metavar="NAME=VALUE",
        help="change one choice of the messaging system, whichever it is")  # fmt: skip
    add("--cpu-scale", type=float, metavar="X",
        help="also charge the program's measured CPU time, times X; runs are then no longer deterministic")  # fmt: skip
    add(
        "--compute",
        type=compute,
        metavar="HOW",
        help="counted[:PRICE]: the program's own work takes time, counted in steps of 20ns or PRICE (default: free)",
    )
    add("--engine", choices=engine_names(), help="what evaluates the NICs; cycles are the same (default: rtl)")
    add("--threads", type=count, help="threads that evaluate NICs; results are the same (default: 1)")
    add("--no-skip", **on, help="evaluate still NICs too; results are the same")
    add(
        "--no-fork",
        **on,
        help="start a Python interpreter for each rank, not one that forks into all; results may differ",
    )
    add("--no-snapshot", **on, help="boot the NICs though an earlier run has kept them booted; results are the same")
    add(
        "--fault",
        **options,
        metavar="F",
        help="e.g. 'drop nic0 packet=3', 'corrupt * rate=0.01 seed=7', 'kill rank2 at=3ms' (on any device)",
    )
    add(
        "--checkpoint",
        metavar="every=TIME",
        help="each rank takes a snapshot of itself this often, e.g. every=2ms; a rank that is killed is made anew "
        "from its last one",
    )
    add("--wave", metavar="FILE", help="write waveforms (.vcd, .vcd.gz); with several nodes FILE gets their numbers")
    add("--wave-nodes", metavar="N,N", help="whose waveforms (default: 0)")
    add("--wave-from", type=sim_time, metavar="TIME", help="begin them at this simulated time")
    add("--wave-to", type=sim_time, metavar="TIME", help="end them at this simulated time")
    add(
        "--trace",
        metavar="FILE",
        help="record every event, for `lanai report`, `timeline` and others; results stay the same",
    )
    add("-q", "--quiet", action="store_true", help="do not report at the end where the time went")
    add("--json", metavar="FILE", help="write how much time was simulated, and how many cycles the NICs lived through")
    add(
        "--survive-death",
        **on,
        help="a rank that dies is an MPI error for the ranks that talk to it; else it ends the job",
    )
    add("--prefix", **on, help="put [rank] before each line that a rank prints")
    add("--buffers", choices=[one.value for one in Buffers],
        help="page: buffers of ranks cross no more page boundaries than they must; any (the default): "
             "as the heap has it")  # fmt: skip
    add("--report-leaks", action="store_true", help="tell at MPI_Finalize what each rank has not freed or received")
    add(
        "--report-races",
        action="store_true",
        help="tell which one-sided operations of two ranks race for the same bytes",
    )
    add("program", nargs=argparse.REMAINDER, metavar="PROGRAM ARGS", help="what each rank runs")


def assignments(option: str, words: list[str]) -> dict[str, int | float | str]:
    """NAME=VALUE words as a dictionary; a value that reads as a number is one."""
    found: dict[str, int | float | str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals or not value:
            raise UserError(f"{option} {word!r} is not understood; write NAME=VALUE")
        for kind in (int, float, str):
            try:
                found[name] = kind(value)
                break
            except ValueError:
                continue
    return found


def document_of(args: argparse.Namespace) -> settings.Document:
    """What the flags say, as a document to be laid over the file's."""
    nodes = None
    if args.wave_nodes is not None:
        words = args.wave_nodes.split(",")
        if not all(word.isdecimal() for word in words):
            raise UserError(f"--wave-nodes {args.wave_nodes!r} is not understood; write node numbers, such as 0,1")
        nodes = [int(word) for word in words]
    document: settings.Document = {
        "ranks": args.ranks,
        "universe": args.universe,
        "device": args.device,
        "ranks_per_node": args.ranks_per_node,
        "fabric": args.fabric,
        "engine": args.engine,
        "threads": args.threads,
        "skip": False if args.no_skip else None,
        "snapshot": False if args.no_snapshot else None,
        "fork": False if args.no_fork else None,
        "survive": args.survive_death,
        "prefix": args.prefix,
        "buffers": args.buffers,
        "faults": args.fault or None,
        "checkpoint": args.checkpoint,
        "limits": {"sim_time": args.max_sim_time, "wall": args.max_wall},
        "nic": {"preset": args.nic, **assignments("--nic-option", args.nic_option)},
        "host": {
            "preset": args.host,
            "cpu_scale": args.cpu_scale,
            "compute": args.compute,
            **assignments("--host-option", args.host_option),
        },
        "firmware": assignments("--firmware", args.firmware),
        "wave": {"file": args.wave, "nodes": nodes, "from": args.wave_from, "to": args.wave_to},
    }
    given = {key: _given(value) if isinstance(value, dict) else value for key, value in document.items()}
    return {key: value for key, value in given.items() if value not in (None, {})}


def _given(table: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value is not None}


def check_flags(args: argparse.Namespace, config: RunConfig) -> None:
    """Refuse flags that cannot act on the device. A file's tables may describe what another device
    would use."""
    if config.stack.nics:
        return
    faults = [text for text in args.fault if not is_kill(text)]
    flags = {**vars(args), "fault": faults}
    given = [flag for flag, value in flags.items() if flag in NIC_FLAGS and value not in (None, [])]
    driver = [word for word in args.host_option if word.partition("=")[0] in DRIVER_ONLY]
    names = [f"--{flag.replace('_', '-')}" for flag in given] + [f"--host-option {word}" for word in driver]
    if names:
        nics = ", ".join(name for name in device_names() if stack(name).nics)
        raise UserError(
            f"{', '.join(names)} cannot act on the device {config.device!r}, which has no NICs; choose one "
            f"that has: --device {nics}"
        )


def config_of(args: argparse.Namespace) -> RunConfig:
    """The run that the command line asks for."""
    command = tuple(args.program[1:] if args.program[:1] == ["--"] else args.program)
    if not command:
        raise UserError("no program was named; write, for example: lanai run -n 2 python examples/mpi/ring.py")
    document = settings.read(Path(args.config)) if args.config is not None else {}
    document = settings.overlay(document, document_of(args))
    if options := assignments("--option", args.option):
        table = stack(document.get("device", "ideal")).options_table
        document = settings.overlay(document, {table: options})
    environment = libmpi_environment(command[0])
    if args.report_leaks:
        environment[ENV_LEAKS] = "1"
    if args.report_races:
        environment[ENV_RACES] = "1"
    if args.trace is not None and "wave" in document:
        raise UserError("--trace and waveforms need the NICs built in different ways; run twice, the runs are the same")
    tty = sys.stderr.isatty()
    config = settings.run_config(document, command, progress=tty, environment=environment, trace=args.trace)
    check_flags(args, config)
    return config


def run(args: argparse.Namespace) -> int:
    config = config_of(args)
    if config.host.cpu_scale:
        print("lanai: note: cpu_scale makes this run depend on the machine and its load", file=sys.stderr)
    if config.device == "ideal" and (config.faults or config.wave is not None):
        print(
            "lanai: note: the device ideal has no NICs and no wires: no faults happen, no waveform is written",
            file=sys.stderr,
        )
    result = run_job(config)
    launcher.print_report(result)
    if not args.quiet:
        sys.stdout.flush()
        for line in result.summary.lines():
            print(f"lanai: {line}", file=sys.stderr)
    if args.json is not None:
        write_json(
            args.json, result.summary.figures(), {"device": config.device, "ranks": config.ranks, "code": result.code}
        )
    return result.code
