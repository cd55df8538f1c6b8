"""Rooms: more channels than there is memory for messages. Beyond the thesis, whose channels own their share for good (NP-05).

What is large in a channel is its room: message slots and receive heap, for messages that came before their receive. With `Plan.rooms` several
channels use one room by turns, each always the same one, so that every pointer into it stays true. A channel whose room is another's is
`away`: its lists look empty, and whoever would use them brings it home first. If the one that must leave holds messages they go to host
memory that no rank can reach, and come back with it; if not nothing moves but two pointers.

A change of rooms waits for the host DMA and for nothing else, so neither a packet nor a request ever waits for another NIC here:
docs/design/np-channel-swap.md.
"""

from lanai_firmware.lang import Ptr, address_of, firmware, inline, null, sizeof, u32

from ..layout import BLOCK
from ..protocol.releasing import release_read
from ..state import MESSAGE_BODY, MESSAGE_FREE, MESSAGE_TAKEN, Channel, Message, links, nic
from .heap import block_address, run_length, skip_blocks
from .hostdma import download, finish, upload

BLANK = 1  # Channel.away: it holds nothing
KEPT = 2  # ... its messages are in host memory


@inline
def room_number(channel: Ptr[Channel]) -> u32:
    """Which share of the message table and of the heap is the channel's."""
    return channel.room.number if channel.room else channel.number


@firmware
def furnish(channel: Ptr[Channel], number: u32) -> None:
    """Make share `number` the channel's, with all slots and blocks free."""
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
def give_up(channel: Ptr[Channel]) -> None:
    """The channel holds nothing, and is without a room from now on."""
    channel.away = u32(BLANK)
    channel.free_messages = null(Message)


@firmware(inline=False)
def come_home(channel: Ptr[Channel]) -> None:
    """Bring a channel that is away into its room, and whoever is there out of it."""
    room = channel.room
    other = room.owner
    room.owner = channel
    while nic.leaving_first:  # bodies that the host DMA still reads: they leave as soon as it has
        finish(nic.leaving_last.release)
        release_read()
    if holds(other):
        save(other)
        if channel.away == BLANK:
            furnish(channel, room.number)
    elif channel.away == BLANK:
        channel.free_messages = other.free_messages
        channel.free_block = other.free_block
        give_up(other)
    else:
        give_up(other)
    if channel.away == KEPT:
        fetch_home(channel)
    channel.away = 0


@firmware
def holds(channel: Ptr[Channel]) -> bool:
    """Is any message slot of a channel that is at home in use? Not if it gave one back for each envelope; else it may be, so look."""
    if ((channel.arrived ^ (channel.given >> 16)) & 0xFFFF) == 0:
        return False
    message = nic.messages + channel.room.number * nic.messages_per_channel
    for _ in range(nic.messages_per_channel):
        if message.state != MESSAGE_FREE:
            return True
        message += 1
    return False


@firmware
def save(channel: Ptr[Channel]) -> None:
    """Write a channel's messages to host memory; it looks empty from now on."""
    move(channel, True)
    finish(nic.hdma)
    anchor = address_of(channel.unclaimed)
    channel.away = u32(KEPT)
    channel.away_unclaimed = anchor.next
    channel.away_free = channel.free_messages
    anchor.next = anchor
    channel.free_messages = null(Message)
    nic.saved += 1


@firmware
def fetch_home(channel: Ptr[Channel]) -> None:
    """Bring a channel's messages back to where they were."""
    move(channel, False)
    finish(nic.hdma)
    address_of(channel.unclaimed).next = channel.away_unclaimed
    channel.free_messages = channel.away_free
    nic.fetched += 1


@inline
def copy_part(local: u32, home: u32, length: u32, out: bool) -> None:
    if out:
        upload(local, home, length)
    else:
        download(local, home, length)


@firmware
def move(channel: Ptr[Channel], out: bool) -> None:
    """Queue the copies between room and home: all envelopes, the order of blocks, and the blocks that bodies are in."""
    number = channel.room.number
    messages = nic.messages + number * nic.messages_per_channel
    first = number * nic.blocks_per_channel + 1
    home = nic.homes + channel.number * nic.home_bytes
    envelopes = nic.messages_per_channel * sizeof(Message)
    copy_part(u32(messages), home, envelopes, out)
    home += envelopes
    copy_part(u32(address_of(links)) + (first << 2), home, nic.blocks_per_channel << 2, out)
    home += nic.blocks_per_channel << 2
    if not out:
        finish(nic.hdma)  # what follows reads what has come
    end = messages + nic.messages_per_channel
    message = next_body(messages, end)
    while message != end:
        block = message.handle
        left = (message.length + (BLOCK - 1)) // BLOCK * BLOCK
        while left != 0:
            part = run_length(block, left)
            copy_part(block_address(block), home + (block - first) * BLOCK, part, out)
            left -= part
            if left != 0:
                block = skip_blocks(block, part)
        message = next_body(message + 1, end)


@firmware
def next_body(message: Ptr[Message], end: Ptr[Message]) -> Ptr[Message]:
    """The first message from here on that has a body, or `end`. Most slots are free: this loop calls nothing, so it stays in registers."""
    while message != end:
        state = message.state
        if state == MESSAGE_BODY or state == MESSAGE_TAKEN:  # noqa: SIM109 - the language has no tuples of variables
            return message
        message += 1
    return message
