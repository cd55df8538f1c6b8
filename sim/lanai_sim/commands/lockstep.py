"""Prove the processor: run random programs on the golden model and the Verilated core, in lockstep,
and compare all that retires."""

import argparse

from rich.progress import Progress

from lanai_host.errors import UserError

from ..command_line import count
from ..figures import write_json
from ..units import counted

NAME = "lockstep"
HELP = "prove the core against the golden model with random programs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--instructions", type=count, default=100_000, metavar="N", help="retire at least N (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="first program's seed (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE")


def run(args: argparse.Namespace) -> int:
    # Compiling the core takes seconds; `lanai --help` shall not.
    from ..corebench.lockstep import Divergence, prove_many

    if args.instructions <= 0:
        raise UserError(f"--instructions {args.instructions} proves nothing; give a positive number")
    programs = instructions = slots = 0
    try:
        with Progress(transient=True) as progress:
            task = progress.add_task("lockstep", total=args.instructions)
            for proved in prove_many(args.seed, args.instructions):
                programs += 1
                instructions += proved.instructions
                slots += proved.slots
                progress.update(task, completed=instructions)
    except Divergence as divergence:
        print(divergence)
        return 1
    compared = f"{counted(instructions, 'instruction')} of {counted(programs, 'program')}, {counted(slots, 'slot')}"
    print(f"{compared}: core and model agree")
    if args.json:
        figures = {"lockstep.instructions": instructions, "lockstep.programs": programs, "lockstep.slots": slots}
        write_json(args.json, figures, {"seed": args.seed, "instructions": args.instructions})
    return 0
