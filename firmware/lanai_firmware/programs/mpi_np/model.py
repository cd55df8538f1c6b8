"""MPI-NP on NICs in plain Python (`lanai_firmware.nic.model`): what its driver does to boot one."""

from collections.abc import Sequence
from typing import Any

from lanai_firmware.lang.types import annotations_of, resolve
from lanai_firmware.nic.model import Fabric, Nic
from lanai_hdl.config import NicConfig

from . import state
from .boot import boot
from .booted import boot_once
from .plan import McpConfig, QueueDepths, pools_of, spill_bytes
from .scheduler import turn
from .sram import ChannelRoute, EndpointSpec, Layout, boot_words, channel_words, lay_out

SPILL_MEMORY = 0xE000_0000  # where the host memory for evicted channels lies: outside every rank's window


def fabric(nics: int, config: NicConfig | None = None) -> Fabric:
    """NICs whose processors run this firmware. Each must be booted by `plug`."""
    return Fabric(nics, turn, config)


def plug(
    nic: Nic,
    config: McpConfig,
    ranks: int,
    endpoints: Sequence[EndpointSpec],
    routes: Sequence[ChannelRoute],
    most_ranks: int = 0,
) -> Layout:
    """Do the driver's boot: plan, write, run `boot`, or do what it did for such a plan before."""
    with nic.machine as machine:
        for name in ("plan", "nic", "frames", "staged_records", "endpoint_plans", "links"):
            machine.place(*whereabouts(name))
        if pools_of(config, len(routes)):
            nic.memory.add(SPILL_MEMORY, memoryview(bytearray(spill_bytes(config) * len(routes))))
        depths = QueueDepths.built(nic.config)
        layout = lay_out(
            config, len(endpoints), ranks, machine.heap, machine.stack_bottom, SPILL_MEMORY, most_ranks, depths
        )
        words = {getattr(state, name)._address: data for name, data in boot_words(layout, endpoints).items()}
        for address, data in {**words, layout.plan["channel_plan_table"]: channel_words(routes)}.items():
            machine.sram[address : address + len(data)] = data
        assert boot_once(nic, boot), "boot refused its own layout version"
    return layout


def whereabouts(name: str) -> tuple[str, Any]:
    """Symbol and type of one of the firmware's globals."""
    symbol = f"{state.__name__}.{name}"
    return symbol, resolve(annotations_of(state)[name].kind, vars(state), symbol)
