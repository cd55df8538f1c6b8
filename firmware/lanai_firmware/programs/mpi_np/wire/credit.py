"""Credit: what the other end of a channel has room for (NP-06, NP-15), and how it learns of room
here (NP-16).

Credit words are cumulative counts, message slots in the upper half and heap blocks in the lower, so
that a lost or late one does no harm. They ride in every packet; an ACK travels only when much is
owed and no packet goes that way anyhow. With `Plan.ack_slots` = 1 every message is acknowledged, as
in the thesis.
"""

from lanai_firmware.lang import Ptr, firmware, inline, u32

from ..codes import OWE_ACK
from ..layout import BLOCK
from ..protocol.ready import make_ready
from ..rows import Channel
from ..state import nic


@inline
def blocks_for(length: u32) -> u32:
    """Heap blocks that a body of `length` bytes takes."""
    return (length + (BLOCK - 1)) // BLOCK


@firmware
def credit_arrived(channel: Ptr[Channel], word: u32) -> None:
    """A credit word that differs from the last one came from the other end."""
    seen = channel.credit_seen
    channel.credit_seen = word
    channel.slot_credit += ((word >> 16) - (seen >> 16)) & 0xFFFF
    channel.block_credit += (word - seen) & 0xFFFF
    if channel.first:
        make_ready(channel)


@inline
def give_back(channel: Ptr[Channel], slots: u32, blocks: u32) -> None:
    """Room at this end is free again. Counts the halves apart, as blocks must not carry into
    slots."""
    given = channel.given
    given = ((given & 0xFFFF0000) + (slots << 16)) | ((given + blocks) & 0xFFFF)
    channel.given = given
    told = channel.told
    if (((given >> 16) - (told >> 16)) & 0xFFFF) >= nic.ack_slots or ((given - told) & 0xFFFF) >= nic.ack_blocks:
        channel.control |= OWE_ACK
        make_ready(channel)
