"""Show the message queues of every rank at a simulated time: receives that are posted, messages that no receive has
taken, sends that are not done. The program is run up to that time. Flags are those of `lanai run`."""

import argparse
from collections.abc import Iterator

from lanai_host.errors import UserError

from ..figures import write_json
from ..job import launcher
from ..job.document import described
from ..job.result import Exit
from ..job.waiting import RankState, describe_queued, describe_unreceived
from ..units import duration, format_time
from . import run as run_command
from .run.flags import FIRST as RUN_FIRST
from .run.flags import sim_time

NAME = "queues"
HELP = "show the message queues of every rank at a simulated time"
FIRST = ("--at", *(flag for flag in RUN_FIRST if flag != "--max-sim-time"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--at", type=sim_time, required=True, metavar="TIME", help="the simulated time, e.g. 2.5ms")
    run_command.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    if args.max_sim_time is not None:
        raise UserError(f"--max-sim-time {args.max_sim_time}: the run ends at the time of --at; leave it out")
    args.max_sim_time = args.at
    job = run_command.config_of(args)
    result = job.run()
    if result.code == Exit.TIME_LIMIT and result.sim_time >= duration(args.at):
        print(f"the message queues at {format_time(duration(args.at))}")
    else:
        launcher.print_report(result)
        print(f"the run ended at {format_time(result.sim_time)}, before {args.at}")
    for rank in result.ranks:
        print("\n".join(lines(rank)))
    if args.json is not None:
        write_json(args.json, dict(figures(result.ranks)), described(job))
    return 0 if result.code == Exit.TIME_LIMIT else result.code


def lines(rank: RankState) -> list[str]:
    """One rank's queues."""
    queues = {
        "receives posted": [describe_queued(one) for one in rank.queued if not one.sends],
        "messages not received": [describe_unreceived(one) for one in rank.unreceived],
        "sends not done": [describe_queued(one) for one in rank.queued if one.sends],
    }
    found = [rank.heading().strip()]
    for title, entries in queues.items():
        found.append(f"  {title}: {len(entries) or 'none'}")
        found += [f"    {entry}" for entry in entries]
    return found


def figures(ranks: tuple[RankState, ...]) -> Iterator[tuple[str, float]]:
    """Yield the length of each queue."""
    for rank in ranks:
        yield f"queues.rank{rank.rank}.receives", sum(not one.sends for one in rank.queued)
        yield f"queues.rank{rank.rank}.messages", sum(one.times for one in rank.unreceived)
        yield f"queues.rank{rank.rank}.sends", sum(one.sends for one in rank.queued)
