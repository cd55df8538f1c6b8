"""All that decides the result of a run, as JSON has it."""

import dataclasses
from collections.abc import Mapping
from enum import Enum
from typing import Any

from lanai_host.stacks.base import NicStack

from ..kernel.kernel import FOREVER
from ..machine import fabrics
from ..machine.fabrics.cables import SUFFIX
from .data import JobData


def described(config: JobData) -> dict[str, Any]:
    """Return the description of a run. How it is evaluated (threads, snapshots) changes no result, and is left out."""
    stack = config.stack
    found = {
        "command": list(config.program),
        "programs": [
            {"command": list(one.command), "ranks": one.ranks, "directory": one.directory} for one in config.programs
        ],
        "device": config.device,
        "ranks": config.ranks,
        "universe": config.total_ranks,
        "ranks_per_node": config.ranks_per_node,
        "options": plain(config.chosen_options),
        "host": plain(config.machine.host),
        "buffers": plain(config.chosen_buffers),
        "clock": plain(config.chosen_clock),
        "kills": [str(kill) for kill in config.kills],
        "checkpoint": plain(config.checkpoint),
        "survive": config.survive,
        "limits": {"sim_time_ps": _limit(config.max_sim_time), "wall_s": _limit(config.max_wall)},
    }
    if isinstance(stack, NicStack):
        found |= {
            "nic": plain(stack.equip(config.machine.nic)),
            "fabric": _fabric(config),
            "firmware": None if stack.firmware is None else stack.firmware.name,
            "faults": plain(config.machine.faults),
            "engine": config.engine,
        }
    return found


def plain(value: Any) -> Any:
    """A configuration in JSON's types. Blocks of a NIC are told by their names."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        name = getattr(value, "name", None)
        named = {"block": name} if isinstance(name, str) else {}
        return named | {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.name.lower() if isinstance(value, int) else value.value
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value if isinstance(value, int | float | str | None) else str(value)


def _limit(value: float) -> float | None:
    return None if value in (FOREVER, float("inf")) else value


def _fabric(config: JobData) -> Any:
    """Its name; of one that is described by cables, these."""
    if isinstance(config.machine.fabric, str) and not config.machine.fabric.endswith(SUFFIX):
        return config.machine.fabric
    net = fabrics.describe(config.machine.fabric, -(-config.total_ranks // config.ranks_per_node))
    ends = [((cable.unit, cable.port), (cable.other_unit, cable.other_port)) for cable in net.cables]
    return {"cables": [[_end(net.name(unit), port) for unit, port in pair] for pair in ends]}


def _end(name: str, port: int) -> str:
    return name if name.startswith("nic") else f"{name}.{port}"
