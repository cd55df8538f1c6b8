"""One-sided communication in simulated time: a put and a fetch-and-op, each with its flush, while
the target waits in MPI and while it computes; in memory of the library's, and of the program's own
(private)."""

import argparse
import tempfile
from pathlib import Path

from lanai_hdl.errors import UserError
from lanai_host.stacks import names, stack

from ...job.job import Job

NAME = "one-sided"
HELP = "one-sided communication: put and fetch-and-op, also at a target that computes"

BUSY_MS = 10
NAMES = tuple(
    f"{window}{busy}{what}_us"
    for window in ("", "private_")
    for busy in ("", "busy_")
    for what in ("put_flush", "fetch_op")
)
PROGRAM = """
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

BUSY, ROUNDS = float(sys.argv[2]) / 1e3, 8
world = MPI.COMM_WORLD
data, one, old = np.arange(8, dtype="u1"), np.ones(1, "i"), np.zeros(1, "i")


def put():
    window.Put(data, 0, (8, 8, MPI.BYTE))
    window.Flush(0)


def add():
    window.Fetch_and_op(one, old, 0, 16)
    window.Flush(0)


def timed(call):
    call()  # the first one may map the memory
    begin = MPI.Wtime()
    for _ in range(ROUNDS):
        call()
    return (MPI.Wtime() - begin) / ROUNDS * 1e6


def measured():
    window.Lock(0, MPI.LOCK_SHARED)
    found = [timed(put), timed(add)]
    window.Unlock(0)
    return found


found = []
for made in (
    lambda: MPI.Win.Allocate(64, 1, comm=world),
    lambda: MPI.Win.Create(np.zeros(64, "u1"), 1, comm=world),
):
    window = made()
    memory = np.frombuffer(window.tomemory(), "u1")
    for busy in (0, BUSY):
        world.Barrier()
        begin = MPI.Wtime()
        if world.rank == 1:
            found += measured()
        else:
            while MPI.Wtime() < begin + busy:
                pass
        world.Barrier()
    if world.rank == 0:
        assert (memory[8:16] == data).all()
        assert memory[16:20].view("i")[0] == 2 * (ROUNDS + 1)
    del memory
    window.Free()
if world.rank == 1:
    Path(sys.argv[1]).write_text(" ".join(map(repr, found)))
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="sci", help="what runs between the ranks (default: %(default)s)")


def measure(device: str) -> dict[str, float]:
    """The figures of two ranks on two NICs."""
    if device not in names() or not stack(device).nics:
        raise UserError(f"--device {device!r} has no NICs to measure; see `lanai list devices`")
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result"
        Job(("python", "-c", PROGRAM, str(result), str(BUSY_MS)), 2, device).run().check()
        return dict(zip(NAMES, map(float, result.read_text().split()), strict=True))


def run(args: argparse.Namespace) -> dict[str, float]:
    return {f"one_sided.{args.device}.{name}": value for name, value in measure(args.device).items()}
