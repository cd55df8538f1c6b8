"""Studies beyond the papers, many runs each: in parallel, into one table that is gone on with,
ending in figures, a paragraph and a plot.

Over many machines: mpiexec -n N python -m mpi4py.futures -m lanai_sim sweep NAME --mpi
"""

import argparse
import sys
from pathlib import Path

from rich.table import Table as Grid

from lanai_host.errors import UserError

from ..console import plain
from ..figures import write_json
from ..studies import drawing
from ..studies.sweeps import catalog, page
from ..studies.sweeps.point import Point
from ..studies.sweeps.table import Table

NAME = "sweep"
HELP = "run a study over many settings: clock, cache, queues, fairness, overlap, matching"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    known = ", ".join(f"{one.letter} {one.name}" for one in catalog.SWEEPS)
    parser.add_argument("sweep", metavar="NAME", help=f"which, by name or letter: {known}")
    parser.add_argument("--quick", action="store_true", help="a few points only")
    parser.add_argument("--table", metavar="FILE", help="where results are kept (default: sweep-NAME.jsonl here)")
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="points at a time (default: one a core)")
    parser.add_argument("--mpi", action="store_true", help="spread points over MPI ranks, with mpi4py.futures")
    parser.add_argument(
        "--output", metavar="DIR", help=f"draw into DIR/figures and put the section into DIR/{page.PAGE}"
    )
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE")


def run(args: argparse.Namespace) -> int:
    sweep = catalog.find(args.sweep)
    if args.jobs < 0:
        raise UserError(f"--jobs must be at least 1 (0: one a core), got {args.jobs}")
    folder = drawing.folder(args.output) if args.output else None
    table = Table(Path(args.table or f"sweep-{sweep.name}.jsonl"), sweep.name, sweep.revision)
    points = sweep.points(args.quick)
    missing = len(table.missing(points))
    print(f"lanai: {sweep.name}: {len(points)} points, {len(points) - missing} of them in the table", file=sys.stderr)
    found = catalog.run(sweep, table, args.quick, args.jobs, args.mpi, tell)
    grid = Grid("figure", "value")
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
    print("lanai: done: " + ", ".join(f"{name}={value}" for name, value in point.items()), file=sys.stderr)
