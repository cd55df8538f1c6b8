"""List what `lanai run --system` takes: a device with NIC, host, fabric and options, in one word."""

import argparse
import json

from ..console import wide
from ..job.systems import SYSTEMS, System
from ..report.tables import table

NAME = "systems"
HELP = "list the systems of `lanai run --system`: devices on the common testbed and on the machines of their papers"
TESTBED = {"nic": "lanai41", "host": "pentium2_266", "fabric": "switch"}  # what a system does not say
Row = dict[str, str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="write the list as JSON instead of a table")


def run(args: argparse.Namespace) -> int:
    found = [row(name, system) for name, system in SYSTEMS.items()]
    if args.json:
        print(json.dumps(found, indent=2))
        return 0
    grid = table("--system", list(found[0]), left=len(found[0]))
    for one in found:
        grid.add_row(*one.values())
    wide().print(grid)
    return 0


def row(name: str, system: System) -> Row:
    """One system: its parts by their names, and what it stands for."""
    parts = dict(system.parts)
    nic, host, fabric = (_name(parts.pop(part, usual)) for part, usual in TESTBED.items())
    options = [f"{member}={value}" for table in parts.values() for member, value in table.items()]
    if system.device == "ideal":
        nic = fabric = ""
    return {
        "name": name,
        "device": system.device,
        "nic": nic,
        "host": host,
        "fabric": fabric,
        "options": ", ".join(options),
        "what it stands for": system.help,
    }


def _name(part: str | dict[str, str]) -> str:
    return part if isinstance(part, str) else part["preset"]
