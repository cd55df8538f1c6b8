"""Messages on their way out: slot and body become credit for the sender, once the host DMA has read
the body."""

from lanai_firmware.lang import Ptr, at, firmware, null, u32

from ....nic import host_dma
from ..codes import MESSAGE_FREE, MESSAGE_LEAVING, MESSAGE_PROMISE
from ..memory.heap import free_body
from ..rows import Channel, Message
from ..state import nic
from ..wire.credit import blocks_for, give_back


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
    give_back(channel, 1, blocks)


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
        if not host_dma.reached(message.release):
            return
        following = message.next
        nic.leaving_first = following
        release(at(Ptr[Channel], message.tag), message)
        nic.idle_turns = 0
        message = following
