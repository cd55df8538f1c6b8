"""The flags of `lanai run`, and the kinds of values that they take."""

import argparse
from collections.abc import Callable
from typing import Any

from lanai_host.clocks.library import Clock
from lanai_host.config import PRESETS as HOST_PRESETS
from lanai_host.errors import UserError
from lanai_host.stacks import names as device_names

from ...command_line import count
from ...engines.kinds import names as engine_names
from ...job.data import Buffers
from ...job.systems import SYSTEMS
from ...machine import fabrics
from ...machine.blocks import names as block_names
from ...machine.presets import PRESETS as NIC_PRESETS
from ...units import duration

FIRST = (  # that a short help shows
    "--ranks", "--device", "--ranks-per-node", "--nic", "--max-sim-time", "--trace", "--json",
)  # fmt: skip
STORE = "lanai.db"  # as `lanai_sim.store` has it, which no other run need load
STEP = 4_000  # picoseconds of a counted step, if no price is given: about a cycle of the default host


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
        raise argparse.ArgumentTypeError(f"{text!r} is not understood; write free, counted, or counted:4ns")
    return duration(sim_time(price)) if colon else STEP


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags, and the program."""
    add_flags(parser)
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM ARGS", help="what each rank runs")


def add_flags(parser: argparse.ArgumentParser) -> None:
    """A flag that is not given is None (or empty), and then the configuration file or the default
    counts."""
    parser.add_argument("--config", metavar="FILE", help="a TOML file with settings; the flags below override it")
    _add_machine(parser.add_argument_group("machine").add_argument)
    _add_choices(parser.add_argument_group("parameters of its parts").add_argument)
    _add_time(parser.add_argument_group("time and limits").add_argument)
    _add_evaluation(parser.add_argument_group("how it is evaluated").add_argument)
    _add_faults(parser.add_argument_group("faults").add_argument)
    _add_records(parser.add_argument_group("what is recorded and reported").add_argument)


Add = Callable[..., object]  # `add_argument` of a group
REPEATED: dict[str, Any] = {"action": "append", "default": []}
ON: dict[str, Any] = {"action": "store_const", "const": True}


def _add_machine(add: Add) -> None:
    add("-n", "--ranks", type=count, metavar="N", help="processes to start (default: 1)")
    add(
        "--device",
        choices=device_names(),
        help="messaging system below MPI (default: ideal; lanai2 if flags ask for NICs)",
    )
    add(
        "--system",
        choices=list(SYSTEMS),
        metavar="NAME",
        help="a device and its machine in one word, e.g. ccu-1996 (`lanai list systems`); other flags change parts "
        "of it",
    )
    add(
        "--universe",
        type=count,
        metavar="N",
        help="number of ranks and spares together; the program may start processes on the spares (default: no spares)",
    )
    add("--ranks-per-node", type=count, metavar="K", help="ranks that share a NIC (default: 1)")
    add(
        "--fabric",
        metavar="F",
        help=f"{fabrics.usages()} or a .toml file with cables (default: switch)",
    )
    nics = sorted(NIC_PRESETS)
    add("--nic", choices=nics, metavar="NIC", help=f"preset of the NICs: {', '.join(nics)} (default: lanai41)")
    add(
        "--block",
        **REPEATED,
        metavar="BLOCK[:NAME=VALUE,...]",
        help=f"put an optional block of hardware into each NIC: {', '.join(block_names())}, or one on LANAI_PATH",
    )
    hosts = sorted(HOST_PRESETS)
    add(
        "--host",
        choices=hosts,
        metavar="HOST",
        help=f"preset of the hosts, which says what their own work costs: {', '.join(hosts)} (default: pentium2_266)",
    )


def _add_choices(add: Add) -> None:
    for flag, what in {
        "--nic-option": "change one parameter of the NICs or of their blocks, e.g. link_latency=16, remote.peers=32",
        "--host-option": "change one parameter of the hosts, e.g. pio_threshold=256, host_matching=yes",
        "--firmware": "change one parameter of the NICs' firmware, e.g. recovery=1, ack_slots=1",
        "--option": "change one parameter of the messaging system, e.g. eager=8192 on sci",
    }.items():
        add(flag, **REPEATED, metavar="NAME=VALUE", help=what)


def _add_time(add: Add) -> None:
    add("--max-sim-time", type=sim_time, metavar="TIME", help="end at this simulated time, e.g. 20ms")
    add("--max-wall", type=float, metavar="SECONDS", help="end after this much real time")
    add(
        "--compute",
        type=compute,
        metavar="HOW",
        help="free: the program's own work takes no time (default); counted[:PRICE]: each counted step takes 4ns, "
        "or PRICE",
    )
    add(
        "--cpu-scale",
        type=float,
        metavar="X",
        help="also charge the program's measured CPU time, times X; runs are then no longer deterministic",
    )
    add(
        "--buffers",
        choices=[one.value for one in Buffers],
        help="page: buffers cross no more page boundaries than they must (default on NICs); any: they lie where the "
        "heap puts them",
    )
    add(
        "--clock",
        choices=[one.value for one in Clock],
        help="time by which clocks, sleeps and time limits of ranks go; MPI_Wtime is always simulated (default: "
        "simulated on NICs, real on ideal)",
    )


def _add_evaluation(add: Add) -> None:
    add(
        "--engine",
        choices=engine_names(),
        help="what evaluates the NICs: rtl or pysim, with the same cycles, or board, whose times are its own "
        "(default: rtl)",
    )
    add(
        "--board",
        metavar="PORT,PORT",
        help="for --engine board: the boards' serial ports, the name of a board to simulate, or both as NAME:PORT,PORT",
    )
    add("--threads", type=count, help="threads that evaluate NICs; results are the same (default: 1)")
    add("--no-skip", **ON, help="do not skip idle NICs; results are the same")
    add(
        "--parts",
        **ON,
        help="simulate a part of the machine in each process of an MPI job (`mpiexec -n K lanai run --parts ...`); "
        "results are the same",
    )
    add(
        "--no-fork",
        **ON,
        help="start each rank by itself instead of forking all from one process; results may differ",
    )
    add("--no-snapshot", **ON, help="boot the NICs instead of loading the boot snapshot; results are the same")


def _add_faults(add: Add) -> None:
    add(
        "--fault",
        **REPEATED,
        metavar="F",
        help="let something fail: 'drop nic0 packet=3', 'corrupt * rate=0.01 seed=7', 'kill rank2 at=3ms' (on any "
        "device)",
    )
    add(
        "--checkpoint",
        metavar="every=TIME",
        help="save each rank this often, e.g. every=2ms; a rank that is killed is restarted from its last snapshot",
    )
    add(
        "--survive-death",
        **ON,
        help="let a rank's death be an MPI error for the ranks that talk to it, instead of the end of the job",
    )


def store_file(text: str) -> str:
    """A store's name for argparse. A program that follows `--store` is not one."""
    if not text.endswith(".db"):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a store's name, which ends in .db; write --store=FILE.db, or -- before the program"
        )
    return text


