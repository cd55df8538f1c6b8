"""Run a program at all combinations of values of parameters (`lanai list parameters`), or a study beyond the papers by
its name. Runs go side by side. A journal keeps their results, so that the same command goes on where it stopped."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from lanai_host.errors import UserError
from lanai_host.stacks import names as device_names

from .. import tables
from ..console import plain
from ..executors import place
from ..executors.journal import Journal, words
from ..figures import write_json
from ..job import settings
from ..job.processes import resolve_program
from ..job.systems import SYSTEMS
from ..parameters import RANKS, parse
from ..store import store_of
from ..studies import drawing
from ..studies.sweeps import catalog, varied
from ..studies.sweeps import catalog as page
from ..studies.sweeps.point import Point
from ..tables import Document
from ..units import counted
from .run.flags import add_store

NAME = "sweep"
HELP = "run a program over values of parameters, or a study: clock, cache, queues, fairness, overlap, matching"
VARY = (
    "values of a parameter; `arg.NAME` is the word {NAME} in the program's arguments, `env.NAME` a variable of its "
    "environment; may be given again"
)
PROGRAM_JOURNAL = "sweep.jsonl"
OF_PROGRAMS = ("config", "system", "device", "format", "rows", "store", "plot")
OF_STUDIES = ("quick", "output")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    known = ", ".join(f"{one.letter} {one.name}" for one in catalog.SWEEPS)
    own = parser.add_argument_group("a program over parameters").add_argument
    own(
        "--vary",
        action="append",
        default=[],
        metavar="NAME=V,V,...",
        help=VARY,
    )
    own("-n", "--ranks", metavar="N", help="processes to start: 4, or several numbers: 2-16, or 2,4,8 (default: 2)")
    own("--config", metavar="FILE", help="a TOML file with settings of what is not varied")
    own(
        "--system",
        choices=list(SYSTEMS),
        metavar="NAME",
        help="a name from `lanai list systems`, for what is not varied",
    )
    own("--device", choices=device_names(), help="messaging system below MPI (default: ideal)")
    own("--format", choices=tables.FORMATS, help="format of the rows (default: by the file's name, else csv)")
    own("--rows", metavar="FILE", help="write a row for each run to FILE (default: print them as CSV)")
    add_store(own)
    own("--plot", metavar="FILE", help="draw a figure over the first parameter that has several numbers")
    own("--y", default=varied.TIME, metavar="FIGURE", help=f"the figure that is drawn (default: {varied.TIME})")
    study = parser.add_argument_group("a study").add_argument
    study("--quick", action="store_true", help="measure a few points only")
    study("--output", metavar="DIR", help=f"draw into DIR/figures and put the section into DIR/{page.PAGE}")
    parser.add_argument(
        "--journal", "--table", metavar="FILE",
        help="file that keeps the results; the same command goes on from there "
        f"(default: sweep-NAME.jsonl, for a program {PROGRAM_JOURNAL})",
    )  # fmt: skip
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE")
    place.add_arguments(parser, "points")
    parser.add_argument(
        "words", nargs="*", metavar="NAME | -- PROGRAM ARGS", help=f"a study by name or letter: {known}; or a program"
    )


def run(args: argparse.Namespace) -> int:
    if args.vary or args.ranks:
        return over_parameters(args)
    leave_out(args, OF_PROGRAMS, "is for a program; a study has its journal and --output DIR")
    if len(args.words) != 1:
        raise UserError(
            "name a study, such as `lanai sweep queues`, or what shall vary and a program: "
            "lanai sweep --vary host.call=0,300000 -- python examples/mpi/ring.py"
        )
    return study(args)


def leave_out(args: argparse.Namespace, names: Sequence[str], why: str) -> None:
    """Raise UserError if one of these options was given, which nothing would come of."""
    for name in names:
        if getattr(args, name) not in (None, False):
            raise UserError(f"--{name} {why}: leave --{name} out")


def over_parameters(args: argparse.Namespace) -> int:
    """Run a program over parameters."""
    leave_out(args, OF_STUDIES, "is for a study; a program has --rows FILE and --plot FILE")
    if not args.words:
        raise UserError("no program was named; write it behind --: lanai sweep --vary ... -- python ring.py")
    form = tables.format_of(args.rows, args.format)
    if args.plot:
        drawing.available(args.plot)
    axes = axes_of(args.vary, args.ranks)
    path = args.journal or PROGRAM_JOURNAL
    where = place.Place.of(args, path)
    if where.on == place.LOCAL:
        resolve_program(args.words[0])
    points = varied.points(axes, base_of(args, axes), args.words, where.limit)
    journal = Journal(Path(path), "vary")
    missing = len(journal.missing(points))
    print(f"lanai: {counted(len(points), 'run')}, {len(points) - missing} of them in {path}", file=sys.stderr)
    found = varied.run(points, journal, where, tell, store_of(args.store))
    if args.rows:
        tables.write(varied.tidy(found), args.rows, form)
    else:
        print(tables.as_text(varied.tidy(found), form), end="")
    if args.plot:
        drawing.draw(varied.plot(axes, found, args.y, " ".join(args.words)), Path(args.plot))
    if args.json:
        figures = {
            f"sweep.{words(dict(row.point['vary'])).replace(', ', ',')}.{name}": value
            for row in found
            for name, value in row.figures["figures"].items()
        }
        write_json(args.json, figures, {"program": args.words, "vary": axes})
    failed = [row for row in found if not row.figures["ok"]]
    for row in failed:
        print(f"lanai: {words(dict(row.point['vary']))}: {row.figures['ending']}", file=sys.stderr)
    return int(bool(failed))


def axes_of(texts: Sequence[str], ranks: str | None) -> varied.Axes:
    """Return the values of each parameter that varies."""
    axes: dict[str, list[object]] = {}
    for text in [*texts, *([f"{RANKS}={ranks}"] if ranks else [])]:
        name, values = parse(text)
        if name in axes:
            raise UserError(f"{name} is varied twice; write all its values in one --vary")
        axes[name] = values
    return axes


def base_of(args: argparse.Namespace, axes: varied.Axes) -> Document:
    """Return the configuration of what does not vary."""
    document: Document = settings.read(Path(args.config)) if args.config else {}
    given = {"system": args.system, "device": args.device}
    for name, value in given.items():
        if value is not None and name in axes:
            raise UserError(f"--{name} {value}: {name} varies already; leave one of them out")
    if args.system is not None and document:
        document = settings.without_machine(document)
    document = settings.overlay(document, {name: value for name, value in given.items() if value is not None})
    return {"ranks": 2, **document}


def study(args: argparse.Namespace) -> int:
    """Run a study of the catalog."""
    sweep = catalog.find(args.words[0])
    path = args.journal or f"sweep-{sweep.name}.jsonl"
    where = place.Place.of(args, path)
    folder = drawing.folder(args.output) if args.output else None
    journal = Journal(Path(path), sweep.name, sweep.revision)
    points = sweep.points(args.quick)
    missing = len(journal.missing(points))
    print(
        f"lanai: {sweep.name}: {counted(len(points), 'point')}, {len(points) - missing} of them in {path}",
        file=sys.stderr,
    )
    found = catalog.run(sweep, journal, args.quick, where, tell)
    grid = Table("figure", "value")
    for name, value in found.figures.items():
        grid.add_row(name, f"{value:,.6g}")
    console = plain()
    console.print(grid)
    console.print(found.paragraph)
    if folder is not None:
        page.update(folder, sweep, found)  # first: a drawing that has changed would make the page's commit a dirty one
        drawn = drawing.folder(folder / "figures")
        for name, plot in found.plots.items():
            drawing.draw(plot, drawn / f"beyond-{name}.svg")
    if args.json:
        write_json(args.json, found.figures, {"sweep": sweep.name, "quick": args.quick})
    return 0


def tell(point: Point) -> None:
    print(f"lanai: done: {words(point)}", file=sys.stderr)
