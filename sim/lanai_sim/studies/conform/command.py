"""Run a published test suite of MPI, unchanged, on simulated NICs, and report what passed."""

import argparse
import fnmatch
import importlib.metadata
import shlex
import sys
from collections.abc import Iterable, Sequence

from rich.console import Console

from lanai_firmware import output_file
from lanai_host.errors import UserError
from lanai_host.stacks import names as device_names
from lanai_host.stacks import stack

from ...console import plain
from ...figures import write_json
from ...units import counted
from . import jobs, program_runs, programs, suite
from . import programs as demos
from .jobs import Outcome, OutcomeFile, counts, figures, speed
from .page import Comparison, compare, page, page_of_ranks

HELP = "run mpi4py's own test suite or demos, or programs that people run, on simulated NICs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("suite", choices=["mpi4py", "programs", "demos"], help="what to run")
    parser.add_argument(
        "-n", "--ranks", type=_ranks, default=(2,), metavar="N[,N...]",
        help="processes to start (default: 2); with several numbers the suite runs once for each",
    )  # fmt: skip
    parser.add_argument(
        "--device", choices=device_names(), default="ideal", help="messaging system below MPI (default: ideal)"
    )
    parser.add_argument(
        "--module", action="append", default=[], metavar="NAME",
        help="only this module, or those that match, as in 'test_p2p_*'; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--together", action="store_true", help="run all modules in one job, as the suite does by itself"
    )
    parser.add_argument(
        "--against", choices=["mpich", "ideal"],
        help="run the same on real MPICH or on the device ideal, and list the differences",
    )  # fmt: skip
    parser.add_argument(
        "--limit",
        type=float,
        default=600.0,
        metavar="SECONDS",
        help="real time for one module or job (default: 600); a few heavy modules get more",
    )
    parser.add_argument(
        "--resume",
        metavar="DIR",
        help="keep outcomes in DIR, a file for each device and number of ranks; modules that came to their end are not "
        "run again, and are shown too",
    )
    parser.add_argument("--page", metavar="FILE", help="write the table as Markdown")
    parser.add_argument("--json", metavar="FILE", help="write the figures")


def _ranks(text: str) -> tuple[int, ...]:
    """The numbers of processes of `-n`."""
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UserError(f"-n {text}: give a number of processes, or several as in 1,2,4") from None
    if min(numbers) < 1:
        raise UserError(f"-n {text}: at least one process is needed")
    if len(set(numbers)) < len(numbers):
        raise UserError(f"-n {text}: each number of processes once")
    return numbers


def run(args: argparse.Namespace) -> int:
    numbers: tuple[int, ...] = args.ranks
    if len(numbers) > 1:
        return _run_each(numbers, args)
    (args.ranks,) = numbers
    if args.resume and args.together:
        raise UserError("--resume keeps outcomes of modules that run one by one; leave out --together or --resume")
    if args.suite != "mpi4py":
        return _run_programs(args)
    there = jobs.mpich() if args.against == "mpich" else None  # said before the long part if it is not there
    console = plain()
    names = _names(args)
    outcomes = _outcomes(console, _ours(names, args))
    totals = figures(outcomes)
    for line in filter(None, (counts(totals), speed(totals))):
        console.print(line)
    against = None
    if args.against:
        against = _compare(console, there or jobs.simulated("ideal"), names, args, outcomes)
        totals["mpi4py.failed_only_here"] = len(against.only_fail_here)
    if args.page:
        modules = suite.modules((), stack(args.device))
        told = page(outcomes, args.ranks, args.device, _command(), against, kept=args.resume or "", modules=modules)
        output_file.write(args.page, told, "the page")
    if args.json:
        config = {"suite": "mpi4py", "version": suite.VERSION, "ranks": args.ranks, "device": args.device}
        write_json(args.json, totals, config)
    return 1 if totals["mpi4py.failed"] else 0


def _run_each(numbers: Sequence[int], args: argparse.Namespace) -> int:
    """The suite with several numbers of ranks."""
    if args.suite != "mpi4py" or args.against or args.together or args.json:
        given = ",".join(map(str, numbers))
        raise UserError(f"-n {given}: --against, --together, --json, demos and programs take one number of processes")
    console = plain()
    outcomes = {}
    for ranks in numbers:
        console.print(f"{counted(ranks, 'rank')}:")
        own = argparse.Namespace(**{**vars(args), "ranks": ranks})
        outcomes[ranks] = _outcomes(console, _ours(_names(own), own))
        if args.page:  # what is there so far, should the rest take hours
            text = page_of_ranks(outcomes, args.device, _command(), args.resume or "")
            output_file.write(args.page, text, "the page")
    return 1 if any(figures(found)["mpi4py.failed"] for found in outcomes.values()) else 0