def add_store(add: Add) -> None:
    """The option that keeps results."""
    add(
        "--store",
        nargs="?",
        type=store_file,
        const=STORE,
        metavar="FILE.db",
        help=f"keep the result in a store, for `lanai results` (default file: {STORE})",
    )


def _add_records(add: Add) -> None:
    add(
        "--trace",
        metavar="FILE",
        help="record every event, for `lanai trace report`, `timeline` and others; results stay the same",
    )
    add(
        "--wave",
        metavar="FILE",
        help="write waveforms (.vcd, .vcd.gz); with several nodes a file for each, with its number in the name",
    )
    add("--wave-nodes", metavar="N,N", help="nodes whose waveforms are written (default: 0)")
    add("--wave-from", type=sim_time, metavar="TIME", help="begin waveforms at this simulated time")
    add("--wave-to", type=sim_time, metavar="TIME", help="end waveforms at this simulated time")
    add("-q", "--quiet", action="store_true", help="print no summary at the end")
    add("-v", "--verbose", action="store_true", help="print at the end what ranks, links and NICs did")
    add("--json", metavar="FILE", help="write the figures, and the settings that made them")
    add_store(add)
    add("--prefix", **ON, help="put [rank] before each line that a rank prints")
    add("--report-leaks", action="store_true", help="list at MPI_Finalize what each rank has not freed or received")
    add("--replay", metavar="FILE", help="follow a schedule that `lanai explore` has written")
    add("--debug", type=int, metavar="RANK", help="with --replay: run this rank under pdb or gdb, on the terminal")
    add(
        "--report-races",
        action="store_true",
        help="report one-sided operations of two ranks that race for the same bytes",
    )
