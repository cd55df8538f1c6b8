"""Bringing a receive and a message together, whichever came first (NP-32)."""

from lanai_firmware.lang import Ptr, address_of, firmware, null, u32

from ..border.records import report, report_received
from ..codes import MESSAGE_PROMISE, RECEIVE_FREE
from ..layout import Kind
from ..memory.cursor import fetch, open_piece
from ..memory.heap import block_address, run_length, skip_blocks
from ..memory.hostdma import upload
from ..protocol.pulling import deliver_part, pull
from ..protocol.releasing import leave, release
from ..rows import Channel, Message, Receive
from ..state import nic
from .receives import fit


@firmware
def deliver_eager(channel: Ptr[Channel], receive: Ptr[Receive], tag: u32, length: u32, body: u32) -> None:
    """The body of an expected message lies in the common receive buffer: send it on to the host,
    and say so (NP-25, NP-42)."""
    length = fit(receive, length)
    cursor = address_of(receive.cursor)
    endpoint = receive.endpoint
    if length != 0:
        if open_piece(endpoint, cursor, 0) and length <= cursor.left:
            upload(body, cursor.address, length)
        else:
            nic.taking = receive
            fetch(endpoint, cursor, cursor.entries[0].next)
            open_piece(endpoint, cursor, 0)
            deliver_part(receive, body, length)
            nic.taking = null(Receive)
    receive.state = RECEIVE_FREE
    report_received(channel, receive, tag, length)


@firmware
def tell_followed(channel: Ptr[Channel], receive: Ptr[Receive], tag: u32, length: u32) -> None:
    """The same where the body has been sent on while it came: `following` saw that it fits."""
    receive.state = RECEIVE_FREE
    report(
        receive.endpoint,
        Kind.RECEIVED,
        error=receive.error,
        operation=receive.operation,
        source=channel.rank,
        tag=tag,
        length=length,
    )
    nic.follow_record = nic.hdma


@firmware
def claim(channel: Ptr[Channel], receive: Ptr[Receive], message: Ptr[Message]) -> None:
    """The receive takes a message that was kept, and that has left the unclaimed list."""
    tag = message.tag
    if message.state == MESSAGE_PROMISE:
        pull(channel, receive, tag, message.length, message.handle)
        release(channel, message)
        return
    length = fit(receive, message.length)
    endpoint = receive.endpoint
    cursor = address_of(receive.cursor)
    fetch(endpoint, cursor, cursor.entries[0].next)
    open_piece(endpoint, cursor, 0)
    nic.taking = receive
    number = message.handle
    left = length
    while left != 0:
        part = run_length(number, left)
        deliver_part(receive, block_address(number), part)
        left -= part
        if left != 0:
            number = skip_blocks(number, part)
    receive.state = RECEIVE_FREE
    report_received(channel, receive, tag, length)
    nic.taking = null(Receive)
    leave(channel, message)
