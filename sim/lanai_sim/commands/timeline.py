"""Turn a trace into a timeline for Perfetto (ui.perfetto.dev) or chrome://tracing."""

import argparse

from ..report.tracks import timeline
from ..trace import Trace

NAME = "timeline"
HELP = "write a traced run as a timeline for Perfetto"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", metavar="TRACE", help="what `lanai run --trace TRACE` wrote")
    parser.add_argument("-o", "--output", default="timeline.json", metavar="FILE", help="where to (timeline.json)")


def run(args: argparse.Namespace) -> int:
    trace = Trace.open(args.trace)
    made = timeline(trace)
    made.write(args.output)
    print(
        f"wrote {args.output}: {len(made.events)} events; open it at ui.perfetto.dev, which keeps it on your computer"
    )
    for line in trace.missing:
        print(f"the trace lacks {line}")
    return 0
