"""The cache of what was built: its size by kind, a limit, archives for other machines, and building ahead."""

import argparse
import copy
import sys
import tempfile
import time
from pathlib import Path

from rich.table import Table

from lanai_firmware import cache_upkeep
from lanai_firmware.cache_upkeep import Stored, stored
from lanai_hdl.cache_entries import directory
from lanai_host.errors import UserError
from lanai_host.stacks import names, stack

from ..command_line import Parser
from ..console import wide
from ..units import counted
from . import run as run_command
from .run.flags import FIRST as RUN_FIRST
from .run.flags import add_flags

NAME = "cache"
HELP = "the cache of what was built: sizes, warm, prune, export, import"
FIRST_OF_WARM = tuple(flag for flag in RUN_FIRST if flag not in ("--device", "--max-sim-time", "--json"))
# A program that begins and ends, of any Python.
PROGRAM = "import ctypes; mpi = ctypes.CDLL('libmpi.so.12'); mpi.MPI_Init(None, None); mpi.MPI_Finalize()"
RANKS = 2  # that run it
WHAT = {
    "abi": "libmpi.so in place, for one Python each",
    "bindings": "links to MPICH's Fortran bindings",
    "boot": "NICs as their firmware has booted them",
    "cocotb": "gateware as cocotb's simulators run it",
    "engine": "the simulation engine",
    "gates": "models of NICs and switches",
    "image": "firmware",
    "libmpi": "libmpi.so as it was compiled",
    "linked": "what a compiler has ready",
    "model": "which sources make which model",
    "mpi4py": "mpi4py's tests and demos",
    "native": "C parts of Python modules",
    "object": "parts of firmware",
    "rtl": "models by Verilator, and their parts",
    "verilog": "gateware as Verilog",
}


def add_arguments(parser: Parser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    ahead = actions.add_parser(
        "warm", first=FIRST_OF_WARM, help="build ahead what runs need, so that the first does not wait",
        description="Build ahead what runs need: libmpi, firmware, models of NICs and fabrics, booted NICs. Flags are "
        "those of `lanai run`, since other NICs, fabrics and numbers of ranks need other models.",
    )  # fmt: skip
    add_flags(ahead)
    ahead.add_argument(
        "devices", nargs="*", metavar="DEVICE", help=f"devices to build for: {', '.join(names())} (default: all)"
    )
    prune = actions.add_parser("prune", help="remove entries, those first that were used longest ago")
    prune.add_argument(
        "--to", metavar="SIZE", help="remove until the cache has this size, e.g. 500M; 0: all (default: the limit)"
    )
    export = actions.add_parser("export", help="write the cache to an archive")
    taken = actions.add_parser("import", help="add an archive's entries, which are programs: take none from strangers")
    for action in (export, taken):
        action.add_argument("file", metavar="FILE", help="the archive, e.g. cache.tar.gz")


def run(args: argparse.Namespace) -> int:
    if args.action == "warm":
        return warm_all(args)
    if args.action == "prune":
        most = cache_upkeep.limit() if args.to is None else cache_upkeep.size(args.to, f"--to {args.to!r}")
        pruned = cache_upkeep.Pruned([], []) if most is None else cache_upkeep.prune(most)
        print(f"removed {counted(len(pruned.gone), 'entry')}, {megabytes(sum(entry.size for entry in pruned.gone))}")
        if pruned.kept:
            raise UserError(
                f"{counted(len(pruned.kept), 'entry')} of {str(directory())!r} cannot be removed by this user; "
                "prune as the owner, or set LANAI_CACHE to another place"
            )
    elif args.action == "export":
        print(f"wrote {counted(cache_upkeep.export(args.file, stored()), 'entry')} to {args.file}")
    elif args.action == "import":
        new, known = cache_upkeep.add(args.file)
        print(f"added {counted(new, 'entry')}; {known} were here already")
    else:
        show(stored())
    return 0


def show(entries: list[Stored]) -> None:
    table = Table("kind", "entries", "size", "last used", "what it is")
    now = time.time()
    for kind in sorted({entry.kind for entry in entries}):
        members = [entry for entry in entries if entry.kind == kind]
        size, used = sum(entry.size for entry in members), max(entry.used for entry in members)
        table.add_row(kind, str(len(members)), megabytes(size), _ago(now - used), WHAT.get(kind, ""))
    most = cache_upkeep.limit()
    console = wide()
    console.print(table)
    limit = "no limit" if most is None else f"limit {megabytes(most)}"
    console.print(
        f"{directory()}: {counted(len(entries), 'entry')}, {megabytes(sum(entry.size for entry in entries))}, {limit}"
    )
    console.print(f"set {cache_upkeep.VARIABLE}=2G for another limit (0: none), LANAI_CACHE for another place")


def megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


def _ago(seconds: float) -> str:
    """Exact to the hour, as the cache knows it."""
    hours = int(seconds / 3600)
    return (
        "in the last hour"
        if hours < 1
        else f"{counted(hours, 'hour')} ago"
        if hours < 48
        else f"{hours // 24} days ago"
    )


def warm_all(args: argparse.Namespace) -> int:
    chosen = args.devices or ([args.device] if args.device else [])
    for name in chosen:
        stack(name)
    failed = 0
    for name in chosen or names():
        try:
            failed = warm(name, args) or failed
        except UserError as error:
            if chosen:
                raise
            print(f"{name}: left out: {error}")  # flags need not fit all devices
    return failed


def warm(device: str, args: argparse.Namespace) -> int:
    """Run a program of nothing on one device; its exit code. Files that flags name are not written."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lanai-warm-") as folder:
        asked = copy.copy(args)
        asked.device, asked.ranks, asked.program = device, args.ranks or RANKS, [sys.executable, "-c", PROGRAM]
        for flag, name in (("trace", "run.trace"), ("wave", "run.vcd")):
            if getattr(args, flag) is not None:
                setattr(asked, flag, str(Path(folder, name)))
        result = run_command.config_of(asked).run()
    if result.code:
        print(f"{device}: failed: {result.report}")
    else:
        print(f"{device}: ready after {time.monotonic() - began:.1f} s", flush=True)
    return result.code
