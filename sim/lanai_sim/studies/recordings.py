"""The runs whose NICs' inputs are on record: point to point, neighbours, collectives, faults on the
wire, commands of the remote-memory adapter, short and long messages on several systems, and NICs with other
numbers that only scale time."""

import ctypes
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_hdl.config import NicConfig, lanai41
from lanai_hdl.remote.config import Remote
from lanai_host.errors import UserError
from lanai_host.stacks.base import NicStack

from ..engines.replay import SUFFIX, Inputs
from ..engines.rtl import build, native
from ..job.job import Job
from ..machine.machine import Machine

PING_PONG = """
from mpi4py import MPI
world = MPI.COMM_WORLD
for size in (0, 4, 60, 1000, 9000):
    buffer = bytearray(range(1, 251)) * (size // 250 + 1)
    for turn in range(3):
        if world.rank == turn % 2:
            world.Send(memoryview(buffer)[:size], 1 - world.rank, size)
        else:
            world.Recv(memoryview(buffer)[:size], 1 - world.rank, size)
"""
HALO = """
from mpi4py import MPI
world = MPI.COMM_WORLD
ring = world.Create_cart([world.size], periods=[True])
left, right = ring.Shift(0, 1)
row, ghost = bytearray(bytes([world.rank]) * 2048), [bytearray(2048), bytearray(2048)]
for step in range(4):
    waits = [ring.Irecv(ghost[0], left, 1), ring.Irecv(ghost[1], right, 2)]
    waits += [ring.Isend(row, right, 1), ring.Isend(row, left, 2)]
    MPI.Request.Waitall(waits)
    row = bytearray((a + b + step) % 256 for a, b in zip(*ghost))
"""
COLLECTIVES = """
from array import array
from mpi4py import MPI
world = MPI.COMM_WORLD
mine, sums = array("d", [world.rank + n for n in range(40)]), array("d", bytes(320))
for turn in range(2):
    world.Barrier()
    world.Bcast(mine, turn)
    world.Allreduce(mine, sums)
    world.Alltoall([mine, 10, MPI.DOUBLE], [sums, 10, MPI.DOUBLE])
"""
STREAM = """
from mpi4py import MPI
world = MPI.COMM_WORLD
data = bytearray(65536)
for turn in range({turns}):
    if world.rank == 0:
        world.Send(data, 1)
    else:
        world.Recv(data, 0)
"""
MESSAGES = """
from mpi4py import MPI
world = MPI.COMM_WORLD
data = bytearray(4)
for turn in range({turns}):
    if world.rank == turn % 2:
        world.Send(data, 1 - world.rank)
    else:
        world.Recv(data, 1 - world.rank)
"""
# Each number of a NIC that only scales time, on either side of its usual value.
LOW = {
    "slot_khz": 50_021, "link_kbytes": 23_003, "link_latency": 21, "host_bus_khz": 9_973, "max_burst": 128,
    "pio_line": 16, "read_setup": 3, "write_setup": 1, "pio_read_setup": 2, "pio_write_setup": 1,
    "latency_timer": 5, "pio_turn": 3,
}  # fmt: skip
HIGH = {
    "slot_khz": 200_000, "link_kbytes": 800_000, "link_latency": 26, "host_bus_khz": 200_000, "max_burst": 4096,
    "pio_line": 128, "read_setup": 90, "write_setup": 40, "pio_read_setup": 30, "pio_write_setup": 20,
    "latency_timer": 200, "pio_turn": 100,
}  # fmt: skip


@dataclass(frozen=True)
class Recording:
    """One run and the NIC of it that is recorded."""

    job: Job
    node: int

    @property
    def nic(self) -> NicConfig:
        """The run's NICs, with what its messaging system adds to them."""
        stack = self.job.stack
        assert isinstance(stack, NicStack)
        return self.job.sized_nic(stack)


def _job(program: str, ranks: int, device: str, *faults: str, nic: NicConfig | None = None, **how: Any) -> Job:
    return Job(("python", "-c", program), ranks, device, Machine(nic or lanai41(), faults=faults), **how)


