"""Asking for a body (SEND_REQ) and taking it in (ANSWER): the receiver's half of a rendezvous
(NP-21, NP-23, NP-25; NP-G2).

A receive that has met a promise waits in its channel's list until fewer than `PULLS` answers are
outstanding, then asks for as many bytes as it has room for, so that a message that is too long is
cut at its source (NP-G5). Every SEND_REQ is answered, up to a packet marked as last. Bodies go from
the common receive buffer straight to the host.
"""

from lanai_firmware.lang import Ptr, address_of, firmware, inline, null, u32

from ..border.records import report, report_received
from ..codes import PULLS, RECEIVE_FREE, RECEIVE_PULLING
from ..layout import FLAG_FAILED, FLAG_LAST, NO_BODY, Error, Header, Kind, Type
from ..matching.receives import fit
from ..memory.cursor import fetch, next_piece, open_piece, skip, take
from ..memory.hostdma import upload
from ..rows import Channel, Receive
from ..state import nic
from ..wire.following import was_followed
from ..wire.outgoing import new_frame, send_frame
from .answering import own_received
from .ready import make_ready


@inline
def meet(channel: Ptr[Channel], receive: Ptr[Receive], tag: u32, length: u32) -> bool:
    """The receive has met a promise: get it ready to take the body in. False if none will come, as
    the peer is lost."""
    receive.state = RECEIVE_PULLING
    receive.channel = channel
    receive.posted.tag = tag
    receive.length = fit(receive, length)
    receive.arrived = 0
    endpoint = receive.endpoint
    if nic.recovery != 0 and channel.reliability.dead != 0:
        receive.state = RECEIVE_FREE
        report(
            endpoint, Kind.RECEIVED, error=Error.PEER_FAILED, operation=receive.operation, source=channel.rank, tag=tag
        )
        return False
    cursor = address_of(receive.cursor)
    fetch(endpoint, cursor, cursor.entries[0].next)
    open_piece(endpoint, cursor, 0)
    return True


@firmware
def fail_body(channel: Ptr[Channel], receive: Ptr[Receive], tag: u32) -> None:
    """The receive has met a message whose body is lost."""
    receive.state = RECEIVE_FREE
    report(
        receive.endpoint, Kind.RECEIVED, error=Error.DAMAGED, operation=receive.operation, source=channel.rank, tag=tag
    )


@firmware
def pull(channel: Ptr[Channel], receive: Ptr[Receive], tag: u32, length: u32, handle: u32) -> None:
    """The receive has met a promise: ask for its body as soon as the channel's turn comes."""
    if handle == NO_BODY:
        fail_body(channel, receive, tag)
        return
    if not meet(channel, receive, tag, length):
        return
    receive.handle = handle
    receive.next = null(Receive)
    if channel.first_pull:
        channel.last_pull.next = receive
    else:
        channel.first_pull = receive
    channel.last_pull = receive
    make_ready(channel)


@firmware
def send_send_req(channel: Ptr[Channel]) -> bool:
    """Send the SEND_REQ of the first receive that waits to, if another may be outstanding. False if
    none was sent."""
    receive = channel.first_pull
    if not receive or channel.pulls >= PULLS:
        return False
    channel.first_pull = receive.next
    channel.pulls += 1
    header = new_frame(channel, Type.SEND_REQ)
    header.tag = receive.number
    header.length = receive.length
    header.handle = receive.handle
    send_frame(channel, header)
    return True


@firmware
def on_answer(channel: Ptr[Channel], header: Ptr[Header], body: u32, size: u32) -> bool:
    """A part of a body has come. False if no receive waits for it."""
    number = header.tag
    if number >= nic.receive_count:
        return False
    receive = nic.receives + number
    if receive.state != RECEIVE_PULLING or receive.channel != channel or header.handle != receive.arrived:
        return False
    length = header.length
    failed = (header.flags & FLAG_FAILED) != 0
    if (length > size and not failed) or length > receive.length - receive.arrived:
        return False
    receive.arrived += length
    followed = was_followed(header)
    if failed:
        receive.error = Error.DAMAGED
    elif followed:
        skip(receive.endpoint, address_of(receive.cursor), length)
    else:
        deliver_part(receive, body, length)
    if (header.flags & FLAG_LAST) != 0:
        if receive.arrived != receive.length:
            receive.error = Error.DAMAGED
        channel.pulls -= 1
        if channel.first_pull:
            make_ready(channel)
        receive.state = RECEIVE_FREE
        if channel.rank == receive.endpoint.rank and own_received(channel, receive):
            receive.record = nic.hdma
            return True
        report_received(channel, receive, receive.posted.tag, receive.arrived)
        receive.record = nic.hdma
    return True


@firmware
def deliver_part(receive: Ptr[Receive], body: u32, length: u32) -> None:
    """Queue part of a body for the host, at the receive's cursor; bytes without memory to go to are
    dropped."""
    cursor = address_of(receive.cursor)
    while length != 0:
        left = cursor.left
        if left == 0:
            if not next_piece(receive.endpoint, cursor):
                receive.error = Error.BAD_ADDRESS
                return
            left = cursor.left
        part = left if left < length else length
        upload(body, cursor.address, part)
        take(cursor, part)
        body += part
        length -= part
