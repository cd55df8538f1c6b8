"""A profile of the firmware in a traced run, by function and by source line."""

import argparse
from typing import TypeVar

from rich.console import Console

from lanai_firmware import output_file
from lanai_host.errors import UserError

from ..command_line import count
from ..console import wide
from ..figures import write_json
from ..report import profile as flame
from ..report.profile import Cost, Profile, annotated, folded_text, profile, source_named
from ..report.tables import percent, table
from ..trace import Trace

KEY = TypeVar("KEY")
NAME = "profile"
HELP = "say what each line of firmware cost in a traced run"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", metavar="TRACE", help="what `lanai run --trace TRACE` wrote")
    parser.add_argument("--node", type=int, metavar="N", help="of this NIC only (all together)")
    parser.add_argument("--most", type=count, default=15, metavar="N", help="functions and lines shown (15)")
    parser.add_argument("--boot", action="store_true", help="count the firmware's boot too")
    parser.add_argument(
        "--source", metavar="FILE", help="show a source file with the cycles of each line, e.g. matching.py"
    )
    parser.add_argument(
        "--flame", metavar="FILE", help="write a flame graph: .svg, or .txt with folded stacks for other tools"
    )
    parser.add_argument("--json", metavar="FILE", help="write cycles by function")


def run(args: argparse.Namespace) -> int:
    trace = Trace.open(args.trace)
    result = profile(trace, args.node, args.boot)
    console = wide()
    if args.source:
        show_source(console, trace, result, source_named(trace, args.source))
    else:
        show_sums(console, trace, result, args.most)
    if args.flame:
        write_flame(args.flame, result)
        console.print(f"\nwrote {args.flame}")
    if args.json:
        figures = {f"profile.{name}.cycles": cost.cycles for name, cost in result.functions.items()}
        figures |= {"profile.cycles": result.total.cycles, "profile.waiting_cycles": result.waiting / 2}
        write_json(args.json, figures, {**trace.made_by, "node": args.node})
    return 0


def show_sums(console: Console, trace: Trace, result: Profile, most: int) -> None:
    console.print(
        f"{result.elapsed / 2:,.1f} processor cycles: {result.total.cycles:,.1f} running"
        f" ({percent(result.total.stalled, result.total.slots)} of them stalled on the LBUS),"
        f" {result.waiting / 2:,.1f} in the wait register, {result.held / 2:,.1f} not started"
    )
    functions = table("\nFunctions", ["function", "cycles", "share", "instructions", "stalled"])
    for name, cost in _heaviest(result.functions, most):
        functions.add_row(name, *_cells(cost, result))
    lines = table("\nLines", ["line", "", "cycles", "share", "instructions", "stalled"], 2)
    for (file, number), cost in _heaviest(result.lines, most):
        text = trace.firmware.files.get(file, "").splitlines()
        source = text[number - 1].strip() if 0 < number <= len(text) else "(made by the compiler)"
        lines.add_row(f"{file.split('/')[-1]}:{number}", source[:70], *_cells(cost, result))
    console.print(functions)
    console.print(lines)


def show_source(console: Console, trace: Trace, result: Profile, file: str) -> None:
    console.print(f"{file}: cycles, share of all running, instructions retired")
    for cost, number, text in annotated(trace, result, file):
        figures = (
            f"{cost.cycles:12,.1f} {percent(cost.slots, result.total.slots):>7} {cost.instructions:10,}"
            if cost
            else " " * 31
        )
        console.print(f"{figures} {number:4} {text}")


def write_flame(path: str, result: Profile) -> None:
    """Write the profile in the form that the file's suffix says."""
    if path.endswith(".svg"):
        text = flame.svg(result.stacks, "firmware, by LBUS slots")
    elif path.endswith(".txt"):
        text = folded_text(result.stacks)
    else:
        raise UserError(f"--flame {path!r}: name a file that ends in .svg (a picture) or .txt (folded stacks)")
    output_file.write(path, text, "the flame graph")


def _heaviest(costs: dict[KEY, Cost], most: int) -> list[tuple[KEY, Cost]]:
    return sorted(costs.items(), key=lambda item: (-item[1].slots, str(item[0])))[:most]


def _cells(cost: Cost, result: Profile) -> list[str]:
    share = percent(cost.slots, result.total.slots)
    return [f"{cost.cycles:,.1f}", share, f"{cost.instructions:,}", percent(cost.stalled, cost.slots)]
