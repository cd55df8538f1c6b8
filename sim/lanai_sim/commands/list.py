"""List what there is to choose and to set: devices, engines and fabrics of `lanai run`, systems, parameters."""

import argparse
import json
from collections.abc import Callable, Sequence

from lanai_host import stacks
from lanai_host.errors import UserError, did_you_mean
from lanai_host.stacks.base import NicStack, Stack

from ..console import wide
from ..engines import kinds as engines
from ..job.systems import SYSTEMS, System
from ..machine import fabrics
from ..parameters import Parameter, parameters
from ..report.tables import table

NAME = "list"
HELP = "list devices, systems or parameters that there are to choose"
COLUMNS = ("name", "default", "unit", "range", "meaning")  # of a parameter
TESTBED = {"nic": "lanai41", "host": "pentium2_266", "fabric": "switch"}  # what a system does not say
Row = dict[str, str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, (text, _) in ACTIONS.items():
        action = actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        action.add_argument("--json", action="store_true", help="write JSON instead of tables")
        if name == "parameters":
            action.add_argument("--list", action="store_true", help=argparse.SUPPRESS)  # as `lanai config` had it
            action.add_argument(
                "name", nargs="?", default="", metavar="NAME", help="only those whose names begin so: nic, host.p"
            )


def run(args: argparse.Namespace) -> int:
    return ACTIONS[args.action][1](args)


def show(title: str, rows: Sequence[Row]) -> None:
    grid = table(title, list(rows[0]), left=len(rows[0]))
    for row in rows:
        grid.add_row(*row.values())
    wide().print(grid)


def list_devices(args: argparse.Namespace) -> int:
    lists = {"devices": devices(), "engines": engine_kinds(), "fabrics": fabric_kinds()}
    if args.json:
        print(json.dumps(lists, indent=2))
        return 0
    for title, rows in lists.items():
        show(f"--{title.removesuffix('s')}", rows)
        print()
    wide().print(
        "`lanai list systems` lists devices together with the machines of their papers, for `lanai run --system`."
    )
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


def list_systems(args: argparse.Namespace) -> int:
    found = [system(name, one) for name, one in SYSTEMS.items()]
    if args.json:
        print(json.dumps(found, indent=2))
        return 0
    show("--system", found)
    return 0


def system(name: str, one: System) -> Row:
    """One system: its parts by their names, and what it stands for."""
    parts = dict(one.parts)
    nic, host, fabric = (_name(parts.pop(part, usual)) for part, usual in TESTBED.items())
    options = [f"{member}={value}" for table in parts.values() for member, value in table.items()]
    if one.device == "ideal":
        nic = fabric = ""
    return {
        "name": name,
        "device": one.device,
        "nic": nic,
        "host": host,
        "fabric": fabric,
        "options": ", ".join(options),
        "what it stands for": one.help,
    }


def _name(part: str | dict[str, str]) -> str:
    return part if isinstance(part, str) else part["preset"]


def list_parameters(args: argparse.Namespace) -> int:
    found = [one for name, one in parameters().items() if name.startswith(args.name)]
    if not found:
        tables = dict.fromkeys(name.partition(".")[0] for name in parameters())
        near = did_you_mean(args.name, [*tables, *parameters()])
        raise UserError(f"no parameter's name begins with {args.name!r}; {near}names begin with {', '.join(tables)}")
    rows = [dict(zip(COLUMNS, parameter(one), strict=True)) for one in found]
    if args.json:
        print(json.dumps(rows, indent=2))
        return 0
    show("parameters", rows)
    return 0


def parameter(one: Parameter) -> tuple[str, ...]:
    return one.name, one.shown, one.unit, one.range, one.meaning


ACTIONS: dict[str, tuple[str, Callable[[argparse.Namespace], int]]] = {
    "devices": ("list the messaging systems, engines and fabrics of `lanai run`", list_devices),
    "systems": ("list devices on the common testbed and on the machines of their papers", list_systems),
    "parameters": ("list what can be set, as files and `lanai sweep --vary` name it", list_parameters),
}
