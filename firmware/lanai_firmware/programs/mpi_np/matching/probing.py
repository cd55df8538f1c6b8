"""Probes, matched probes and cancelling: looks at the lists, and what may leave them by another way
than matching.

A matched probe takes a message out of its list. If its body is in the heap the message slot stays
in use until RECEIVE_TAKEN; a promise leaves nothing here: its handle, kept by the host, is all that
RECEIVE_PULL needs. So the host can empty a channel whose message slots are used up, as long as it
has memory, and no program is stopped by messages it does not want yet (NP-G9).
"""

from lanai_firmware.lang import Ptr, firmware, null, sizeof, u32

from ..border.records import answer_probe, refuse, report
from ..codes import MESSAGE_PROMISE, MESSAGE_TAKEN, RECEIVE_FREE, RECEIVE_POSTED
from ..layout import ANY, NO_TAG, Error, Kind
from ..memory.pools import pool_number, restore
from ..protocol.pulling import pull
from ..protocol.releasing import release
from ..rows import Channel, Endpoint, Message, Receive
from ..state import nic
from .claiming import claim
from .matching import find_anywhere, find_unclaimed, next_waiting, withdraw
from .unclaimed import remove


@firmware
def probe(endpoint: Ptr[Endpoint], context: u32, tag: u32, peer: u32, operation: u32, keep: bool) -> None:
    """Answer whether such a receive would find a message; unless `keep`, the message leaves the
    list."""
    mask = u32(0) if tag == NO_TAG else u32(0xFFFFFFFF)
    channel = find_anywhere(endpoint, context, tag, mask) if peer == ANY else endpoint.channels + peer
    message = null(Message)
    if channel:
        message = find_unclaimed(channel, context, tag, mask)
    tell(endpoint, channel, message, operation, keep)


@firmware
def drain(endpoint: Ptr[Endpoint], receive: Ptr[Receive], peer: u32, question: u32) -> None:
    """Take the oldest message of a channel; of anyone, that of the next channel that has one
    (NP-35). A body that is here goes to the receive entry at once, which may be null if there is
    none."""
    channel = endpoint.channels + peer if peer != ANY else next_waiting(endpoint)
    message = null(Message)
    if channel and channel.waiting != 0:
        if channel.evicted != 0:
            restore(channel)
        message = channel.unclaimed.next
    if not message or message.state == MESSAGE_PROMISE:
        tell(endpoint, channel, message, question, False)
        return
    if not receive:
        refuse(endpoint, question, Error.BAD_INDEX)
        return
    tell(endpoint, channel, message, question, False)
    claim(channel, receive, message)


@firmware
def tell(endpoint: Ptr[Endpoint], channel: Ptr[Channel], message: Ptr[Message], operation: u32, keep: bool) -> None:
    """Answer a probe that found `message`, or none: then the next arrival will be announced."""
    if not message:
        endpoint.notify = 1
        report(endpoint, Kind.MISSING, operation=operation)
        return
    kind = u32(Kind.FOUND)
    token = (u32(message) - u32(nic.messages)) // sizeof(Message)
    if message.state == MESSAGE_PROMISE:
        kind = u32(Kind.FOUND_PULL)
        token = message.handle
    answer_probe(
        endpoint,
        kind,
        operation=operation,
        source=channel.rank,
        tag=message.tag,
        length=message.length,
        context=message.key >> 16,
        token=token,
    )
    if keep:
        return
    remove(channel, message)
    if message.state == MESSAGE_PROMISE:
        release(channel, message)
    else:
        message.state = MESSAGE_TAKEN


@firmware
def receive_taken(endpoint: Ptr[Endpoint], receive: Ptr[Receive], peer: u32, index: u32) -> None:
    """Receive a message that a matched probe took and whose body is here."""
    channel = endpoint.channels + peer
    if channel.evicted != 0:
        restore(channel)
    first = pool_number(channel) * nic.messages_per_channel
    if index < first or index >= first + nic.messages_per_channel:
        refuse(endpoint, receive.operation, Error.BAD_INDEX)
        return
    message = nic.messages + index
    if message.state != MESSAGE_TAKEN:
        refuse(endpoint, receive.operation, Error.BAD_INDEX)
        return
    claim(channel, receive, message)


@firmware
def receive_pull(endpoint: Ptr[Endpoint], receive: Ptr[Receive], peer: u32, tag: u32, length: u32, handle: u32) -> None:
    """Receive a message that a matched probe took and whose body is still at its sender."""
    pull(endpoint.channels + peer, receive, tag, length, handle)


@firmware
def cancel(endpoint: Ptr[Endpoint], index: u32, operation: u32) -> None:
    """Withdraw a receive if no message has met it; of one that asks for a message, that is known
    when the answer is here."""
    if index < nic.receives_per_endpoint:
        receive = endpoint.receives + index
        if receive.state == RECEIVE_POSTED and receive.asked != 0:
            receive.cancel = 0x10000 | operation
            return
        if receive.state == RECEIVE_POSTED:
            withdraw(receive)
            receive.state = RECEIVE_FREE
            report(endpoint, Kind.CANCELLED, operation=operation)
            return
    report(endpoint, Kind.NOT_CANCELLED, operation=operation)
