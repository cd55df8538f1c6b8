"""Questions that several steps of a turn ask."""

from lanai_firmware.lang import Const, firmware, u32

from ...nic import host_dma, send_dma
from ...nic.registers import SCRATCH1
from .layout import CLOSED
from .state import BUFFERS, nic

PLACES: Const[u32] = u32(BUFFERS)


@firmware
def gone() -> bool:
    """Has the rank ended, or its process died? Its memory may not be reached then."""
    return nic.border.heap == CLOSED or nic.unreachable != 0


@firmware
def room_to_begin() -> bool:
    """Can another packet be begun?"""
    return nic.begun - send_dma.done() != PLACES and host_dma.free() != 0


@firmware
def number_packet(node: u32, sequence: u32) -> u32:
    """The number of the next packet to a node. `sequence`: 0, or NODES for an answer."""
    count = nic.sent_to[node + sequence]
    nic.sent_to[node + sequence] = count + 1
    number: u32 = SCRATCH1.load() + sequence << 16 | count & 0xFFFF
    return number
