"""Read a traced run: where its time went, what its firmware cost, which ranks talked, and files for other tools."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from lanai_firmware import output_file
from lanai_host.errors import UserError

from ..command_line import count
from ..console import wide
from ..figures import write_json
from ..report import export, perfetto, rows, tables
from ..report import profile as flame
from ..report.activity import Activity
from ..report.messages import Matrix, MessageBook, matrix, size_class
from ..report.page import write_page
from ..report.profile import Cost, Profile, annotated, folded_text, profile, source_named
from ..report.ranks import rank_sums
from ..report.tables import percent, table
from ..report.tracks import timeline
from ..studies import drawing
from ..trace import Trace
from ..units import counted

NAME = "trace"
HELP = "read a traced run: report, profile, matrix, timeline, export"
KEY = TypeVar("KEY")
FORMS = ("goal", "otf2")
TIMELINE = "timeline.pftrace"
PLACES = {"report": 12, "profile": 15}  # rows of each table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    own = {}
    for name, (text, _) in ACTIONS.items():
        action = actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        if name == "export":
            action.add_argument("form", choices=FORMS, metavar="FORM", help=f"one of {', '.join(FORMS)}")
        action.add_argument("trace", metavar="TRACE", help="a file that `lanai run --trace` wrote")
        if name in PLACES:
            most = PLACES[name]
            action.add_argument(
                "--most", type=count, default=most, metavar="N", help=f"rows of each table (default: {most})"
            )
        own[name] = action.add_argument
    own["report"]("--message", type=int, metavar="N", help="show one message moment by moment")
    own["report"]("--lines", action="store_true", help="list firmware by source line instead of by function")
    own["report"]("--html", metavar="FILE", help="write one page with all of it, a timeline and plots")
    own["report"]("--json", metavar="FILE", help="write the figures")
    own["profile"]("--node", type=int, metavar="N", help="count this NIC only (default: all together)")
    own["profile"]("--boot", action="store_true", help="count the firmware's boot too")
    own["profile"]("--source", metavar="FILE", help="show a file with the cycles of its lines, e.g. matching.py")
    own["profile"]("--flame", metavar="FILE", help="write a flame graph: .svg, or .txt with stacks for other tools")
    own["profile"]("--json", metavar="FILE", help="write cycles by function")
    own["matrix"]("--plot", metavar="FILE", help="draw it: .png, .svg or .pdf")
    own["matrix"]("--json", metavar="FILE", help="write messages and bytes of each pair")
    own["timeline"]("-o", "--output", default=TIMELINE, metavar="FILE", help=f"file to write (default: {TIMELINE})")
    own["export"]("-o", "--output", metavar="PATH", help="file or folder to write (default: TRACE.goal, TRACE.otf2)")


def run(args: argparse.Namespace) -> int:
    ACTIONS[args.action][1](args, Trace.open(args.trace))
    return 0


def report(args: argparse.Namespace, trace: Trace) -> None:
    """Print sums of all ranks, calls and messages, which are exact, or the moments of one message."""
    console = wide()
    activity = Activity(trace, args.lines)
    book = MessageBook(activity)
    if args.message is not None:
        try:
            message = book.one(args.message)
        except IndexError:
            raise UserError(
                f"--message {args.message}: the trace has {counted(len(trace.messages), 'message')}, and not this one "
                "from end to end"
            ) from None
        console.print(tables.message_table(message))
        console.print()
        console.print(tables.body_line(message.body))
        return
    ranks, messages = rank_sums(activity), list(book.all())
    tables.print_head(console, trace, ranks)
    shown, most = tables.groups_of(trace), args.most
    made = [tables.ranks_table(ranks, shown), tables.calls_table(ranks, most, shown)]
    made.append(tables.places_table(ranks, most, shown))
    if messages:
        made.append(tables.messages_table(messages, most, shown))
    if messages and len(trace.processor):
        made += [tables.bodies_table(messages, most), tables.firmware_table(messages, most)]
    blocks = rows.blocks(trace)
    if blocks:
        made.append(tables.blocks_table(blocks))
    for one in made:
        if one.row_count:
            console.print()
            console.print(one)
    if args.html:
        write_page(args.html, trace, ranks, messages)
        console.print(f"\nwrote {args.html}")
    if args.json:
        figures = rows.figures(trace, ranks, messages)
        write_json(args.json, figures, trace.made_by, tables=rows.tables(ranks, messages, blocks))


def firmware_profile(args: argparse.Namespace, trace: Trace) -> None:
    """Print what functions and lines of firmware cost, or a source file with the cycles of each line."""
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


def communication(args: argparse.Namespace, trace: Trace) -> None:
    """Print messages, bytes, sizes and protocols by pair of ranks."""
    made = matrix(trace)
    console = wide()
    show_matrix(console, made)
    for line in trace.missing:
        console.print(f"the trace lacks {line}")
    if args.plot:
        draw_matrix(args.plot, made)
    if args.json:
        figures = {}
        for source, target in sorted(made.protocols):
            figures[f"matrix.{source}.{target}.messages"] = int(made.messages[source, target])
            figures[f"matrix.{source}.{target}.bytes"] = int(made.bytes[source, target])
        write_json(args.json, figures, trace.made_by)


def show_matrix(console: Console, made: Matrix) -> None:
    ranks = range(len(made.messages))
    for title, values in (("Messages, from (row) to (column)", made.messages), ("Bytes", made.bytes)):
        grid = table(title, ["rank", *map(str, ranks), "all"])
        for source in ranks:
            cells = [f"{value:,}" if value else "·" for value in values[source].tolist()]
            grid.add_row(str(source), *cells, f"{values[source].sum():,}")
        console.print(grid)
        console.print()
    sizes = table("Sizes", ["bytes", "messages"])
    for bits in sorted(made.sizes):
        sizes.add_row(size_class(bits), f"{made.sizes[bits]:,}")
    protocols = table("Protocols", ["protocol", "messages"])
    for name, number in sorted(made.all_protocols.items()):
        protocols.add_row(name, f"{number:,}")
    console.print(sizes)
    console.print()
    console.print(protocols)


def draw_matrix(path: str, made: Matrix) -> None:
    """Bytes from each rank to each, as a picture; needs no display."""
    drawing.available()
    from matplotlib.figure import Figure

    if Path(path).suffix not in drawing.FORMATS:
        raise UserError(f"--plot {path!r}: name a file that ends in {', '.join(drawing.FORMATS)}")
    figure = Figure(figsize=(5, 4.2), layout="constrained")
    axes = figure.subplots()
    picture = axes.imshow(made.bytes, cmap="viridis")
    axes.set(xlabel="to rank", ylabel="from rank", xticks=range(len(made.bytes)), yticks=range(len(made.bytes)))
    figure.colorbar(picture, label="bytes")
    with output_file.replaced(path, "the plot") as place:
        figure.savefig(place)


def write_timeline(args: argparse.Namespace, trace: Trace) -> None:
    events = perfetto.write(args.output, timeline(trace), about(trace))
    print(
        f"wrote {args.output}: {counted(events, 'event')}; open it at ui.perfetto.dev, which keeps it on your computer"
    )
    for line in trace.missing:
        print(f"the trace lacks {line}")


def about(trace: Trace) -> dict[str, object]:
    """Return what the file tells of its run."""
    known = {"command": " ".join(trace.meta.get("command", [])), "device": trace.meta.get("device", "")}
    known |= {name: trace.meta[name] for name in ("version", "commit") if trace.meta.get(name)}
    return {**known, "ranks": trace.ranks, "NICs": len(trace.nodes), "messages": len(trace.messages)}


def write_export(args: argparse.Namespace, trace: Trace) -> None:
    """Write a schedule for LogGOPSim or an archive for Vampir, Scalasca and the like."""
    path = args.output or f"{Path(args.trace).stem}.{args.form}"
    if args.form == "goal":
        text = export.text(trace)
        output_file.write(path, text, "the schedule")
        print(f"wrote {path}: {counted(trace.ranks, 'rank')}, {counted(len(trace.messages), 'message')}")
        return
    events = export.write(trace, path)
    print(f"wrote {path}/traces.otf2: {counted(trace.ranks, 'rank')}, {counted(events, 'event')}")


ACTIONS: dict[str, tuple[str, Callable[[argparse.Namespace, Trace], None]]] = {
    "report": ("say where the time went: by rank, MPI call, message and firmware function", report),
    "profile": ("say what each function and source line of firmware cost", firmware_profile),
    "matrix": ("say which ranks talked to which", communication),
    "timeline": ("write a timeline for Perfetto (ui.perfetto.dev)", write_timeline),
    "export": ("write it for other tools: GOAL for LogGOPSim, OTF2 for Vampir", write_export),
}
