"""Sends: which of the three protocols each goes by (NP-20, NP-21, NP-24; NP-G3, NP-G4), and the
private send ring (NP-12).

Only the head of a channel's send ring may go, so envelopes leave in order. With credit for slot and
body it goes at once (full credit). With a slot only, or if it is long (NP-26) or synchronous, it is
announced by RECV_REQ and parked: the other end asks for the body when a receive has met it. A
parked send holds nothing here but its request slot if the body lies there, so those behind it go
on: NP-G9. Without even a slot, a small one may go unpaid, to be dropped once at most; else it waits
here, without the host, until credit comes (NP-17, NP-18).
"""

from lanai_firmware.lang import Ptr, address_of, firmware, inline, minimum, null, sizeof, u32

from ....nic import host_dma
from ..border.records import refuse, report
from ..border.slots import give_slot_back
from ..codes import SEND_LEAVING, SEND_PARKED, SEND_WAITING
from ..layout import HEADER_ROOM, IN_SLOT, Error, Kind, Op, Type
from ..memory.failing import lose_body
from ..memory.hostdma import bring
from ..memory.send_buffers import (
    ahead_is_here,
    buffered,
    fits,
    is_ahead,
    is_lost,
    stage_part,
)
from ..rows import Channel, Endpoint, Send
from ..state import Stage, nic
from ..wire.credit import blocks_for
from ..wire.outgoing import commit, drop_stage, new_stage, stage_free
from .ahead import bring_ahead
from .pieces import announce, pieces_allowed
from .ready import make_ready

BLOCKED = 0  # until credit comes
BUSY = 1  # until this NIC has room: looked at again in the next turn
LEFT = 2


@inline
def slot_body(send: Ptr[Send], length: u32) -> u32:
    """Return the place of an inline body of `length` bytes: right before the last words of its request."""
    return send.tail - ((length + 3) & ~3)


@inline
def body_of(send: Ptr[Send], length: u32) -> u32:
    """Return the place of the body of an inline send."""
    if buffered() and is_ahead(send):
        return send.table + HEADER_ROOM
    return slot_body(send, length)


@inline
def slot_number(send: Ptr[Send]) -> u32:
    """Return the other end's name, without IN_SLOT, for a body that lies in a request slot."""
    return (u32(send) - u32(nic.sends_table)) // sizeof(Send)


@inline
def envelope(channel: Ptr[Channel], stage: Ptr[Stage], send: Ptr[Send], length: u32, blocks: u32) -> None:
    """Fill in the envelope of a message, and pay for it: a message slot, and so many heap
    blocks."""
    header = address_of(stage.header)
    header.tag = send.tag
    header.length = length
    header.context = send.context
    header.sequence = channel.sequence
    channel.sequence += 1
    channel.slot_credit -= 1
    channel.block_credit -= blocks


@firmware
def send_pieces(channel: Ptr[Channel], send: Ptr[Send], stage: Ptr[Stage], length: u32, blocks: u32) -> bool:
    """Let a short body go that is described by inline pieces. False, with nothing done, if they may
    not be read.

    The packet is handed to the send DMA before its body is asked for: while the host DMA moves, the
    processor hardly does.
    """
    first = send.pieces[0].address
    part = minimum(send.pieces[0].length, length)
    second = send.pieces[1].address
    rest = length - part
    ready = nic.hdma
    if length != 0:
        if not pieces_allowed(send, length):
            return False
        if buffered():
            stage_part(stage, length)
        stage.body = stage.buffer
        ready = ready + 1 if rest == 0 else ready + 2
    stage.ready = ready
    place = stage.buffer
    envelope(channel, stage, send, length, blocks)
    commit()
    if length != 0:
        bring(place, first, part)
    if rest != 0:
        bring(place + part, second, rest)
    return True


@firmware
def send_recv_req(channel: Ptr[Channel], send: Ptr[Send], length: u32, handle: u32) -> None:
    """RECV_REQ: the envelope goes, the body stays."""
    stage = new_stage(channel, Type.RECV_REQ)
    envelope(channel, stage, send, length, 0)
    header = address_of(stage.header)
    header.handle = handle
    commit()