ADAPTER = (Remote(),)
RECORDINGS = {
    "pingpong": Recording(_job(PING_PONG, 2, "mpi-np"), 0),
    "halo": Recording(_job(HALO, 4, "mpi-np"), 1),
    "collectives": Recording(_job(COLLECTIVES, 4, "mpi-np"), 2),
    "faults": Recording(
        _job(
            PING_PONG, 2, "mpi-np",
            "drop nic0 packet=3", "corrupt nic0 packet=6", "duplicate nic1 packet=4", "drop nic1 packet=8",
            options=McpConfig(recovery=1),
        ),
        1,
    ),
    "adapter": Recording(
        _job(
            PING_PONG, 2, "mbcf", "drop nic0 packet=5", "corrupt nic1 packet=9", "duplicate nic0 packet=12",
            nic=lanai41().but(blocks=ADAPTER),
        ),
        0,
    ),
    "low": Recording(_job(PING_PONG, 2, "mpi-np", nic=lanai41().but(**LOW)), 0),
    "high": Recording(_job(HALO, 4, "mpi-np", nic=lanai41().but(**HIGH)), 1),
    "adapter_low": Recording(
        _job(PING_PONG, 2, "mbcf", nic=lanai41().but(**LOW | {"max_burst": 2048}, blocks=ADAPTER)), 0
    ),
    "adapter_high": Recording(_job(PING_PONG, 2, "mbcf", nic=lanai41().but(**HIGH, blocks=ADAPTER)), 1),
    "lanai2": Recording(_job(PING_PONG, 2, "lanai2"), 1),
    "messages": Recording(_job(MESSAGES.format(turns=100), 2, "mpi-np"), 1),
    "messages_ccu": Recording(_job(MESSAGES.format(turns=40), 2, "ccu"), 1),
    "messages_t3d": Recording(_job(MESSAGES.format(turns=100), 2, "t3d"), 1),
    "stream": Recording(_job(STREAM.format(turns=2), 2, "mpi-np"), 1),
    "stream_mbcf": Recording(_job(STREAM.format(turns=2), 2, "mbcf", nic=lanai41().but(blocks=ADAPTER)), 1),
    "stream_sci": Recording(_job(STREAM.format(turns=2), 2, "sci"), 1),
    "stream_t3d": Recording(_job(STREAM.format(turns=2), 2, "t3d"), 1),
}  # fmt: skip


def nic_of(path: Path) -> NicConfig:
    """Return the NICs that the run of this file was played on."""
    return RECORDINGS[path.stem].nic if path.stem in RECORDINGS else lanai41()


def record(name: str, folder: Path) -> Path:
    """Play a run and write the inputs of its NIC to `folder`. Return the file."""
    path = folder / f"{name}{SUFFIX}"
    played(RECORDINGS[name], name).witnessed().save(path)
    return path


def played(recording: Recording, name: str) -> Inputs:
    """Play a run and return the inputs of its NIC."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"played{SUFFIX}"
        result = recording.job.but(inputs=(recording.node, path), capture=True).run()
        if not result.ok:
            raise UserError(f"the run {name!r} to record ended with code {result.code}: {result.report}")
        return Inputs.load(path, recording.nic)


# Runs from which the cases of the engine's models are chosen: programs, their ranks, and the node whose NIC counts.


USUAL = (
    (MESSAGES.format(turns=1500), 2, 1),  # so many that no counter keeps a value
    (PING_PONG, 2, 0),
    (STREAM.format(turns=2), 2, 1),
    (HALO, 4, 1),
    (COLLECTIVES, 4, 2),
)


def usual(job: Job) -> Iterator[Inputs]:
    """Play such runs on the machine and system of a job."""
    for program, ranks, node in USUAL:
        with_ranks = job.but(program=("python", "-c", program), ranks=ranks)
        yield played(Recording(with_ranks, node), f"on {job.device}")


# NIC cycles a second of the engine's model, replaying what came in at a NIC of a real run.


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
    """Play a run and return the inputs of its NIC, with the digest of the NIC as it is synthesized."""
    return played(recording, "with traffic").witnessed()


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
