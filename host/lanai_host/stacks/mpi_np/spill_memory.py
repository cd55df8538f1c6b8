"""Host memory in which a NIC's channels leave their messages, if they share pools
(docs/design/np-channel-swap.md).

It belongs to the trusted side: the code that boots the NIC allocates it, on a bus of its own,
outside the windows of all ranks. So no rank can touch what the firmware will read back from it.
"""

from lanai_firmware.programs.mpi_np.plan import McpConfig, pools_of, spill_bytes

from ...bus.base import Bus, HostBuffer
from ...errors import UserError


def allocate(bus: Bus, config: McpConfig, channels: int) -> HostBuffer | None:
    """Memory for all channels of one NIC, to be kept as long as it runs. None if each channel has a
    pool of its own."""
    return bus.allocate(channels * spill_bytes(config)) if pools_of(config, channels) else None


def address_of(spill_memory: HostBuffer | None, config: McpConfig, channels: int) -> int:
    """Return the bus address of the spill memory for the firmware; 0 if the firmware needs none. Raises UserError if
    there is less memory than it will use.
    """
    if not pools_of(config, channels):
        return 0
    needed, there = channels * spill_bytes(config), len(spill_memory.view) if spill_memory is not None else 0
    if spill_memory is None or there < needed:
        raise UserError(
            f"{channels} channels that share {pools_of(config, channels)} pools need {needed} bytes of host memory to "
            f"leave messages in, and have {there}: allocate it by spill_memory.allocate"
        )
    return spill_memory.bus_address
