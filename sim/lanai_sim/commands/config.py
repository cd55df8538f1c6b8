"""List what can be set: every parameter of NICs, hosts, firmware and messaging systems, with its unit, its range
and what it means. Their names are what files have, and what `lanai sweep --vary` takes."""

import argparse
import json

from lanai_host.errors import UserError, did_you_mean

from ..console import wide
from ..parameters import Parameter, parameters
from ..report.tables import table

NAME = "config"
HELP = "list every parameter of a configuration, with unit, range and meaning"
COLUMNS = ("name", "default", "unit", "range", "meaning")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--list", action="store_true", required=True, help="list the parameters")
    parser.add_argument("--json", action="store_true", help="write the list as JSON instead of a table")
    parser.add_argument(
        "name", nargs="?", default="", metavar="NAME", help="only those whose names begin so: nic, host.p"
    )


def run(args: argparse.Namespace) -> int:
    found = [one for name, one in parameters().items() if name.startswith(args.name)]
    if not found:
        tables = dict.fromkeys(name.partition(".")[0] for name in parameters())
        near = did_you_mean(args.name, [*tables, *parameters()])
        raise UserError(f"no parameter's name begins with {args.name!r}; {near}names begin with {', '.join(tables)}")
    rows = [dict(zip(COLUMNS, row(one), strict=True)) for one in found]
    if args.json:
        print(json.dumps(rows, indent=2))
        return 0
    grid = table("parameters", COLUMNS, left=len(COLUMNS))
    for one in rows:
        grid.add_row(*one.values())
    wide().print(grid)
    return 0


def row(one: Parameter) -> tuple[str, ...]:
    return one.name, one.shown, one.unit, one.range, one.meaning