@firmware
def attempt(channel: Ptr[Channel], send: Ptr[Send]) -> u32:
    """Try to let the envelope of a send go. LEFT: it no longer belongs to the send ring."""
    if not stage_free(channel):
        return BUSY
    length = send.length
    slots = channel.slot_credit
    inline_body = send.op == Op.SEND_INLINE
    paid = slots != 0
    if length <= nic.eager_limit and send.op != Op.SEND_SYNC:
        blocks = blocks_for(length)
        paid = paid and blocks <= channel.block_credit
        if paid or (length < nic.unpaid_limit and send.unpaid == 0):
            if not inline_body and host_dma.free() < 3:
                return BUSY
            if buffered() and not may_stage(channel, send, inline_body):
                return BUSY
            stage = new_stage(channel, u32(Type.EAGER) if paid else u32(Type.EAGER_UNPAID))
            stage.length = length
            if inline_body:
                stage.body = body_of(send, length)
                if paid:
                    send.state = SEND_LEAVING
                    stage.send = send
                envelope(channel, stage, send, length, blocks)
                if buffered() and is_lost(send):
                    lose_body(address_of(stage.header))
                commit()
            elif not send_pieces(channel, send, stage, length, blocks):
                drop_stage(stage)
                refuse_send(send, Error.BAD_ADDRESS)
                return LEFT
            if not paid:
                channel.unpaid = send
                channel.unpaid_error = Error.OK
                return BLOCKED
            if not inline_body:
                report(send.endpoint, Kind.SENT, operation=send.operation, source=channel.rank, length=length)
                give_slot_back(send)
            return LEFT
    if slots == 0:
        return BLOCKED
    if inline_body:
        send.state = SEND_PARKED
        send_recv_req(channel, send, length, IN_SLOT | slot_number(send))
        return LEFT
    if not announce(send.endpoint, send.table):
        refuse_send(send, Error.BAD_INDEX)
        return LEFT
    send_recv_req(channel, send, length, send.table)
    give_slot_back(send)
    return LEFT


@inline
def may_stage(channel: Ptr[Channel], send: Ptr[Send], inline_body: bool) -> bool:
    """Is the body here, or is there room for it?"""
    if inline_body:
        return not is_ahead(send) or ahead_is_here(channel)
    return fits(channel, send.length)


@firmware
def refuse_send(send: Ptr[Send], error: u32) -> None:
    refuse(send.endpoint, send.operation, error)
    give_slot_back(send)


@firmware
def post_send(endpoint: Ptr[Endpoint], send: Ptr[Send], peer: u32) -> None:
    """A request to send: let it go at once if it can, else put it into its channel's send ring."""
    channel = endpoint.channels + peer
    send.channel = channel
    send.unpaid = 0
    if nic.recovery != 0 and channel.reliability.dead != 0:
        refuse_send(send, Error.PEER_FAILED)
        return
    if not channel.first and attempt(channel, send) == LEFT:
        return
    send.state = SEND_WAITING
    send.next = null(Send)
    if channel.first:
        channel.last.next = send
    else:
        channel.first = send
    channel.last = send
    make_ready(channel)


@firmware
def serve_sends(channel: Ptr[Channel]) -> u32:
    """Let the head of the send ring go if it can: BLOCKED (or nothing to do), BUSY, or LEFT."""
    send = channel.first
    if not send or channel.unpaid:
        return BLOCKED
    following = send.next
    outcome = attempt(channel, send)
    if outcome == LEFT:
        channel.first = following
    elif buffered() and outcome == BLOCKED and not bring_ahead(channel):
        return BUSY
    return outcome


@firmware
def on_taken(channel: Ptr[Channel]) -> None:
    """The other end had room for a send without credit: it has left, and what it used is on its way
    back as credit."""
    send = channel.unpaid
    if not send:
        return
    channel.unpaid = null(Send)
    channel.first = send.next
    if send.op != Op.SEND_INLINE:
        report(
            send.endpoint,
            Kind.SENT,
            error=channel.unpaid_error,
            operation=send.operation,
            source=channel.rank,
            length=send.length,
        )
    give_slot_back(send)
    make_ready(channel)


@firmware
def on_dropped(channel: Ptr[Channel], length: u32) -> None:
    """The other end had no room: the send waits for real credit, and is not sent without again."""
    send = channel.unpaid
    if not send:
        return
    channel.unpaid = null(Send)
    send.unpaid = 1
    channel.sequence -= 1
    channel.slot_credit += 1
    channel.block_credit += blocks_for(length)
    make_ready(channel)
