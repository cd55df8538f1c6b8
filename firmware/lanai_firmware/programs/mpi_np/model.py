"""MPI-NP on NICs in plain Python (`lanai_firmware.nic.model`): what its driver does to boot one."""

from collections.abc import Sequence
from typing import Any

from lanai_firmware.lang.types import annotations_of, resolve
from lanai_firmware.nic.model import Fabric, Nic
from lanai_hdl.config import NicConfig

from . import state
from .boot import boot
from .plan import Layout, Line, McpConfig, QueueDepths, Seat, boot_words, channel_words, home_bytes, lay_out, rooms_of
from .scheduler import turn

HOMES = 0xE000_0000  # where the host memory for channels without a room lies: no rank's


def fabric(nics: int, config: NicConfig | None = None) -> Fabric:
    """NICs whose processors run this firmware. Each must be booted by `plug`."""
    return Fabric(nics, turn, config)


def plug(
    nic: Nic, config: McpConfig, ranks: int, seats: Sequence[Seat], lines: Sequence[Line], most_ranks: int = 0
) -> Layout:
    """Do the driver's boot: plan, write, run `boot`."""
    with nic.machine as machine:
        for name in ("plan", "nic", "frames", "staged_records", "endpoint_plans", "links"):
            machine.place(*whereabouts(name))
        if rooms_of(config, len(lines)):
            nic.memory.add(HOMES, memoryview(bytearray(home_bytes(config) * len(lines))))
        depths = QueueDepths.built(nic.config)
        layout = lay_out(config, len(seats), ranks, machine.heap, machine.stack_bottom, HOMES, most_ranks, depths)
        words = {getattr(state, name)._address: data for name, data in boot_words(layout, seats).items()}
        for address, data in {**words, layout.plan["channel_plan_table"]: channel_words(lines)}.items():
            machine.sram[address : address + len(data)] = data
        assert boot(), "boot refused its own layout version"
    return layout


def whereabouts(name: str) -> tuple[str, Any]:
    """Symbol and type of one of the firmware's globals."""
    symbol = f"{state.__name__}.{name}"
    return symbol, resolve(annotations_of(state)[name].kind, vars(state), symbol)
