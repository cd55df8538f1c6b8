"""Studies beyond the papers, many runs each: in parallel, into one journal that is gone on with,
ending in figures, a paragraph and a plot."""

import argparse
import sys
from pathlib import Path

from rich.table import Table

from ..console import plain
from ..executors import place
from ..executors.journal import Journal, words
from ..figures import write_json
from ..studies import drawing
from ..studies.sweeps import catalog, page
from ..studies.sweeps.point import Point

NAME = "sweep"
HELP = "run a study over many settings: clock, cache, queues, fairness, overlap, matching"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    known = ", ".join(f"{one.letter} {one.name}" for one in catalog.SWEEPS)
    parser.add_argument("sweep", metavar="NAME", help=f"which, by name or letter: {known}")
    parser.add_argument("--quick", action="store_true", help="a few points only")
    parser.add_argument(
        "--journal", "--table", metavar="FILE", help="where results are kept (default: sweep-NAME.jsonl here)"
    )
    place.add_arguments(parser, "points")
    parser.add_argument(
        "--output", metavar="DIR", help=f"draw into DIR/figures and put the section into DIR/{page.PAGE}"
    )
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE")


def run(args: argparse.Namespace) -> int:
    sweep = catalog.find(args.sweep)
    path = args.journal or f"sweep-{sweep.name}.jsonl"
    where = place.Place.of(args, path)
    folder = drawing.folder(args.output) if args.output else None
    journal = Journal(Path(path), sweep.name, sweep.revision)
    points = sweep.points(args.quick)
    missing = len(journal.missing(points))
    print(f"lanai: {sweep.name}: {len(points)} points, {len(points) - missing} of them in {path}", file=sys.stderr)
    found = catalog.run(sweep, journal, args.quick, where, tell)
    grid = Table("figure", "value")
    for name, value in found.figures.items():
        grid.add_row(name, f"{value:,.6g}")
    console = plain()
    console.print(grid)
    console.print(found.paragraph)
    if folder is not None:
        drawn = drawing.folder(folder / "figures")
        for name, plot in found.plots.items():
            drawing.draw(plot, drawn / f"beyond-{name}.svg")
        page.update(folder, sweep, found)
    if args.json:
        write_json(args.json, found.figures, {"sweep": sweep.name, "quick": args.quick})
    return 0


def tell(point: Point) -> None:
    print(f"lanai: done: {words(point)}", file=sys.stderr)
