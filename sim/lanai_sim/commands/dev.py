"""Develop openlanai: measure, run test suites of MPI, compare the processor and the models with what they stand for."""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rich.progress import Progress
from rich.table import Table

from lanai_firmware import output_file
from lanai_host.errors import UserError

from ..command_line import count, plugins
from ..console import plain
from ..engines import witness
from ..engines.gates import cases
from ..engines.replay import SUFFIX, Inputs, digest
from ..engines.rtl import build
from ..figures import write_json
from ..studies import benches
from ..studies.conform import command as conform
from ..studies.recordings import RECORDINGS, nic_of, record, usual
from ..units import counted
from . import run as run_command
from .run.flags import add_flags

NAME = "dev"
HELP = "for openlanai's developers: bench, conform, lockstep, replay"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    tools = parser.add_subparsers(dest="tool", metavar="ACTION", required=True)
    for name, (text, add, work) in TOOLS.items():
        tool = tools.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        add(tool)
        tool.set_defaults(work=work)


def run(args: argparse.Namespace) -> int:
    return int(args.work(args))


def add_benches(parser: argparse.ArgumentParser) -> None:
    subparsers = parser.add_subparsers(dest="bench", metavar="BENCH", required=True)
    for module in plugins(benches):
        sub = subparsers.add_parser(module.NAME, help=module.HELP, description=module.__doc__)
        sub.add_argument("--json", metavar="FILE", help="write the figures to FILE")
        module.add_arguments(sub)
        sub.set_defaults(measure=module.run)


def measure(args: argparse.Namespace) -> int:
    figures: dict[str, float] = args.measure(args)
    table = Table("figure", "value")
    for name, value in sorted(figures.items()):
        table.add_row(name, f"{value:,.6g}" if isinstance(value, float) else str(value))
    plain().print(table)
    if args.json:
        options = {name: value for name, value in vars(args).items() if name != "json" and not callable(value)}
        write_json(args.json, figures, options)
    return 0


def add_lockstep(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--instructions", type=count, default=100_000, metavar="N", help="retire at least N (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="first program's seed (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE")


def prove(args: argparse.Namespace) -> int:
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


def add_replay(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = actions.add_parser("check", help="replay the files of a directory")
    check.add_argument("--probes", action="store_true", help="through the model that traced runs use")
    check.add_argument("--as-synthesized", action="store_true", help="through Verilator's model of the hardware")
    new = actions.add_parser("record", help="play the runs and write their files; needs mpi4py")
    new.add_argument("--only", choices=sorted(RECORDINGS), help="one run alone")
    usual = actions.add_parser(
        "usual",
        help="play runs, and find the values that registers often have together, for the quick engine",
        description="Play runs on NICs, and find the values that their registers often have together, which make the "
        "engine quick. Flags are those of `lanai run`, for NICs of your own.",
    )
    add_flags(usual)
    usual.add_argument("devices", nargs="*", metavar="DEVICE", help="messaging systems (default: none)")
    usual.add_argument("--from", dest="recorded", type=Path, metavar="DIRECTORY", help="choose from the files here too")
    usual.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        default=cases.PATH,
        help="where to write them (default: where the engine reads them); for NICs of your own: cases.txt in a "
        "directory on LANAI_PATH",
    )
    for action in (check, new):
        action.add_argument("folder", type=Path, metavar="DIRECTORY", help="where the files are, e.g. tests/inputs")


def replay(args: argparse.Namespace) -> int:
    if args.action == "usual":
        return find_usual(args)
    if not args.folder.is_dir():
        raise UserError(f"{str(args.folder)!r} is not a directory; name the one that holds the {SUFFIX} files")
    if args.action == "record":
        for name in [args.only] if args.only else RECORDINGS:
            path = record(name, args.folder)
            found = Inputs.load(path, nic_of(path))
            print(f"{path.name}: {len(found.slots):,} slots, {path.stat().st_size:,} bytes, outputs {found.digest}")
        return 0
    return check_all(args)


def find_usual(args: argparse.Namespace) -> int:
    """Choose cases from runs on these devices, and write them."""
    from ..engines.gates import choose

    if not args.output.parent.is_dir():
        raise UserError(f"cannot write {str(args.output)!r}: its directory does not exist; name a file in one that is")
    every = [Inputs.load(path, nic_of(path)) for path in (_paths(args.recorded) if args.recorded else ())]
    for device in args.devices:
        print(f"lanai: playing runs on {device}", file=sys.stderr)
        every += usual(
            run_command.config_of(argparse.Namespace(**vars(args) | {"device": device, "program": ["true"]}))
        )
    if not every:
        raise UserError("there is nothing to choose from; name a device, or --from DIRECTORY")
    kinds: dict[str, list[Inputs]] = {}
    for inputs in every:
        kinds.setdefault(cases.kind_of(inputs.nic), []).append(inputs)
    found = [case for group in kinds.values() for case in choose.chosen(group)]
    output_file.write(args.output, cases.written(found), "the cases")
    for case in found:
        print(f"{case.name}, NICs {case.nics}: {len(case.values)} fields")
    return 0


def _paths(folder: Path) -> list[Path]:
    paths = sorted(folder.glob(f"*{SUFFIX}"))
    if not paths:
        raise UserError(f"{str(folder)!r} holds no {SUFFIX} files; `lanai dev replay record` writes some")
    return paths


def check_all(args: argparse.Namespace) -> int:
    failed = 0
    for path in _paths(args.folder):
        inputs = Inputs.load(path, nic_of(path))
        witness.build(inputs.nic) if args.as_synthesized else build(inputs.nic, None, probes=args.probes)  # not timed
        started = time.process_time()
        if args.as_synthesized:
            found = witness.as_synthesized(inputs.nic, inputs.slots)
        else:
            found = digest(inputs.nic, inputs.slots, probes=args.probes)
        spent = time.process_time() - started
        same = found == inputs.digest
        failed += not same
        verdict = "as on record" if same else f"DIFFER: {found}, on record {inputs.digest}"
        print(f"{path.name}: {len(inputs.slots):,} slots in {spent:.2f} s of CPU time, outputs {verdict}")
    return int(failed > 0)


Tool = tuple[str, Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], int]]
TOOLS: dict[str, Tool] = {
    "bench": ("measure the processor, the engine, MPI point-to-point, ... and print a table", add_benches, measure),
    "conform": (conform.HELP, conform.add_arguments, conform.run),
    "lockstep": (
        "compare the gateware of the processor with the golden model, on random programs",
        add_lockstep,
        prove,
    ),
    "replay": ("compare models with the gateware on recorded inputs of NICs, or record new ones", add_replay, replay),
}
