"""The study of `echo`: half round trips of an MPI program, by the length of the message."""

import sys
from pathlib import Path

from ....job.job import Job
from ...drawing import Plot
from .. import verdicts
from ..claims import Experiment, Figures
from ..page import Frame
from ..studies import Study
from ..verdicts import ByFigure, ByShape

PACKET = 2000  # bytes that fit into one packet
PING = """
import sys
from mpi4py import MPI
world, size, turns = MPI.COMM_WORLD, int(sys.argv[1]), int(sys.argv[2])
buffer = bytearray(size)
for _ in range(turns):
    if world.rank == 0:
        world.Send(buffer, 1)
        world.Recv(buffer, 1)
    else:
        world.Recv(buffer, 0)
        world.Send(buffer, 0)
"""

WAYS = {
    "echo.s1.one_packet": ByFigure("ping.us.4", "The processor copies nothing, but waits for each transfer."),
    "echo.s1.packets_wait": ByShape(
        lambda f: f[f"ping.us.{2 * PACKET}"] >= 2 * f[f"ping.us.{PACKET}"],
        f"{{f[ping.us.{PACKET}]:.1f}} and {{f[ping.us.{2 * PACKET}]:.1f}} us",
        "The second packet waits for the acknowledgement of the first.",
    ),
}


def ping(quick: bool) -> Figures:
    """Half round trips in microseconds."""
    sizes = (4, PACKET, 2 * PACKET) if quick else (4, 100, 500, PACKET, 2 * PACKET, 4 * PACKET)
    return {f"ping.us.{size}": half_round_trip(size) for size in sizes}


def half_round_trip(size: int, turns: int = 4) -> float:
    """The difference of two runs, so that start and end of the program do not count."""
    few, many = (_time(size, count) for count in (1, 1 + turns))
    return (many - few) / (2 * turns) / 1e6


def _time(size: int, turns: int) -> int:
    return Job(("python", "-c", PING, str(size), str(turns)), 2, "echo").run().check().sim_time


def draw(found: Figures) -> dict[str, Plot]:
    times = {float(name.rpartition(".")[2]): value for name, value in found.items()}
    return {"ping": Plot("Half round trip", "bytes", "us", {"echo": times}, log="x")}


EXPERIMENTS = (Experiment("ping", "two ranks send a message back and forth", ping),)
STUDY = Study(
    paper="echo",
    frame=Frame(
        title="Echo, measured",
        intro="One packet at a time, each acknowledged. `lanai paper echo` writes this page.",
        ours="here",
        default="",
        experiments=EXPERIMENTS,
    ),
    experiments=sys.modules[__name__],
    ways=lambda: WAYS,
    draw=draw,
    why_not=verdicts.reasons(""),
    checkout=Path(__file__).parent,
)