def _run_programs(args: argparse.Namespace) -> int:
    """Each beside real MPICH, as `--against mpich` has it. Of demos each has its own number of ranks."""
    console = plain()
    verdicts = []
    known = programs.PROGRAMS if args.suite == "programs" else demos.demos(suite.demos())
    for verdict in program_runs.run(_chosen(known, args.module), args.device, args.ranks, args.limit):
        console.print(f"{verdict.program.name}: {verdict.text().replace('*', '')}", soft_wrap=True)
        verdicts.append(verdict)
    if args.page:
        if args.suite == "demos":
            text = program_runs.page_of_demos(verdicts, args.device, _command(), demos.DEMOS_LEFT_OUT)
        else:
            text = program_runs.page(verdicts, args.device, args.ranks, _command(), programs.LEFT_OUT)
        output_file.write(args.page, text, "the page")
    return 0 if all(verdict.good for verdict in verdicts) else 1


def _chosen(known: Sequence[programs.Program], patterns: Sequence[str]) -> Sequence[programs.Program]:
    """Return the programs whose names match one of the patterns; all without any."""
    for pattern in patterns:
        if not any(fnmatch.fnmatch(one.name, pattern) for one in known):
            raise UserError(
                f"no program is named {pattern!r}; there are {', '.join(program.name for program in known)}"
            )
    return [one for one in known if not patterns or any(fnmatch.fnmatch(one.name, pattern) for pattern in patterns)]


def _command() -> str:
    return shlex.join(["lanai", *sys.argv[1:]])


def _names(args: argparse.Namespace) -> list[str]:
    """The modules to show: those that were chosen, and those that `--resume` has."""
    chosen = suite.modules(args.module, stack(args.device))
    if not args.resume:
        return chosen
    return sorted({*chosen, *OutcomeFile(args.resume, args.device, args.ranks).ended()})


def _ours(names: Sequence[str], args: argparse.Namespace) -> Iterable[Outcome]:
    runner = jobs.simulated(args.device)
    if not args.resume:
        return _run(runner, names, args)
    return _kept(OutcomeFile(args.resume, args.device, args.ranks), runner, names, args)


def _kept(kept: OutcomeFile, runner: jobs.Runner, names: Sequence[str], args: argparse.Namespace) -> Iterable[Outcome]:
    return kept.go_on(names, lambda name: next(jobs.run(runner, [name], args.ranks, args.limit)))


def _theirs(title: str, runner: jobs.Runner, names: Sequence[str], args: argparse.Namespace) -> Iterable[Outcome]:
    """Return the outcomes of the same modules under the library of `--against`. `--resume` keeps them beside ours."""
    if not args.resume:
        return _run(runner, names, args)
    return _kept(OutcomeFile(args.resume, title.strip("`"), args.ranks), runner, names, args)


def _run(runner: jobs.Runner, names: Sequence[str], args: argparse.Namespace) -> Iterable[Outcome]:
    how = jobs.run_together if args.together else jobs.run
    return how(runner, names, args.ranks, args.limit)


def _outcomes(console: Console, found: Iterable[Outcome]) -> list[Outcome]:
    """Return all outcomes, and print each as it comes."""
    outcomes = []
    for outcome in found:
        outcomes.append(outcome)
        line = f"{outcome.passed:5} passed {len(outcome.skipped):4} skipped {len(outcome.failed):4} failed"
        if outcome.seconds:  # of a job with several modules, the last has it
            line += f" {outcome.seconds:6.1f} s"
        if outcome.cycles:
            line += f" {outcome.simulated:9.1f} ms simulated"
        end = f"  did not end: {outcome.trouble}" if outcome.trouble else ""
        console.print(f"{outcome.module:24} {line}{end}", soft_wrap=True)
        for name in outcome.failed:
            console.print(f"    {name}")
    return outcomes


def _compare(
    console: Console, there: jobs.Runner, names: Sequence[str], args: argparse.Namespace, ours: Sequence[Outcome]
) -> Comparison:
    title, where = "`ideal`", "`ideal`"
    if args.against == "mpich":
        title, where = f"MPICH {importlib.metadata.version('mpich')}", "MPICH"
    console.print(f"{title}:")
    comparison = compare(title, where, ours, _outcomes(console, _theirs(title, there, names, args)))
    for line in filter(None, comparison.lines()):
        console.print(line)
    return comparison
