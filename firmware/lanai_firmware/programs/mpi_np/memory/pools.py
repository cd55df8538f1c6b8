"""Pools: more channels than there is memory for messages. Beyond the thesis, whose channels own
their share for good (NP-05).

A pool is what is large in a channel: message slots and receive heap, for messages that came before
their receive. With `Plan.pools` several channels use one pool in turn. Each channel always uses the
same pool, so that every pointer into it stays valid. A channel that does not own its pool is
*evicted*: its lists look empty until it is *restored*. Code that needs them restores it first. If
the channel that must leave holds messages, they are copied to host memory outside every rank's
window, and copied back when it is restored. Otherwise only two pointers change.

A change of owner waits for the host DMA and for nothing else, so neither a packet nor a request
ever waits for another NIC here: docs/design/mpi-np.md.
"""

from lanai_firmware.lang import Ptr, address_of, firmware, inline, null, sizeof, u32

from ..codes import MESSAGE_BODY, MESSAGE_FREE, MESSAGE_TAKEN
from ..layout import BLOCK
from ..protocol.releasing import release_read
from ..rows import Channel, Message
from ..state import links, nic
from .heap import block_address, run_length, skip_blocks
from .hostdma import download, finish, upload

EVICTED_EMPTY = 1  # Channel.evicted: it holds nothing
EVICTED_SAVED = 2  # ... its messages are in host memory


@inline
def pool_number(channel: Ptr[Channel]) -> u32:
    """Return the channel's number in the message table and in the heap."""
    return channel.pool.number if channel.pool else channel.number


@firmware
def clear_pool(channel: Ptr[Channel], number: u32) -> None:
    """Make pool `number` the channel's, with all slots and blocks free."""
    message = nic.messages + number * nic.messages_per_channel
    channel.free_messages = null(Message)
    for _ in range(nic.messages_per_channel):
        message.state = MESSAGE_FREE
        message.next = channel.free_messages
        channel.free_messages = message
        message += 1
    first = number * nic.blocks_per_channel + 1
    for i in range(nic.blocks_per_channel):
        links[first + i] = first + i + 1
    links[first + nic.blocks_per_channel - 1] = 0
    channel.free_block = first


@firmware
def evict_empty(channel: Ptr[Channel]) -> None:
    """Evict a channel that holds no messages."""
    channel.evicted = u32(EVICTED_EMPTY)
    channel.free_messages = null(Message)


@firmware(inline=False)
def restore(channel: Ptr[Channel]) -> None:
    """Give an evicted channel its pool again, and evict the channel that owns it."""
    pool = channel.pool
    other = pool.owner
    pool.owner = channel
    while nic.leaving_first:  # bodies that the host DMA still reads
        finish(nic.leaving_last.release)
        release_read()
    if holds_messages(other):
        write_out(other)
        if channel.evicted == EVICTED_EMPTY:
            clear_pool(channel, pool.number)
    elif channel.evicted == EVICTED_EMPTY:
        channel.free_messages = other.free_messages
        channel.free_block = other.free_block
        evict_empty(other)
    else:
        evict_empty(other)
    if channel.evicted == EVICTED_SAVED:
        read_back(channel)
    channel.evicted = 0


@firmware
def holds_messages(channel: Ptr[Channel]) -> bool:
    """Is any message slot of the pool's owner in use? None is if it gave one back for each
    envelope; otherwise look at each slot."""
    if ((channel.arrived ^ (channel.given >> 16)) & 0xFFFF) == 0:
        return False
    message = nic.messages + channel.pool.number * nic.messages_per_channel
    for _ in range(nic.messages_per_channel):
        if message.state != MESSAGE_FREE:
            return True
        message += 1
    return False


@firmware
def write_out(channel: Ptr[Channel]) -> None:
    """Evict a channel: write its messages to host memory. Its lists look empty until it is
    restored."""
    move(channel, True)
    finish(nic.hdma)
    anchor = address_of(channel.unclaimed)
    channel.evicted = u32(EVICTED_SAVED)
    channel.evicted_unclaimed = anchor.next
    channel.evicted_free = channel.free_messages
    anchor.next = anchor
    channel.free_messages = null(Message)
    nic.saved += 1


@firmware
def read_back(channel: Ptr[Channel]) -> None:
    """Read a channel's messages back to where they were."""
    move(channel, False)
    finish(nic.hdma)
    address_of(channel.unclaimed).next = channel.evicted_unclaimed
    channel.free_messages = channel.evicted_free
    nic.fetched += 1


@inline
def copy_part(local: u32, host: u32, length: u32, out: bool) -> None:
    if out:
        upload(local, host, length)
    else:
        download(local, host, length)


@firmware
def move(channel: Ptr[Channel], out: bool) -> None:
    """Queue the copies between pool and spill memory: all envelopes, the order of blocks, and the
    blocks that bodies are in."""
    number = channel.pool.number
    messages = nic.messages + number * nic.messages_per_channel
    first = number * nic.blocks_per_channel + 1
    place = nic.spill_memory + channel.number * nic.spill_bytes
    envelopes = nic.messages_per_channel * sizeof(Message)
    copy_part(u32(messages), place, envelopes, out)
    place += envelopes
    copy_part(u32(address_of(links)) + (first << 2), place, nic.blocks_per_channel << 2, out)
    place += nic.blocks_per_channel << 2
    if not out:
        finish(nic.hdma)  # what follows reads what has come
    end = messages + nic.messages_per_channel
    message = next_body(messages, end)
    while message != end:
        block = message.handle
        left = (message.length + (BLOCK - 1)) // BLOCK * BLOCK
        while left != 0:
            part = run_length(block, left)
            copy_part(block_address(block), place + (block - first) * BLOCK, part, out)
            left -= part
            if left != 0:
                block = skip_blocks(block, part)
        message = next_body(message + 1, end)


@firmware
def next_body(message: Ptr[Message], end: Ptr[Message]) -> Ptr[Message]:
    """The first message from here on that has a body, or `end`. Most slots are free: this loop
    calls nothing, so it stays in registers."""
    while message != end:
        state = message.state
        if state == MESSAGE_BODY or state == MESSAGE_TAKEN:  # noqa: SIM109 - the language has no tuples of variables
            return message
        message += 1
    return message
