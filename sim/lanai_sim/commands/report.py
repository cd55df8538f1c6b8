"""The time of a traced run: by rank, MPI call, message and firmware function. The sums
are exact."""

import argparse

from lanai_host.errors import UserError

from ..command_line import count
from ..console import wide
from ..figures import write_json
from ..report import rows, tables
from ..report.activity import Activity
from ..report.messages import MessageBook
from ..report.page import write_page
from ..report.ranks import rank_sums
from ..report.rows import figures
from ..trace import Trace
from ..units import counted

NAME = "report"
HELP = "say where the time of a traced run went"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", metavar="TRACE", help="what `lanai run --trace TRACE` wrote")
    parser.add_argument("--message", type=int, metavar="N", help="tell one message moment by moment")
    parser.add_argument("--lines", action="store_true", help="tell firmware by source line instead of by function")
    parser.add_argument("--most", type=count, default=12, metavar="N", help="rows of each table at most (12)")
    parser.add_argument("--html", metavar="FILE", help="write one page with all of it, a timeline and plots")
    parser.add_argument("--json", metavar="FILE", help="write the figures")


def run(args: argparse.Namespace) -> int:
    trace = Trace.open(args.trace)
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
        return 0
    ranks, messages = rank_sums(activity), list(book.all())
    tables.print_head(console, trace, ranks)
    shown, most = tables.groups_of(trace), args.most
    made = [tables.ranks_table(ranks, shown), tables.calls_table(ranks, most, shown)]
    made.append(tables.places_table(ranks, most, shown))
    if messages:
        made.append(tables.messages_table(messages, most, shown))
    if messages and len(trace.processor):
        made.append(tables.bodies_table(messages, args.most))
        made.append(tables.firmware_table(messages, args.most))
    blocks = rows.blocks(trace)
    if blocks:
        made.append(tables.blocks_table(blocks))
    for table in made:
        if table.row_count:
            console.print()
            console.print(table)
    if args.html:
        write_page(args.html, trace, ranks, messages)
        console.print(f"\nwrote {args.html}")
    if args.json:
        write_json(
            args.json, figures(trace, ranks, messages), trace.made_by, tables=rows.tables(ranks, messages, blocks)
        )
    return 0
