"""Messages that arrived before their receive: kept, and given out later (NP-32 a and c).

A message slot holds the envelope, the channel's heap the body; `releasing` gives both back.
"""

from lanai_firmware.lang import Ptr, firmware, u32

from ..border.records import report
from ..codes import MESSAGE_BODY, MESSAGE_PROMISE
from ..layout import Kind
from ..memory.heap import store_body
from ..memory.pools import restore
from ..rows import Channel, Message
from ..state import nic
from .matching import append_message, key_of, unlink_message


@firmware
def keep(channel: Ptr[Channel], context: u32, tag: u32, length: u32, handle: u32, state: u32, body: u32) -> bool:
    """Store a message that no receive expects. False if there is no room, which only one without
    credit meets."""
    message = channel.free_messages
    if not message:
        if channel.evicted == 0:
            return False
        restore(channel)
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
        endpoint.notify = 0
        report(endpoint, Kind.ARRIVED, source=channel.rank, tag=tag, length=waiting)
    return True


@firmware
def remove(channel: Ptr[Channel], message: Ptr[Message]) -> None:
    """Take a message out of the unclaimed list; its slot and body stay in use."""
    unlink_message(message)
    channel.waiting -= 1
