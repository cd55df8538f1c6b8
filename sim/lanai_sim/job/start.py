"""Starts a job: a program of ranks, in the world that its device needs, with our libmpi."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lanai_host.abi.programs import environment

from ..kernel.kernel import Kernel
from . import launcher, processes
from .config import Result, RunConfig
from .world import World


def libmpi_environment(program: str = "python") -> dict[str, str]:
    """What makes a program find our libmpi."""
    return environment(Path(processes.resolve_program(program)))


def world_of(config: RunConfig) -> Callable[[RunConfig, Kernel], World]:
    """The world in which the device lives."""
    if not config.stack.nics:
        return World
    from .nic_world import NicWorld  # brings the engines along

    return NicWorld


def run_job(config: RunConfig) -> Result:
    """Run a job to its end."""
    return launcher.run(config, world_of(config))


def start(
    command: Sequence[str],
    ranks: int,
    device: str = "ideal",
    *,
    world: Callable[[RunConfig, Kernel], World] | None = None,
    **how: Any,
) -> Result:
    """Run an MPI program to its end.

    Args:
        world: instead of the one that the device needs.
        how: fields of `RunConfig`.
    """
    config = RunConfig(tuple(command), ranks, device, environment=libmpi_environment(command[0]), **how)
    return run_job(config) if world is None else launcher.run(config, world)
