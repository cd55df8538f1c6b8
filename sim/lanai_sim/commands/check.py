"""Run an MPI program and say what is wrong with it, also where it seems to work."""

import argparse
import contextlib
import dataclasses
import json
import shlex
import sys
from collections.abc import Sequence

from lanai_firmware import output_file
from lanai_host.errors import UserError
from lanai_host.stacks import names as device_names

from .. import check
from ..check import running
from ..check.judge import FOUND, Verdict
from ..check.running import built, ignored, imports_of, programs
from ..command_line import count
from ..job import launcher
from ..job.forked import WarmServers
from ..job.job import Job
from ..job.result import Exit

NAME = "check"
HELP = "say what is wrong with an MPI program"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", "--ranks", type=count, default=2, metavar="N", help="processes to start (default: 2)")
    parser.add_argument("--device", choices=device_names(), default="ideal", help="messaging system (default: ideal)")
    parser.add_argument(
        "--universe",
        type=count,
        default=0,
        metavar="N",
        help="number of ranks and spares together; the program may start processes on the spares",
    )
    parser.add_argument("--json", metavar="FILE", help="write the verdict and the findings")
    parser.add_argument("--sarif", metavar="FILE", help="write the findings in SARIF, for editors and code hosts")
    parser.add_argument(
        "--once",
        action="store_true",
        help="run the program once, without the second run in which all sends are synchronous",
    )
    parser.add_argument(
        "--portable", action="store_true", help="also list what the run relies on and MPI does not promise"
    )
    parser.add_argument("--cflags", default="", metavar="FLAGS", help="flags for compiling sources, such as -fopenmp")
    parser.add_argument(
        "--max-wall", type=float, default=600.0, metavar="SECONDS", help="end a run after this much real time"
    )
    parser.add_argument(
        "program",
        nargs=argparse.REMAINDER,
        metavar="PROGRAM ARGS",
        help="the program that each rank runs, or its source file in C, C++ or Fortran. Several programs are checked "
        "one after the other",
    )


def run(args: argparse.Namespace) -> int:
    command = args.program[1:] if args.program[:1] == ["--"] else args.program
    if not command:
        raise UserError("no program was named; write, for example: lanai check -n 2 ./program")
    commands = programs(command)
    verdicts = {}
    with contextlib.closing(WarmServers(imports_of(commands))) as servers:
        for one in commands:
            if len(commands) > 1:
                print(f"lanai: {one[0]}:", file=sys.stderr)
            verdicts[one[0]] = _check(one, args, servers, alone=len(commands) == 1)
    if len(commands) > 1:
        print(f"lanai: {running.of_many(verdicts)}", file=sys.stderr)
    if args.json is not None:
        (document, *_) = [one.document() for one in verdicts.values()]
        if len(commands) > 1:
            document = running.document(verdicts)
        output_file.write(args.json, json.dumps(document, indent=2) + "\n", "the findings")
    if args.sarif is not None:
        found = [one for verdict in verdicts.values() for one in verdict.findings]
        notes = [one for verdict in verdicts.values() for one in verdict.notes]
        output_file.write(args.sarif, json.dumps(running.sarif(found, notes), indent=2) + "\n", "the findings")
    codes = [verdict.exit_code for verdict in verdicts.values()]
    return FOUND if FOUND in codes else next(filter(None, codes), 0)


def _check(command: Sequence[str], args: argparse.Namespace, servers: WarmServers, *, alone: bool) -> Verdict:
    """Check one program and tell its verdict. One of several that cannot be started has failed."""
    flags = shlex.split(args.cflags)
    try:
        with built(command, flags) as program:
            job = Job(program, args.ranks, args.device, universe=args.universe, max_wall=args.max_wall)
            if not job.stack.nics:
                job = job.but(ranks_per_node=args.ranks)  # one computer, whose ranks can share memory
            verdict, result = check.check(job, buffering=not args.once, servers=servers)
    except UserError as error:
        if alone:
            raise
        verdict, result = Verdict([], [], code=Exit.USER_ERROR, failed=f": {error}", ran=False), None
    verdict.unseen += ignored(command, flags)
    if result is not None and result.code:
        launcher.print_report(dataclasses.replace(result, notes=()))
    sys.stdout.flush()
    for line in (*running.second_run(verdict), *running.lines(verdict, args.portable)):
        print(f"lanai: {line}", file=sys.stderr)
    return verdict
