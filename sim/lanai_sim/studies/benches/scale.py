"""Jobs on many NICs: CPU time of a whole `lanai run`, and memory, of a ring, barriers, allreduces and
halo exchanges, whose answers are checked."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from lanai_host.errors import UserError
from lanai_host.stacks import names as device_names

from .message import reference

NAME = "scale"
HELP = "CPU time and memory of jobs on many NICs: ring, barrier, allreduce, halo"

NICS = (4, 16, 64)
ROUNDS = 2  # runs of each size, of which the least CPU time counts: other work on the machine only ever adds
PROGRAM = """
import array, json, resource, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size
times = {}

def timed(name, turns, step):
    begun = MPI.Wtime()
    for _ in range(turns):
        step()
    times[name] = 1e6 * (MPI.Wtime() - begun) / turns

def ring():
    count = array.array("i", [0])
    if rank:
        world.Recv(count, rank - 1)
    count[0] += 1
    world.Send(count, (rank + 1) % ranks) if ranks > 1 else None
    if rank == 0 and ranks > 1:
        world.Recv(count, ranks - 1)
        assert count[0] == ranks, count

def allreduce():
    mine, total = array.array("d", [rank]), array.array("d", [0])
    world.Allreduce(mine, total)
    assert total[0] == ranks * (ranks - 1) / 2, total

def reduced(value, operation):
    found = array.array("d", [0])
    world.Allreduce(array.array("d", [value]), found, operation)
    return found[0]

def halo():
    row, sides, waits = bytes([rank % 251]) * 512, [], []
    for axis in (0, 1):
        for low, high in (grid.Shift(axis, 1), grid.Shift(axis, -1)):
            ghost = bytearray(512)
            sides.append((low, ghost))
            waits.append(grid.Irecv(ghost, low, len(sides)))
            waits.append(grid.Isend(row, high, len(sides)))
    MPI.Request.Waitall(waits)
    assert all(ghost == bytes([low % 251]) * 512 for low, ghost in sides)

grid = world.Create_cart(MPI.Compute_dims(ranks, 2), [True, True])
timed("ring", 2, ring)
for _ in range(2):
    came = MPI.Wtime()
    timed("barrier", 2, world.Barrier)
    left = MPI.Wtime()
    assert reduced(came, MPI.MAX) <= reduced(left, MPI.MIN), "a rank left the barrier too early"
timed("allreduce", 4, allreduce)
timed("halo", 2, halo)
grid.Free()
world.Barrier()
if rank == 0:
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with open(sys.argv[1], "w") as file:
        json.dump({"times": times, "kilobytes": used}, file)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    nics = [name for name in device_names() if name != "ideal"]
    parser.add_argument(
        "--device", default="mpi-np", choices=nics, help="the messaging system below MPI (default: %(default)s)"
    )
    parser.add_argument("--nics", type=int, nargs="+", default=NICS, help="sizes of the runs (default: 4 16 64)")
    parser.add_argument(
        "--ranks-per-node", type=int, default=1, metavar="K", help="ranks that share a NIC (default: %(default)s)"
    )


def once(device: str, nics: int, ranks_per_node: int = 1) -> dict[str, float]:
    """Return the figures of one run: CPU seconds of all its processes, memory, and simulated times."""
    ranks = nics * ranks_per_node
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer"
        command = [sys.executable, "-m", "lanai_sim", "run", "-q", "-n", str(ranks), "--device", device]
        command += ["--ranks-per-node", str(ranks_per_node), "python", "-c", PROGRAM, str(answer)]
        with open(Path(folder) / "said", "w+") as said:
            started = subprocess.Popen(command, stdout=said, stderr=said)
            _, status, used = os.wait4(started.pid, 0)
            started.returncode = os.waitstatus_to_exitcode(status)
            if started.returncode:
                said.seek(0)
                raise UserError(f"the run of {ranks} ranks ended with code {started.returncode}:\n{said.read()}")
        found = json.loads(answer.read_text())
    cpu, memory = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    figures = {f"scale.cpu_s.{nics}": cpu, f"scale.cpu_s_per_nic.{nics}": cpu / nics}
    figures |= {f"scale.simulator_mb.{nics}": memory, f"scale.simulator_mb_per_nic.{nics}": memory / nics}
    figures[f"scale.rank_mb.{nics}"] = found["kilobytes"] / 1024
    return figures | {f"scale.simulated_us.{nics}.{name}": value for name, value in found["times"].items()}


def run(args: argparse.Namespace) -> dict[str, float]:
    wrong = [count for count in (*args.nics, args.ranks_per_node) if count < 1]
    if wrong:
        raise UserError(f"{wrong[0]} is not a count; --nics and --ranks-per-node take whole numbers from 1")
    figures: dict[str, float] = {}
    loops = [reference()]
    for nics in args.nics:
        once(args.device, nics, args.ranks_per_node)  # builds what is not there yet, and keeps the NICs' boot
        rounds = [once(args.device, nics, args.ranks_per_node) for _ in range(ROUNDS)]
        figures |= min(rounds, key=lambda one: one[f"scale.cpu_s.{nics}"])
        loops.append(reference())
    return figures | {"scale.reference_us": 1e6 * min(loops)}
