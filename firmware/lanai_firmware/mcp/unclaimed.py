"""Messages that arrived before their receive: kept, and given out later (NP-32 a and c).

A message slot holds the envelope, the channel's heap the body. Slots and heap go back to the sender as credit when the message
leaves; a body that the host DMA still reads leaves only when it has been read.
"""

from lanai_firmware.lang import Ptr, at, firmware, null, u32

from .credit import blocks_for, give_back
from .heap import free_body, store_body
from .hostdma import reached
from .layout import Error, Kind
from .matching import append_message, key_of, unlink_message
from .records import report
from .state import (
    MESSAGE_BODY,
    MESSAGE_FREE,
    MESSAGE_LEAVING,
    MESSAGE_PROMISE,
    Channel,
    Message,
    nic,
)


@firmware
def keep(channel: Ptr[Channel], context: u32, tag: u32, length: u32, handle: u32, state: u32, body: u32) -> bool:
    """Store a message that no receive expects. False if there is no room, which only one without credit meets."""
    message = channel.free_messages
    if not message:
        return False
    first = u32(0)
    if state == MESSAGE_BODY and length != 0:
        first = store_body(channel, body, length)
        if first == 0:
            return False
    channel.free_messages = message.next
    message.key = key_of(context, tag)
    message.tag = tag
    message.length = length
    message.handle = handle if state == MESSAGE_PROMISE else first
    message.state = state
    append_message(channel, message)
    waiting = channel.waiting + 1
    channel.waiting = waiting
    endpoint = channel.endpoint
    if endpoint.notify != 0 or waiting == nic.pressure:
        endpoint.notify = u32(0)
        report(endpoint, u32(Kind.ARRIVED), u32(Error.OK), u32(0), channel.rank, tag, waiting)
    return True


@firmware
def remove(channel: Ptr[Channel], message: Ptr[Message]) -> None:
    """Take a message out of the unclaimed list; its slot and body stay in use."""
    unlink_message(message)
    channel.waiting = channel.waiting - 1


@firmware
def release(channel: Ptr[Channel], message: Ptr[Message]) -> None:
    """Free the slot, and the body if there is one: credit for the sender."""
    blocks = u32(0)
    if message.state != MESSAGE_PROMISE:
        blocks = blocks_for(message.length)
        free_body(channel, message.handle)
    message.state = MESSAGE_FREE
    message.next = channel.free_messages
    channel.free_messages = message
    give_back(channel, u32(1), blocks)


@firmware
def leave(channel: Ptr[Channel], message: Ptr[Message]) -> None:
    """The body is queued for the host: release the message when it has been read."""
    message.state = MESSAGE_LEAVING
    message.release = nic.hdma
    message.tag = u32(channel)  # the tag is of no more use
    message.next = null(Message)
    if nic.leaving_first:
        nic.leaving_last.next = message
    else:
        nic.leaving_first = message
    nic.leaving_last = message


@firmware
def release_read() -> None:
    """Release the messages whose bodies have been read."""
    message = nic.leaving_first
    while message:
        if not reached(message.release):
            return
        following = message.next
        nic.leaving_first = following
        release(at(Ptr[Channel], message.tag), message)
        nic.idle_turns = u32(0)
        message = following
