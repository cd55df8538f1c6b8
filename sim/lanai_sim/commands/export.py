"""Write a traced run for other tools: as a schedule in GOAL for LogGOPSim, or as an archive in OTF2 for Vampir,
Scalasca and the like."""

import argparse
from pathlib import Path

from lanai_firmware import output_file

from ..report import export
from ..trace import Trace
from ..units import counted

NAME = "export"
HELP = "write a traced run for other tools: GOAL for LogGOPSim, OTF2 for Vampir"
FORMS = ("goal", "otf2")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("form", choices=FORMS, metavar="FORM", help=f"one of {', '.join(FORMS)}")
    parser.add_argument("trace", metavar="TRACE", help="what `lanai run --trace TRACE` wrote")
    parser.add_argument("-o", "--output", metavar="PATH", help="where to: TRACE.goal, or the folder TRACE.otf2")


def run(args: argparse.Namespace) -> int:
    trace = Trace.open(args.trace)
    path = args.output or f"{Path(args.trace).stem}.{args.form}"
    if args.form == "goal":
        text = export.text(trace)
        output_file.write(path, text, "the schedule")
        print(f"wrote {path}: {counted(trace.ranks, 'rank')}, {counted(len(trace.messages), 'message')}")
        return 0
    events = export.write(trace, path)
    print(f"wrote {path}/traces.otf2: {counted(trace.ranks, 'rank')}, {counted(events, 'event')}")
    return 0
