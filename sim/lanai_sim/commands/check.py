"""Run an MPI program and say what is wrong with it, also where it seems to work."""

import argparse
import dataclasses
import json
import sys

from lanai_firmware import output_file
from lanai_host.errors import UserError
from lanai_host.stacks import names as device_names

from .. import check
from ..check import report
from ..check.running import built
from ..command_line import count
from ..job import launcher
from ..job.job import Job

NAME = "check"
HELP = "say what is wrong with an MPI program, also where it seems to work"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", "--ranks", type=count, default=2, metavar="N", help="processes to start (default: 2)")
    parser.add_argument("--device", choices=device_names(), default="ideal", help="messaging system (default: ideal)")
    parser.add_argument(
        "--universe",
        type=count,
        default=0,
        metavar="N",
        help="ranks and spares, which the program may start processes on",
    )
    parser.add_argument("--json", metavar="FILE", help="write the verdict and the findings")
    parser.add_argument("--sarif", metavar="FILE", help="write the findings in SARIF, for editors and code hosts")
    parser.add_argument("--once", action="store_true", help="do not run it once more with synchronous sends")
    parser.add_argument("--max-wall", type=float, default=600.0, metavar="SECONDS", help="end a run after so long")
    parser.add_argument(
        "program", nargs=argparse.REMAINDER, metavar="PROGRAM ARGS", help="what each rank runs, or its source in C"
    )


def run(args: argparse.Namespace) -> int:
    command = args.program[1:] if args.program[:1] == ["--"] else args.program
    if not command:
        raise UserError("no program was named; write, for example: lanai check -n 2 ./program")
    with built(command) as program:
        job = Job(program, args.ranks, args.device, universe=args.universe, max_wall=args.max_wall)
        if not job.stack.nics:
            job = job.but(ranks_per_node=args.ranks)  # one computer, whose ranks can share memory
        verdict, result = check.check(job, buffering=not args.once)
    if result.code:
        launcher.print_report(dataclasses.replace(result, notes=()))
    sys.stdout.flush()
    for line in (*report.second_run(verdict), *report.lines(verdict)):
        print(f"lanai: {line}", file=sys.stderr)
    if args.json is not None:
        output_file.write(args.json, json.dumps(verdict.document(), indent=2) + "\n", "the findings")
    if args.sarif is not None:
        text = json.dumps(report.sarif(verdict.findings, verdict.notes), indent=2)
        output_file.write(args.sarif, text + "\n", "the findings")
    return verdict.exit_code
