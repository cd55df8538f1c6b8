"""Run a paper's experiments again, and say which of its claims hold here: its page, with figures
redrawn, and a score."""

import argparse
import json
import sys
from pathlib import Path

from rich.table import Table

from lanai_firmware import output_file
from lanai_host.errors import UserError

from ..console import plain
from ..figures import write_json
from ..studies import drawing
from ..studies.papers import page, studies, verdicts

NAME = "paper"
HELP = "run a paper's experiments and write published beside ours"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paper", metavar="PAPER", help=f"which: {', '.join(studies.names())}")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="fewer sizes and repetitions: a few minutes; the page in docs stays as it is",
    )
    parser.add_argument("--json", metavar="FILE", help="write all figures and the score to FILE")
    parser.add_argument("--output", metavar="DIR", help="where the page goes (default: docs/papers of the checkout)")
    parser.add_argument(
        "--from",
        dest="source",
        metavar="FILE",
        help="take the figures that an earlier --json wrote: words and draws only",
    )
    parser.add_argument("--table", metavar="FILE", help="keep each experiment's figures in FILE, and go on from there")
    parser.add_argument(
        "--npb",
        metavar="DIR",
        help="for mbcf: the folder NPB3.3-MPI of the NAS Parallel Benchmarks; for tables 4.3 to 4.10",
    )
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="experiments at a time (default: one a core)")


def run(args: argparse.Namespace) -> int:
    study = studies.find(args.paper)
    if args.jobs < 0:
        raise UserError(f"--jobs must be at least 1 (0: one a core), got {args.jobs}")
    folder = output_folder(args.output, args.quick, study.checkout)
    found = stored(args.source, args.paper) if args.source else measured(study, args)
    answers = study.answer(found)
    show(answers)
    if folder is not None:
        plots = study.draw(found)
        drawn = drawing.folder(folder / "figures")
        for name, plot in plots.items():
            drawing.draw(plot, drawn / f"{args.paper}-{name}.svg")
        named = {f"{args.paper}-{name}": plot for name, plot in plots.items()}
        write_page(folder / f"{args.paper}.md", page.write(study.frame, answers, named, "figures"))
    if args.json:
        total = {f"paper.{args.paper}.{name}": value for name, value in verdicts.score(answers).items()}
        figures = {f"paper.{args.paper}.figure.{name}": value for name, value in found.items()}
        write_json(args.json, total | figures, {"paper": args.paper, "quick": args.quick})
    return 0


def stored(file: str, paper: str) -> dict[str, float]:
    """The experiments' figures from a file that --json wrote."""
    prefix = f"paper.{paper}.figure."
    try:
        figures = json.loads(Path(file).read_text())["figures"]
        return {name.removeprefix(prefix): float(value) for name, value in figures.items() if name.startswith(prefix)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{file!r} holds no figures of this paper ({error}); name a file that --json wrote") from error


def measured(study: studies.Study, args: argparse.Namespace) -> dict[str, float]:
    """The experiments' figures from runs made now, or kept in the table."""
    table = Path(args.table) if args.table else None
    given = {"npb": args.npb} if args.npb is not None else {}
    return study.figures(
        args.quick, args.jobs, table, lambda name: print(f"lanai: {name}: done", file=sys.stderr), given
    )


def output_folder(named: str | None, quick: bool, checkout: Path) -> Path | None:
    """Where the page goes; None if none is wanted."""
    if named is None and quick:
        return None
    if named is None:
        if not (checkout / "docs").is_dir():
            raise UserError("there is no checkout with docs here; name a directory with --output")
        named = str(checkout / "docs" / "papers")
    return drawing.folder(named)


def write_page(path: Path, text: str) -> None:
    output_file.write(path, text, "the page")
    print(f"lanai: wrote {path.name} into {path.parent.name}/", file=sys.stderr)


def show(answers: list[verdicts.Answer]) -> None:
    """The tables on the terminal, and the score."""
    console = plain()
    table = Table("claim", "published", "here", "defaults", "ratio")
    for one in answers:
        if one.value is not None:
            ratio = "" if one.ratio is None else f"{one.ratio:.2f}"
            short = one.claim.id.split(".", 1)[1]
            table.add_row(short, one.claim.published or "0", page.number(one.value), page.number(one.default), ratio)
    console.print(table)
    table = Table("claim", "here it", "seen")
    for one in answers:
        if one.holds is not None:
            table.add_row(one.claim.id.split(".", 1)[1], "shows" if one.holds else "does not", one.saw)
    console.print(table)
    total = verdicts.score(answers)
    console.print(
        f"{total['answered']} of {total['claims']} claims answered; {total['within_10_percent']} of "
        f"{total['compared']} numbers within 10 % or "
        f"their bound; {total['shapes_that_hold']} of {total['shapes']} shapes show; {total['tested']} claims "
        "held by tests"
    )
