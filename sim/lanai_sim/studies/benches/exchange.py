"""The real time of one exchange between the parts of a simulation: `mpiexec -n K lanai dev bench exchange`."""

import argparse
import time

from ...parts.mpi_part import joined

NAME = "exchange"
HELP = "real time of an exchange between the parts of a simulation, under mpiexec"

COUNT = 2_000  # exchanges in a row
SIZE = 128  # bytes of a message: a view, a turn, an event and a flit
ROUNDS = 5  # the quickest counts: other work on the machine only ever adds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--count", type=int, default=COUNT, help="exchanges of a round (default: %(default)s)")


def run(args: argparse.Namespace) -> dict[str, float]:
    part = joined()
    seconds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        part.links.swap(bytes(SIZE), args.count)
        seconds.append(time.perf_counter() - begin)
    slowest = max(part.gather(min(seconds)))
    if part.number:
        raise SystemExit(0)  # the first part reports
    return {"exchange.parts": part.count, "exchange.us": slowest / args.count * 1e6}
