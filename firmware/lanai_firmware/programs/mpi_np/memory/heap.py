"""The receive heap of a channel: bodies that no receive has asked for yet, in fragments of `BLOCK`
bytes (NP-40).

Blocks are numbered from 1 through all channels; `links` holds the number that follows, in a body as
in the list of free ones. Credit (`blocks_for`) counts blocks, so whatever was sent on credit fits,
however scattered the free ones are.
"""

from lanai_firmware.lang import Ptr, at, firmware, inline, u32

from ..layout import BLOCK
from ..rows import Channel
from ..state import links, nic


@inline
def block_address(number: u32) -> u32:
    return nic.blocks + number * BLOCK


@firmware
def store_body(channel: Ptr[Channel], body: u32, length: u32) -> u32:
    """Copy a body into the heap. The number of its first block, or 0 if there is no room (or
    nothing to store)."""
    needed = (length + (BLOCK - 1)) // BLOCK
    number = channel.free_block
    last = number
    count = needed
    while count > 1 and last != 0:
        last = links[last]
        count -= 1
    if last == 0 or needed == 0:
        return 0
    channel.free_block = links[last]
    links[last] = 0
    first = number
    source = at(Ptr[u32], body)
    words = (length + 3) >> 2
    while words != 0:
        target = at(Ptr[u32], block_address(number))
        part = words if words < (BLOCK >> 2) else BLOCK >> 2
        words -= part
        while part >= 4:
            target[0] = source[0]
            target[1] = source[1]
            target[2] = source[2]
            target[3] = source[3]
            target += 4
            source += 4
            part -= 4
        while part != 0:
            target[0] = source[0]
            target += 1
            source += 1
            part -= 1
        number = links[number]
    return first


@firmware
def free_body(channel: Ptr[Channel], first: u32) -> u32:
    """Give all blocks of a body back to the channel; how many there were."""
    if first == 0:
        return 0
    count = u32(1)
    last = first
    while links[last] != 0:
        last = links[last]
        count += 1
    links[last] = channel.free_block
    channel.free_block = first
    return count


@firmware
def run_length(first: u32, wanted: u32) -> u32:
    """Bytes from block `first` on that lie in one run, at most `wanted`: one descriptor moves
    them."""
    length = BLOCK
    number = first
    while length < wanted and links[number] == number + 1:
        length += BLOCK
        number += 1
    return length if length < wanted else wanted


@firmware
def skip_blocks(first: u32, bytes: u32) -> u32:
    """The block that holds the byte `bytes` further on; `bytes` is a multiple of BLOCK."""
    number = first
    while bytes != 0:
        number = links[number]
        bytes -= BLOCK
    return number
