"""Measure: one bench a name, printed as a table and written with --json."""

import argparse

from rich.table import Table

from ..command_line import plugins
from ..console import plain
from ..figures import write_json
from ..studies import benches

NAME = "bench"
HELP = "measure the core, the engine, MPI point-to-point, ..."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    subparsers = parser.add_subparsers(dest="bench", metavar="BENCH", required=True)
    for module in plugins(benches):
        sub = subparsers.add_parser(module.NAME, help=module.HELP, description=module.__doc__)
        sub.add_argument("--json", metavar="FILE", help="write the figures to FILE")
        module.add_arguments(sub)
        sub.set_defaults(measure=module.run)


def run(args: argparse.Namespace) -> int:
    figures: dict[str, float] = args.measure(args)
    table = Table("figure", "value")
    for name, value in sorted(figures.items()):
        table.add_row(name, f"{value:,.6g}" if isinstance(value, float) else str(value))
    plain().print(table)
    if args.json:
        options = {k: v for k, v in vars(args).items() if k not in ("run", "measure", "json") and not callable(v)}
        write_json(args.json, figures, options)
    return 0
