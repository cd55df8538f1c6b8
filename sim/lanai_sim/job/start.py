"""Starts a job in the world that its device needs."""

import dataclasses
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..kernel.kernel import Kernel
from ..machine.machine import Machine
from . import launcher
from .data import JobData
from .result import Result
from .world import World

MACHINE = frozenset(field.name for field in dataclasses.fields(Machine))


def world_of(job: JobData) -> Callable[[JobData, Kernel], World]:
    """Return the world in which the device lives."""
    if not job.stack.nics:
        return World
    from .nic_world import NicWorld  # brings the engines along

    return NicWorld


def run_job(job: JobData) -> Result:
    """Run a job to its end."""
    return launcher.run(job, world_of(job))


def run_asked(job: JobData, trace: bool | str | Path | None) -> Result:
    """Run a job to its end, and trace it into a file, or if `trace` is true into memory alone."""
    if trace is None or trace is False:
        return run_job(job)
    if trace is not True:
        return run_job(job.but(trace=str(trace)))
    with tempfile.TemporaryDirectory(prefix="lanai") as folder:
        result = run_job(job.but(trace=str(Path(folder, "run.trace"))))
        _ = result.trace  # reads the whole file
        return result.without_file()


def job_of(command: Sequence[str], ranks: int, device: str = "ideal", **how: Any) -> JobData:
    """Return a job. `how`: members of `Job`, and of its `Machine`."""
    machine = Machine(**{name: how.pop(name) for name in MACHINE & how.keys()})
    return JobData(tuple(command), ranks, device, **{"machine": machine, **how})


def start(
    command: Sequence[str],
    ranks: int,
    device: str = "ideal",
    *,
    world: Callable[[JobData, Kernel], World] | None = None,
    **how: Any,
) -> Result:
    """Run an MPI program to its end.

    Args:
        world: instead of the one that the device needs.
        how: members of `Job`, and of its `Machine`.
    """
    job = job_of(command, ranks, device, **how)
    return run_job(job) if world is None else launcher.run(job, world)
