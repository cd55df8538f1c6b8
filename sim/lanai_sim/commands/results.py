"""List the runs that `lanai run --store` has kept, show one, write them for other tools, and delete runs."""

import argparse
import json
from collections.abc import Sequence
from datetime import UTC, datetime

from lanai_firmware import output_file
from lanai_host.stacks import names as device_names

from .. import tables
from ..command_line import count
from ..console import wide
from ..job.result import Result
from ..job.systems import SYSTEMS
from ..report.tables import table
from ..store import DEFAULT, Store, StoredRun
from ..store.stored_run import Condition, chosen, rows, since
from ..units import counted

NAME = "results"
HELP = "list, show, export and delete the runs that `lanai run --store` has kept"
WIDTH = 100  # columns of the list
LEAST = 20  # of them for the program


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _add_store(parser)
    which = parser.add_argument_group("which runs").add_argument
    which("--device", choices=device_names(), help="runs on this messaging system")
    which("--system", choices=list(SYSTEMS), metavar="NAME", help="runs on this system (`lanai list systems`)")
    which("--program", metavar="TEXT", help="runs whose command contains this text")
    which("--since", metavar="DATE", help="runs since this date: 2026-11-27, 2026-11-27T10:30 (UTC), 3d or 12h ago")
    which(
        "--where", action="append", default=[], metavar="NAME=VALUE",
        help="runs with this value of a figure or a setting; also !=, and in quotes <, <=, >, >=; may be given again",
    )  # fmt: skip
    which("--last", type=count, metavar="N", help="the last N of these runs")
    how = parser.add_argument_group("for other tools").add_argument
    how("--rows", metavar="FILE", help="write a row for each run to FILE, with its figures")
    how("--format", choices=tables.FORMATS, help="format of the rows (default: by the file's name, else csv)")
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    show = actions.add_parser("show", help="show all that is known of one run")
    show.add_argument("id", type=count, metavar="ID", help="number of a run, as the list has it")
    show.add_argument("--json", metavar="FILE", help="write the result as `lanai run --json` does")
    show.add_argument("--config", metavar="FILE", help="write a configuration that `lanai run --config` runs again")
    delete = actions.add_parser("delete", help="delete runs for good")
    delete.add_argument("ids", type=count, nargs="+", metavar="ID", help="number of a run, as the list has it")
    for action in (show, delete):
        _add_store(action, default=argparse.SUPPRESS)


def _add_store(parser: argparse.ArgumentParser, default: str = DEFAULT) -> None:
    parser.add_argument("--store", default=default, metavar="FILE", help=f"the store (default: {DEFAULT})")


def run(args: argparse.Namespace) -> int:
    store = Store(args.store)
    if args.action == "show":
        show(args, store.run(args.id))
    elif args.action == "delete":
        store.delete(args.ids)
        print(f"deleted {counted(len(set(args.ids)), 'run')} from {args.store}")
    else:
        listed(args, store)
    return 0


def listed(args: argparse.Namespace, store: Store) -> None:
    """Print the runs that are asked for, or write them."""
    form = tables.format_of(args.rows, args.format) if args.rows or args.format else None
    every = store.runs()
    found = selected(args, every)
    if args.rows and form:
        tables.write(rows(found), args.rows, form)
        print(f"wrote {counted(len(found), 'run')} to {args.rows}")
    elif form:
        print(tables.as_text(rows(found), form), end="")
    else:
        print_list(found)
        print(f"{counted(len(found), 'run')} of {len(every):,} in {args.store}")


def selected(args: argparse.Namespace, runs: Sequence[StoredRun]) -> list[StoredRun]:
    """Return the runs that the flags ask for, the newest last."""
    first = since(args.since, datetime.now(UTC)) if args.since else None
    found = [
        one
        for one in runs
        if args.device in (None, one.device)
        and args.system in (None, one.system)
        and (args.program is None or args.program in one.words)
        and (first is None or datetime.fromisoformat(one.date) >= first)
    ]
    conditions = [Condition.of(text) for text in args.where]
    kept = chosen(found, conditions)
    return kept[-args.last :] if args.last else kept


def print_list(runs: Sequence[StoredRun]) -> None:
    """Print a table of at most WIDTH columns, as long as the program's words can be cut."""
    heads = ["id", "date (UTC)", "ran on", "ranks", "simulated us", "ending", "program"]
    lines = [[*_cells(one), _brief(one)] for one in runs]
    widths = [max(map(len, column)) for column in zip(heads, *lines, strict=True)]
    room = max(LEAST, WIDTH - sum(widths[:-1]) - 2 * (len(heads) - 1))
    grid = table("", [])
    for head in heads:
        grid.add_column(head, justify="right" if head in ("id", "ranks", "simulated us") else "left", no_wrap=True)
    for line in lines:
        words = line[-1]
        grid.add_row(*line[:-1], words if len(words) <= room else f"{words[: room - 3]}...")
    wide().print(grid)


def _brief(run: StoredRun) -> str:
    """Return the program's words in one line, without the folders of files."""
    return " ".join(" ".join(word.rsplit("/", 1)[-1] for word in run.program).split())


def _cells(run: StoredRun) -> list[str]:
    date = datetime.fromisoformat(run.date).strftime("%Y-%m-%d %H:%M")
    time = run.figures.get("run.simulated_us")
    ending = "ok" if run.ok else f"{run.ending} ({run.code})"
    return [
        str(run.id), date, run.system or f"{run.device}, changed", str(run.ranks),
        "" if time is None else f"{time:,.3f}", ending,
    ]  # fmt: skip


def show(args: argparse.Namespace, run: StoredRun) -> None:
    """Print a run, and write what is asked for."""
    installed = f"openlanai {run.version}"
    told = {
        "run": str(run.id),
        "date": run.date,
        "program": run.words,
        "command": " ".join(run.command),
        "folder": run.folder,
        "ran on": f"{counted(run.ranks, 'rank')}, {run.system or f'{run.device} on a machine of its own'}",
        "ending": f"{run.ending}, code {run.code}",
        "made by": f"{installed}, commit {run.commit}" if run.commit else installed,
        "versions": ", ".join(f"{name} {version}" for name, version in run.versions.items() if name != "openlanai"),
        "sources": run.sources,
        "program's files": run.files[:16],
        **({"note": run.note} if run.note else {}),
    }
    console = wide()
    for name, text in told.items():
        console.print(f"{name + ':':17}{text}")
    for line in Result.from_json(run.result).report.splitlines():
        console.print(f"  {line}")
    for title, values in (("Figures", run.figures), ("Settings", run.settings)):
        console.print(f"\n{title}")
        for name, value in sorted(values.items()):
            console.print(f"  {name} = {value}")
    if args.json:
        output_file.write(args.json, json.dumps(run.record(), indent=2) + "\n", "the run")
    if args.config:
        output_file.write(args.config, json.dumps(json.loads(run.config), indent=2) + "\n", "the configuration")
