"""Say what changed from one run of a program to another, largest first. Both are results that `lanai run --json` and
other commands wrote or `lanai run --store` kept, or both are traces, which tell calls, messages and firmware too."""

import argparse
import math
import re
from pathlib import Path

from rich.console import Console

from ..command_line import count
from ..console import wide
from ..figures import write_json
from ..report import outcome
from ..report import outcome as changes
from ..report.outcome import Change, Outcome
from ..report.tables import table
from ..store import DEFAULT, Store

NAME = "diff"
HELP = "say what changed from one result or trace to another"
EXCEEDED = 1  # exit code


def percent(text: str) -> float:
    """'2%' for argparse."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share; write, for example, 2%")
    return value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", metavar="A", help="a result as JSON, a trace, or a run's id of `lanai results`")
    parser.add_argument("after", metavar="B", help="another of the same kind and of the same program")
    parser.add_argument(
        "--fail-above",
        type=percent,
        metavar="P%",
        help="end with code 1 if the simulated time grew by more than this share; results without it: if any figure "
        "changed by more",
    )
    parser.add_argument(
        "--store", default=DEFAULT, metavar="FILE", help=f"store of the runs with these ids (default: {DEFAULT})"
    )
    parser.add_argument("--lines", action="store_true", help="list firmware by source line instead of by function")
    parser.add_argument(
        "--most", type=count, default=12, metavar="N", help="largest number of rows of each table (default: 12)"
    )
    parser.add_argument("--json", metavar="FILE", help="write the figures")


def run(args: argparse.Namespace) -> int:
    before, after = (read(path, args) for path in (args.before, args.after))
    changes.check(before, after)
    found = changes.changes(before, after)
    console = wide()
    for line in changes.settings(before, after):
        console.print(line)
    times = [one for one in found if one.is_time]
    for title, members in (("Times (us)", times), ("Other figures", [one for one in found if not one.is_time])):
        if members:
            show(console, title, members, args.most)
    console.print(changes.verdict(found, before, after))
    if args.json:
        figures = {"diff." + re.sub(r"[^\w.]+", "_", one.name).strip("_"): one.difference for one in found}
        write_json(args.json, figures, {"before": args.before, "after": args.after})
    main = changes.leading(found, before, after)
    return EXCEEDED if args.fail_above is not None and changes.exceeds(main, args.fail_above) else 0


def read(word: str, args: argparse.Namespace) -> Outcome:
    """Return the result in a file, or the run of a store that has this id."""
    if word.isdecimal() and not Path(word).exists():
        return outcome.of_record(f"run {word}", Store(args.store).run(int(word)).record())
    return outcome.read(word, args.lines)


def show(console: Console, title: str, members: list[Change], most: int) -> None:
    """Print a table of changes."""
    grid = table(title, ["", "before", "after", "change", "share"])
    places = 3 if members[0].is_time else 0
    for one in members[:most]:
        numbers = (f"{value:,.{places}f}" for value in (one.before, one.after))
        grid.add_row(one.name, *numbers, f"{one.difference:+,.{places}f}", changes.share(one))
    console.print(grid)
    if len(members) > most:
        console.print(f"and {len(members) - most} more (--most {len(members)})")
    console.print()
