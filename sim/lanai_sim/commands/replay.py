"""Replay recorded inputs of whole NICs through the engine's model: all outputs of all slots must be
as on record. Find the values of registers that the models are specialized for."""

import argparse
import time
from pathlib import Path

from lanai_firmware import output_file
from lanai_host.errors import UserError

from ..engines.replay import SUFFIX, Inputs, digest
from ..engines.rtl import build
from ..engines.specialized import choose, samples, values
from ..studies.recordings import RECORDINGS, nic_of, record

NAME = "replay"
HELP = "compare the engine's models with the gateware on recorded inputs of NICs, or record new ones"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = actions.add_parser("check", help="replay the files of a directory")
    check.add_argument("--probes", action="store_true", help="through the model that traced runs use")
    check.add_argument("--as-synthesized", action="store_true", help="through the model with the hardware's own reset")
    new = actions.add_parser("record", help="play the runs and write their files; needs mpi4py")
    new.add_argument("--only", choices=sorted(RECORDINGS), help="one run alone")
    usual = actions.add_parser("usual", help="find the values that registers often have together, for the quick engine")
    usual.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        default=values.PATH,
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
    files = {path: Inputs.load(path, nic_of(path)) for path in paths}
    if all(one.nic.blocks for one in files.values()):
        raise UserError(f"{str(paths[0].parent)!r} holds no {SUFFIX} file of a NIC without optional blocks; add one")
    found = choose.found(list(files.values()))
    output_file.write(output, values.written(found), "the values")
    for path, one in files.items():
        shares = choose.shares(samples.sampled(one), found)
        print(f"{path.name}:", ", ".join(f"{moment} {_percent(each)}" for moment, each in shares.items()))
    return 0


def _percent(shares: list[float]) -> str:
    return " + ".join(f"{share:.1%}" for share in shares)


def _paths(folder: Path) -> list[Path]:
    paths = sorted(folder.glob(f"*{SUFFIX}"))
    if not paths:
        raise UserError(f"{str(folder)!r} holds no {SUFFIX} files; `lanai replay record` writes some")
    return paths


def check_all(args: argparse.Namespace) -> int:
    failed = 0
    for path in _paths(args.folder):
        inputs = Inputs.load(path, nic_of(path))
        build(inputs.nic, None, probes=args.probes, as_synthesized=args.as_synthesized)  # not in the time below
        started = time.process_time()
        found = digest(inputs.nic, inputs.slots, probes=args.probes, as_synthesized=args.as_synthesized)
        spent = time.process_time() - started
        same = found == inputs.digest
        failed += not same
        verdict = "as on record" if same else f"DIFFER: {found}, on record {inputs.digest}"
        print(f"{path.name}: {len(inputs.slots):,} slots in {spent:.2f} s of CPU time, outputs {verdict}")
    return int(failed > 0)
