"""Run a published test suite of MPI, unchanged, on simulated NICs, and tell what passed."""

import argparse
from pathlib import Path

from rich.console import Console

from lanai_host.connect import DEVICES
from lanai_host.errors import UserError

from .. import conform
from ..figures import write_json

NAME = "conform"
HELP = "run mpi4py's own test suite on simulated NICs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("suite", choices=["mpi4py"], help="whose tests")
    parser.add_argument("-n", "--ranks", type=int, default=2, metavar="N", help="processes (2)")
    parser.add_argument("--device", choices=DEVICES, default="ideal", help="messaging system below MPI (ideal)")
    parser.add_argument(
        "--module", action="append", default=[], metavar="NAME", help="only this module; may be repeated"
    )
    parser.add_argument("--limit", type=float, default=600.0, metavar="SECONDS", help="real time for one module (600)")
    parser.add_argument("--page", metavar="FILE", help="write the table as Markdown")
    parser.add_argument("--json", metavar="FILE", help="write the figures")


def run(args: argparse.Namespace) -> int:
    if args.ranks < 1:
        raise UserError(f"-n {args.ranks}: at least one process is needed")
    console = Console(highlight=False)
    outcomes = []
    for outcome in conform.run(conform.modules(args.module), args.ranks, args.device, args.limit):
        outcomes.append(outcome)
        line = (
            f"{outcome.module:24} {outcome.passed:5} passed {outcome.skipped:4} skipped {len(outcome.failed):4} failed"
        )
        console.print(line + (f"  did not end: {outcome.trouble}" if outcome.trouble else ""))
        for name in outcome.failed:
            console.print(f"    {name}")
    figures = conform.figures(outcomes)
    console.print(", ".join(f"{int(value)} {name.removeprefix('mpi4py.')}" for name, value in figures.items()))
    if args.page:
        Path(args.page).write_text(conform.page(outcomes, args.ranks, args.device))
    if args.json:
        write_json(
            args.json,
            figures,
            {"suite": "mpi4py", "version": conform.VERSION, "ranks": args.ranks, "device": args.device},
        )
    return 1 if figures["mpi4py.failed"] else 0
