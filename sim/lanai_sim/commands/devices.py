"""List what `lanai run` can choose from: messaging systems, engines and fabrics."""

import argparse
import json

from lanai_host import stacks
from lanai_host.stacks.base import NicStack, Stack

from ..console import wide
from ..engines import kinds as engines
from ..machine import fabrics
from ..report.tables import table

NAME = "devices"
HELP = "list the messaging systems, engines and fabrics that `lanai run` offers"
Row = dict[str, str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="write the lists as JSON instead of tables")


def run(args: argparse.Namespace) -> int:
    lists = {"devices": devices(), "engines": engine_kinds(), "fabrics": fabric_kinds()}
    if args.json:
        print(json.dumps(lists, indent=2))
        return 0
    console = wide()
    for title, rows in lists.items():
        grid = table(f"--{title.removesuffix('s')}", list(rows[0]), left=len(rows[0]))
        for row in rows:
            grid.add_row(*row.values())
        console.print(grid)
        console.print()
    console.print("`lanai systems` lists devices together with the machines of their papers, for `lanai run --system`.")
    return 0


def devices() -> list[Row]:
    """The messaging systems, the default first."""
    return [device(stack) for stack in stacks.stacks()]


def device(stack: Stack) -> Row:
    needs, offers = "nothing", []
    if isinstance(stack, NicStack):
        needs = stack.needs
        if stack.vocabulary is not None:
            offers.append("--trace")
    if len(stack.presets) > 1:
        offers.append("presets " + ", ".join(stack.presets))
    return {"name": stack.name, "needs": needs, "offers": "; ".join(offers), "what it is": stack.help}


def engine_kinds() -> list[Row]:
    """Return the engines that can evaluate the NICs, the default first."""
    return [{"name": kind.name, "what it is": kind.help} for kind in engines.kinds()]


def fabric_kinds() -> list[Row]:
    return [
        *({"name": kind.usage, "what it is": kind.help} for kind in fabrics.kinds()),
        {"name": "FILE.toml", "what it is": "cables, each with both its ends, such as nic0 and switch0.3"},
    ]
