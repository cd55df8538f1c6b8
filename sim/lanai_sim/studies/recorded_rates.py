"""NIC cycles a second of the engine's model, replaying what came in at a NIC of a real run."""

import ctypes
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from lanai_hdl.config import lanai41
from lanai_hdl.remote.config import Remote
from lanai_host.errors import UserError

from ..engines.replay import SUFFIX, Inputs
from ..engines.rtl import build, native
from ..job.job import Job
from ..machine.machine import Machine
from .recordings import RECORDINGS, STREAM, Recording

ROUNDS = 5  # replays, of which the best counts: other work on the machine only ever slows
LONG = STREAM.format(turns=4)
ALL_TO_ALL = """
from mpi4py import MPI
world = MPI.COMM_WORLD
mine, theirs = bytearray(2048 * world.size), bytearray(2048 * world.size)
for turn in range(2):
    world.Alltoall(mine, theirs)
"""


def _recording(program: str, ranks: int, device: str, *, adapter: bool = False) -> Recording:
    nic = lanai41().but(blocks=(Remote(),)) if adapter else lanai41()
    return Recording(Job(("python", "-c", program), ranks, device, Machine(nic)), 1)


TRAFFIC = {
    "pingpong": RECORDINGS["pingpong"],
    "halo": RECORDINGS["halo"],
    "collectives": RECORDINGS["collectives"],
    "adapter": RECORDINGS["adapter"],
    "stream": _recording(LONG, 2, "mpi-np"),
    "alltoall": _recording(ALL_TO_ALL, 8, "mpi-np"),
    "mbcf": _recording(LONG, 2, "mbcf", adapter=True),
    "sci": _recording(LONG, 2, "sci"),
    "t3d": _recording(LONG, 2, "t3d"),
    "ccu": _recording(LONG, 2, "ccu"),
}


def play(recording: Recording) -> Inputs:
    """Play a run and return the inputs of its NIC."""
    job = recording.job
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"traffic{SUFFIX}"
        result = job.but(inputs=(recording.node, path), capture=True).run()
        if not result.ok:
            raise UserError(f"the run to record ended with code {result.code}: {result.report}")
        return Inputs.load(path, recording.nic)


def rate(inputs: Inputs, rounds: int = ROUNDS) -> float:
    """Return NIC cycles a second of CPU time, of the best round. Raises UserError if any output of any slot
    differs from what is on record.
    """
    library, (table, _) = native(), build(inputs.nic, None)
    slots, count = np.ascontiguousarray(inputs.slots).tobytes(), len(inputs.slots)
    best, outside = 0.0, ctypes.c_uint64()
    for _ in range(rounds):
        started = time.process_time()
        found = f"{library.engine_replay(slots, count, table.address, 0, ctypes.byref(outside)):016x}"
        best = max(best, count / 2 / (time.process_time() - started))
        if found != inputs.digest:
            raise UserError(f"the model's outputs differ from the gateware's: {found}, on record {inputs.digest}")
    return best


def rates(names: Iterable[str]) -> dict[str, float]:
    """Return the rate of each named traffic."""
    return {f"engine.cycles_per_second.{name}": rate(play(TRAFFIC[name])) for name in names}
