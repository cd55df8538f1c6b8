"""Run an MPI program in the other orders that MPI allows, and say which of them fail."""

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path

from lanai_host.errors import UserError

from ..executors import place
from ..executors.journal import Journal
from ..executors.place import Place
from ..explore.ahead import AheadRunner
from ..explore.records import Written
from ..explore.running import job_of
from ..explore.schedule import Schedule
from ..explore.search import Budget, Search, closing, lines_of

NAME = "explore"
HELP = "find an order of messages in which it fails"
FOUND = 10
UNDECIDED = 12  # nothing was found before the budget was spent


def counts(text: str) -> list[int]:
    """'4' or '1-16' for argparse."""
    first, dash, last = text.partition("-")
    words = [first, last] if dash else [first]
    if not all(word.isdecimal() and int(word) >= 1 for word in words) or int(words[0]) > int(words[-1]):
        raise argparse.ArgumentTypeError(f"{text!r} is not understood; write a count, such as 4, or a range, 1-16")
    return list(range(int(words[0]), int(words[-1]) + 1))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-n", "--ranks", type=counts, default=[2], metavar="N", help="processes to start, or a range: 1-16 (default: 2)"
    )
    parser.add_argument("--runs", type=int, default=1000, metavar="N", help="stop after this many runs (default: 1000)")
    parser.add_argument(
        "--time", type=float, default=60.0, metavar="SECONDS",
        help="begin no run once all runs together have taken this much processor time (default: 60)",
    )  # fmt: skip
    parser.add_argument(
        "--outputs", action="store_true", help="also count a run whose standard output differs as a failure"
    )
    parser.add_argument(
        "--files", action="store_true",
        help="also count a run that writes other files here, or below, as a failure; runs are made one after the other",
    )  # fmt: skip
    parser.add_argument(
        "--all", action="store_true", help="go on after the first failure, and report each kind of failure once"
    )
    parser.add_argument(
        "--schedule", default="explore.json", metavar="FILE",
        help="file for the schedule of a failure; further ones get a number (default: explore.json)",
    )  # fmt: skip
    parser.add_argument(
        "--max-wall",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="count a run that lasts longer as a failure (default: 60)",
    )
    parser.add_argument("--journal", metavar="FILE", help="keep each run in FILE; the same command goes on from there")
    place.add_arguments(parser, "runs", limit=False)
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM ARGS", help="what each rank runs")


def run(args: argparse.Namespace) -> int:
    command = args.program[1:] if args.program[:1] == ["--"] else args.program
    if not command:
        raise UserError("no program was named; write, for example: lanai explore -n 3 ./program")
    if args.runs < 1 or not args.time > 0:
        raise UserError("--runs and --time must be more than 0")
    journal = Journal(Path(args.journal), "explore") if args.journal else None
    with nullcontext() if journal is None else journal.kept_alone():
        searches = _search(args, command, journal)
    if any(search.failures for search in searches):
        return FOUND
    return 0 if all(search.complete for search in searches) else UNDECIDED


def _search(args: argparse.Namespace, command: list[str], journal: Journal | None) -> list[Search]:
    """Search each number of ranks."""
    searches = []
    where, written = Place.of(args, args.journal or ""), 0
    files = _written(args, where)
    runner = AheadRunner(where, args.runs, journal, files)
    begun = Budget(args.runs, args.time)
    try:
        for place, ranks in enumerate(args.ranks):
            share = max(1, (begun.runs - begun.spent) // (len(args.ranks) - place))
            budget = Budget(share, args.time / len(args.ranks))
            job = job_of(command, ranks, capture=True, max_wall=args.max_wall)
            search = Search(job, budget, args.outputs or args.files, args.all)
            searches.append(search)
            search.run(runner, _tell)
            begun.spent += search.runs
            written = _write(search, args.schedule, written)
            if search.failures and not args.all:
                break
    finally:
        runner.close()
    return searches


def _written(args: argparse.Namespace, where: Place) -> Written | None:
    """Return what finds the files of a run, if they matter."""
    if not args.files:
        return None
    if where.on != place.LOCAL or where.jobs > 1:
        raise UserError("--files: runs write the same files, one after the other; leave --on and --jobs out")
    return Written(Path.cwd(), filter(None, [args.schedule, args.journal]))


def _tell(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\rlanai: {text}\033[K", end="", file=sys.stderr)


def _write(search: Search, path: str, written: int) -> int:
    """Tell what was found and write the schedules. Return how many there are by now."""
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    for failure in search.failures:
        name = path if not written else str(Path(path).with_stem(f"{Path(path).stem}-{written + 1}"))
        outcome = failure.outcome
        Schedule.of(search.job, outcome.made, outcome.result).write(name)
        written += 1
        for line in lines_of(failure, name):
            print(f"lanai: {line}", file=sys.stderr)
    if search.unsteady:
        print(f"lanai: the program is not deterministic by itself: {search.unsteady}", file=sys.stderr)
    print(f"lanai: {closing(search)}", file=sys.stderr)
    return written
