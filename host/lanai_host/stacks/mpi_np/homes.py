"""Host memory in which a NIC's channels leave their messages, if they share rooms (docs/design/np-channel-swap.md).

It belongs to the trusted side: whoever boots the NIC allocates it, on a bus of its own, outside the windows of all ranks. So no rank can
touch what the firmware will read back from it.
"""

from lanai_firmware.programs.mpi_np.plan import McpConfig, home_bytes, rooms_of

from ...bus.base import Bus, HostBuffer
from ...errors import UserError


def allocate(bus: Bus, config: McpConfig, channels: int) -> HostBuffer | None:
    """Memory for all channels of one NIC, to be kept as long as it runs. None if each channel has a room of its own."""
    return bus.allocate(channels * home_bytes(config)) if rooms_of(config, channels) else None


def address_of(homes: HostBuffer | None, config: McpConfig, channels: int) -> int:
    """What the firmware must be told. Raises UserError if there is less memory than it will use."""
    if not rooms_of(config, channels):
        return 0
    needed, there = channels * home_bytes(config), len(homes.view) if homes is not None else 0
    if homes is None or there < needed:
        raise UserError(
            f"{channels} channels that share {config.resident} rooms need {needed} bytes of host memory to leave messages in, "
            f"and have {there}: allocate it by homes.allocate"
        )
    return homes.bus_address
