"""Run a published test suite of MPI, unchanged, on simulated NICs, and tell what passed."""

import argparse
import importlib.metadata
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from lanai_host.connect import DEVICES
from lanai_host.errors import UserError

from ..conform import jobs, suite
from ..conform.outcome import Outcome, figures
from ..conform.page import Comparison, compare, page
from ..figures import write_json

NAME = "conform"
HELP = "run mpi4py's own test suite on simulated NICs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("suite", choices=["mpi4py"], help="whose tests")
    parser.add_argument("-n", "--ranks", type=int, default=2, metavar="N", help="processes (2)")
    parser.add_argument("--device", choices=DEVICES, default="ideal", help="messaging system below MPI (ideal)")
    parser.add_argument(
        "--module", action="append", default=[], metavar="NAME",
        help="only this module, or those that match, as in 'test_p2p_*'; may be repeated",
    )  # fmt: skip
    parser.add_argument("--together", action="store_true", help="all modules in one job, as the suite runs itself")
    parser.add_argument("--against", choices=["mpich"], help="run the same on real MPICH, and tell where it differs")
    parser.add_argument("--limit", type=float, default=600.0, metavar="SECONDS", help="real time for one job (600)")
    parser.add_argument("--page", metavar="FILE", help="write the table as Markdown")
    parser.add_argument("--json", metavar="FILE", help="write the figures")


def run(args: argparse.Namespace) -> int:
    if args.ranks < 1:
        raise UserError(f"-n {args.ranks}: at least one process is needed")
    there = jobs.mpich() if args.against else None  # said before the long part if it is not there
    console = Console(highlight=False)
    names = suite.modules(args.module)
    outcomes = _outcomes(console, jobs.simulated(args.device), names, args)
    totals = figures(outcomes)
    console.print(", ".join(f"{int(value)} {name.removeprefix('mpi4py.')}" for name, value in totals.items()))
    against = None
    if there is not None:
        against = _compare(console, there, names, args, outcomes)
        totals["mpi4py.failed_only_here"] = len(against[1].only_fail_here)
    if args.page:
        Path(args.page).write_text(page(outcomes, args.ranks, args.device, _command(), against))
    if args.json:
        config = {"suite": "mpi4py", "version": suite.VERSION, "ranks": args.ranks, "device": args.device}
        write_json(args.json, totals, config)
    return 1 if totals["mpi4py.failed"] else 0


def _command() -> str:
    return shlex.join(["lanai", *sys.argv[1:]])


def _outcomes(console: Console, command: jobs.Command, names: Sequence[str], args: argparse.Namespace) -> list[Outcome]:
    found = (
        jobs.run_together(command, names, args.ranks, args.limit)
        if args.together
        else jobs.run(command, names, args.ranks, args.limit)
    )
    outcomes = []
    for outcome in found:
        outcomes.append(outcome)
        counts = f"{outcome.passed:5} passed {len(outcome.skipped):4} skipped {len(outcome.failed):4} failed"
        end = f"  did not end: {outcome.trouble}" if outcome.trouble else ""
        spent = (
            f" {outcome.seconds:6.1f} s" if outcome.seconds else ""
        )  # of a job with several modules, the last has it
        console.print(f"{outcome.module:24} {counts}{spent}{end}", markup=False)
        for name in outcome.failed:
            console.print(f"    {name}", markup=False)
    return outcomes


def _compare(
    console: Console, there: jobs.Command, names: Sequence[str], args: argparse.Namespace, ours: Sequence[Outcome]
) -> tuple[str, Comparison]:
    version = importlib.metadata.version("mpich")
    console.print(f"MPICH {version}:")
    comparison = compare(ours, _outcomes(console, there, names, args))
    for line in filter(None, comparison.lines()):
        console.print(line, markup=False)
    return version, comparison
