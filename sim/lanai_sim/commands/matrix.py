"""The communication matrix of a traced run: messages, bytes, sizes and protocols by pair of ranks."""

import argparse
from pathlib import Path

from rich.console import Console

from lanai_firmware import output_file
from lanai_host.errors import UserError

from ..console import wide
from ..figures import write_json
from ..report.messages import Matrix, matrix, size_class
from ..report.tables import table
from ..studies import drawing
from ..trace import Trace

NAME = "matrix"
HELP = "say which ranks talked to which in a traced run"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", metavar="TRACE", help="what `lanai run --trace TRACE` wrote")
    parser.add_argument("--plot", metavar="FILE", help="draw it: .png, .svg or .pdf")
    parser.add_argument("--json", metavar="FILE", help="write messages and bytes of each pair")


def run(args: argparse.Namespace) -> int:
    trace = Trace.open(args.trace)
    made = matrix(trace)
    console = wide()
    show(console, made)
    for line in trace.missing:
        console.print(f"the trace lacks {line}")
    if args.plot:
        draw(args.plot, made)
    if args.json:
        figures = {}
        for source, target in sorted(made.protocols):
            figures[f"matrix.{source}.{target}.messages"] = int(made.messages[source, target])
            figures[f"matrix.{source}.{target}.bytes"] = int(made.bytes[source, target])
        write_json(args.json, figures, trace.made_by)
    return 0


def show(console: Console, made: Matrix) -> None:
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
    for name, count in sorted(made.all_protocols.items()):
        protocols.add_row(name, f"{count:,}")
    console.print(sizes)
    console.print()
    console.print(protocols)


def draw(path: str, made: Matrix) -> None:
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
