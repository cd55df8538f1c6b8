"""Replay recorded inputs of whole NICs through the engine's model: all outputs of all slots must be
as on record. Find the cases that the models have copies for."""

import argparse
import time
from pathlib import Path

from lanai_firmware import output_file
from lanai_host.errors import UserError

from ..engines import witness
from ..engines.gates import cases
from ..engines.replay import SUFFIX, Inputs, digest
from ..engines.rtl import build
from ..studies.recordings import RECORDINGS, nic_of, record

NAME = "replay"
HELP = "compare the engine's models with the gateware on recorded inputs of NICs, or record new ones"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = actions.add_parser("check", help="replay the files of a directory")
    check.add_argument("--probes", action="store_true", help="through the model that traced runs use")
    check.add_argument("--as-synthesized", action="store_true", help="through Verilator's model of the hardware")
    new = actions.add_parser("record", help="play the runs and write their files; needs mpi4py")
    new.add_argument("--only", choices=sorted(RECORDINGS), help="one run alone")
    usual = actions.add_parser("usual", help="find the values that registers often have together, for the quick engine")
    usual.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        default=cases.PATH,
        help="where to write them (where the engine reads them)",
    )
    for action in (check, new, usual):
        action.add_argument("folder", type=Path, metavar="DIRECTORY", help="where the files are, e.g. tests/inputs")


def run(args: argparse.Namespace) -> int:
    if not args.folder.is_dir():
        raise UserError(f"{str(args.folder)!r} is not a directory; name the one that holds the {SUFFIX} files")
    if args.action == "record":
        for name in [args.only] if args.only else RECORDINGS:
            path = record(name, args.folder)
            found = Inputs.load(path, nic_of(path))
            print(f"{path.name}: {len(found.slots):,} slots, {path.stat().st_size:,} bytes, outputs {found.digest}")
        return 0
    if args.action == "usual":
        return find_usual(_paths(args.folder), args.output)
    return check_all(args)


def find_usual(paths: list[Path], output: Path) -> int:
    if not output.parent.is_dir():
        raise UserError(f"cannot write {str(output)!r}: its directory does not exist; name a file in one that does")
    from ..engines.gates import choose

    groups: dict[str, list[Inputs]] = {}
    for path in paths:
        inputs = Inputs.load(path, nic_of(path))
        groups.setdefault(cases.blocks_of(inputs.nic), []).append(inputs)
    found = [case for group in groups.values() for case in choose.chosen(group)]
    output_file.write(output, cases.written(found), "the cases")
    for case in found:
        print(f"{case.name}, NICs {f'with {case.blocks}' if case.blocks else 'alone'}: {len(case.values)} fields")
    return 0


def _paths(folder: Path) -> list[Path]:
    paths = sorted(folder.glob(f"*{SUFFIX}"))
    if not paths:
        raise UserError(f"{str(folder)!r} holds no {SUFFIX} files; `lanai replay record` writes some")
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
