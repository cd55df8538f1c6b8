"""Computing time, and the figures by which a kernel is measured."""

import json
from collections.abc import Callable
from pathlib import Path

from mpi4py import MPI

from ..counters import read_all

WRITTEN, QUEUED = "nic_mbcf_written_bytes", "nic_mbcf_queued_bytes"


def compute(microseconds: float) -> None:
    """Keep the processor busy, outside the library except for its clock."""
    if not microseconds:
        return
    end = MPI.Wtime() + 1e-6 * microseconds
    while MPI.Wtime() < end:
        pass


def measured(world: MPI.Intracomm, file: str, kernel: Callable[[], None]) -> None:
    """Run a kernel. Rank 0 writes to `file` its time, and of the bytes that all ranks have sent to
    others the percentage that went by remote write, where the device counts them."""
    before = read_all()
    world.Barrier()
    begin = MPI.Wtime()
    kernel()
    span = MPI.Wtime() - begin
    after = read_all()
    moved = [after.get(name, 0) - before.get(name, 0) for name in (WRITTEN, QUEUED)]
    everyone = world.gather((span, *moved))
    if everyone is not None:
        spans, written, queued = zip(*everyone, strict=True)
        found = {"ms": 1e3 * max(spans), "bytes": float(sum(written) + sum(queued))}
        if found["bytes"]:
            found["written_percent"] = 100 * sum(written) / found["bytes"]
        Path(file).write_text(json.dumps(found))
