"""Turn a trace into a timeline for Perfetto (ui.perfetto.dev)."""

import argparse

from ..report import perfetto
from ..report.tracks import timeline
from ..trace import Trace
from ..units import counted

NAME = "timeline"
HELP = "write a traced run as a timeline for Perfetto"
DEFAULT = "timeline.pftrace"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", metavar="TRACE", help="what `lanai run --trace TRACE` wrote")
    parser.add_argument("-o", "--output", default=DEFAULT, metavar="FILE", help=f"where to ({DEFAULT})")


def run(args: argparse.Namespace) -> int:
    trace = Trace.open(args.trace)
    events = perfetto.write(args.output, timeline(trace), about(trace))
    print(
        f"wrote {args.output}: {counted(events, 'event')}; open it at ui.perfetto.dev, which keeps it on your computer"
    )
    for line in trace.missing:
        print(f"the trace lacks {line}")
    return 0


def about(trace: Trace) -> dict[str, object]:
    """Return what the file tells of its run."""
    known = {"command": " ".join(trace.meta.get("command", [])), "device": trace.meta.get("device", "")}
    known |= {name: trace.meta[name] for name in ("version", "commit") if trace.meta.get(name)}
    return {**known, "ranks": trace.ranks, "NICs": len(trace.nodes), "messages": len(trace.messages)}
