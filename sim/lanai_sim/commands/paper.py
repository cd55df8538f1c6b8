"""Run a paper's experiments again, and say which of its claims hold here: its page, with figures
redrawn, and a score."""

import argparse
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from rich.table import Table

from lanai_firmware import output_file
from lanai_host.errors import UserError

from ..console import plain
from ..executors import place
from ..studies import drawing
from ..studies.papers import page, records, studies, verdicts
from ..studies.papers import studies as artifact
from ..version import commit

NAME = "paper"
HELP = "run a paper's experiments and write published beside ours"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paper", metavar="PAPER", help=f"a paper: {', '.join(studies.names())}")
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
        help="measure nothing: write and draw the page from the figures that --json wrote",
    )
    parser.add_argument(
        "--artifact",
        metavar="DIR",
        help="measure nothing: write into DIR what repeats the record of the page (or of --from): a script with an "
        "exit code, expected figures, tolerance, how long it takes",
    )
    parser.add_argument(
        "--journal",
        "--table",
        metavar="FILE",
        help="keep each experiment's figures in FILE; the same command goes on from there",
    )
    parser.add_argument(
        "--npb",
        metavar="DIR",
        help="for mbcf, tables 4.3 to 4.10: the folder NPB3.3-MPI of the NAS Parallel Benchmarks",
    )
    place.add_arguments(parser, "experiments")


def run(args: argparse.Namespace) -> int:
    study = studies.find(args.paper)
    where = place.Place.of(args, args.journal or "")
    if args.artifact:
        return write_artifact(drawing.folder(args.artifact), study, args.source)
    folder = output_folder(args.output, args.quick, study.checkout)
    kept = records.read(args.source, args.paper) if args.source else None
    if folder is not None and args.output is None:
        check_commit(kept.commit if kept else commit() or "")
    record = kept or measured(study, args, where)
    found = dict(record.figures)
    answers = study.answer(found)
    show(answers)
    if folder is not None:
        records.write(folder / f"{args.paper}.json", args.paper, record, answers)
        write_page(folder, study, record)
    if args.json:
        records.write(args.json, args.paper, record, answers)
    return 0


def write_artifact(folder: Path, study: studies.Study, source: str | None) -> int:
    """Write what one needs to repeat a record."""
    record = records.read(source or study.record, study.paper)
    answers = study.answer(dict(record.figures))
    artifact.write(folder, study.paper, study.frame, record, answers, study.inputs_of(record))
    print(f"lanai: wrote README.md, run.sh and expected.json into {folder.name}/", file=sys.stderr)
    return 0


def write_page(folder: Path, study: studies.Study, record: records.Record) -> None:
    """Write the page and the plots that a record gives."""
    drawn = drawing.folder(folder / "figures")
    for name, plot in study.plots(record).items():
        drawing.draw(plot, drawn / f"{name}.svg")
    path = folder / f"{study.paper}.md"
    output_file.write(path, study.page(record), "the page")
    print(f"lanai: wrote {path.name} into {path.parent.name}/", file=sys.stderr)


def measured(study: studies.Study, args: argparse.Namespace, where: place.Place) -> records.Record:
    """The experiments' figures from runs made now, or kept in the journal. A run that goes on from a journal does not
    know how long all of it took."""
    resumed = bool(args.journal) and Path(args.journal).is_file()
    given = {"npb": args.npb} if args.npb is not None else {}
    print(f"lanai: {expected(study, args.quick)}", file=sys.stderr)
    begin = time.monotonic()
    figures = study.figures(args.quick, where, lambda name: print(f"lanai: {name}: done", file=sys.stderr), given)
    minutes = 0 if resumed else (time.monotonic() - begin) / 60
    record = records.now_at(figures, datetime.now(UTC).date().isoformat(), args.quick, minutes)
    before = study.kept
    return records.completed(record, before, list(study.inputs)) if before else record


def expected(study: studies.Study, quick: bool) -> str:
    """Return how long the run is going to take, by the record of the last one, or by the study for quick ones."""
    path, kept = study.record, study.kept
    if quick and study.quick_minutes:
        return f"{study.paper}: a quick run takes about {study.quick_minutes:g} min of processor time"
    if kept is None or kept.quick != quick:
        return f"{study.paper}: minutes with --quick, up to hours without; no {path.name} says how long exactly"
    return f"{study.paper}: the last such run took {kept.took} ({path.name})"


def output_folder(named: str | None, quick: bool, checkout: Path) -> Path | None:
    """Return where the page goes; None if none is wanted."""
    if named is None and quick:
        return None
    if named is None:
        if not (checkout / "docs").is_dir():
            raise UserError("there is no checkout with docs here; name a directory with --output")
        named = str(checkout / "docs" / "papers")
    return drawing.folder(named)


def check_commit(measured_by: str) -> None:
    """The pages' records are of commits, so that anyone can repeat them."""
    if measured_by.endswith("-dirty"):
        raise UserError(
            f"the pages' records are of commits, and this one is of {measured_by[:12]} with files changed (git "
            "status); commit them first, or name a directory with --output"
        )


def show(answers: list[verdicts.Answer]) -> None:
    """The tables on the terminal, and the score."""
    console = plain()
    table = Table("claim", "kind", "published", "here", "defaults", "ratio")
    for one in answers:
        if one.value is not None:
            ratio = "" if one.ratio is None else f"{one.ratio:.2f}"
            short = one.claim.id.split(".", 1)[1]
            kind, published = one.claim.kind.value, one.claim.published or "0"
            table.add_row(short, kind, published, page.number(one.value), page.number(one.default), ratio)
    console.print(table)
    table = Table("claim", "here it", "seen")
    for one in answers:
        if one.holds is not None:
            table.add_row(one.claim.id.split(".", 1)[1], "shows" if one.holds else "does not", one.saw)
    console.print(table)
    console.print(verdicts.words(verdicts.score(answers)))
