"""A process's device, as its environment says: what `lanai run` chose, or a world of one for a
program started by itself."""

import os
from collections.abc import Mapping

from .config import HostConfig
from .device import Device
from .errors import say
from .plain import restored
from .simulator.client import SimulatorClient
from .simulator.protocol import ENV_DEVICE
from .stacks import stack
from .stacks.ideal.device import IdealDevice, Solo

# Other launchers: the variables in which they tell a process how many it is one of, and which.
LAUNCHERS = (
    ("PMI_SIZE", "PMI_RANK"),
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"),
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
    ("PALS_SIZE", "PALS_RANKID"),
    ("FLUX_JOB_SIZE", "FLUX_TASK_RANK"),
)


def foreign_launcher(environment: Mapping[str, str]) -> str | None:
    """Return an error text if another launcher has started several processes and this is the first; else None."""
    for size, rank in LAUNCHERS:
        count = environment.get(size, "")
        if count.isdecimal() and int(count) > 1:
            if environment.get(rank, "0") != "0":
                return None
            return (
                f"{size}={count}: another launcher has started {count} processes, and each of them is a world "
                "of one rank here; "
                f"start the program with: lanai run -n {count} PROGRAM"
            )
    return None


def solo_device() -> Device:
    """The device of a program that `lanai run` did not start: a world of one rank. Says so if
    another launcher meant it to be more."""
    if text := foreign_launcher(os.environ):
        say(f"lanai: warning: {text}")
    return IdealDevice(0, 1, Solo())


def device_over(client: SimulatorClient) -> Device:
    """The device that the environment names, with what the simulator said of its host and its
    node."""
    costs = restored(HostConfig, client.config.get("host", {}))
    device = stack(os.environ.get(ENV_DEVICE, "ideal")).open(client, costs)
    device.node = client.config.get("node")
    return device
