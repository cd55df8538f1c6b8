"""Sends: which of the three protocols each goes by (NP-20, NP-21, NP-24; NP-G3, NP-G4), and the private send ring (NP-12).

Only the head of a channel's send ring may go, so envelopes leave in order. With credit for slot and body it goes at once
(full credit). With a slot only, or if it is long (NP-26) or synchronous, it is announced by RECV_REQ and parked: the other end asks for
the body when a receive has met it. A parked send holds nothing here but its request slot if the body lies there, so those
behind it go on: NP-G9. Without even a slot, a small one may go unpaid, to be dropped once at most;
else it waits here, without the host, until credit comes (NP-17, NP-18).
"""

from lanai_firmware.lang import Ptr, address_of, at, barrier, firmware, inline, minimum, null, sizeof, u32

from .credit import blocks_for
from .cursor import allowed
from .hostdma import bring, room
from .layout import IN_SLOT, REQUEST_TAIL, SLOTS, Error, Header, Kind, Op, Request, Type
from .outgoing import commit, drop_stage, new_stage, stage_free
from .ready import make_ready
from .records import refuse, report
from .registers import FIRST, FREE, LAST, SEND_LENGTH, SEND_POINTER, SEND_ROUTE, SEND_START, SEND_STATUS
from .slots import give_slot_back
from .state import OWE_ACK, SEND_LEAVING, SEND_PARKED, SEND_WAITING, Channel, Endpoint, Send, Stage, nic

BLOCKED = 0  # until credit comes
BUSY = 1  # until this NIC has room: looked at again in the next turn
LEFT = 2


@inline
def slot_body(request: Ptr[Request], length: u32) -> u32:
    """Where an inline body of `length` bytes lies: right before the last words of its request."""
    return u32(request) + u32(sizeof(Request)) - REQUEST_TAIL - ((length + 3) & ~3)


@inline
def envelope(channel: Ptr[Channel], stage: Ptr[Stage], request: Ptr[Request], length: u32) -> None:
    header = address_of(stage.header)
    header.tag = request.tag
    header.length = length
    header.context = request.context
    header.sequence = channel.sequence
    channel.sequence = channel.sequence + 1
    channel.slot_credit = channel.slot_credit - 1


@firmware
def bring_pieces(send: Ptr[Send], request: Ptr[Request], stage: Ptr[Stage], length: u32) -> bool:
    """Queue the download of a short body from its inline pieces into the stage. False if they may not be read."""
    endpoint = send.endpoint
    first = request.pieces[0].address
    part = minimum(request.pieces[0].length, length)
    second = request.pieces[1].address
    rest = length - part
    if part == 0 or not allowed(endpoint, first, part) or request.pieces[1].length < rest:
        return length == 0
    if rest != 0 and not allowed(endpoint, second, rest):
        return False
    bring(stage.buffer, first, part)
    if rest != 0:
        bring(stage.buffer + part, second, rest)
    stage.body = stage.buffer
    stage.ready = nic.hdma
    return True


@firmware
def announce(channel: Ptr[Channel], send: Ptr[Send], request: Ptr[Request], length: u32, handle: u32) -> None:
    """RECV_REQ: the envelope goes, the body stays."""
    stage = new_stage(channel, u32(Type.RECV_REQ))
    envelope(channel, stage, request, length)
    header = address_of(stage.header)
    header.handle = handle
    commit()


@firmware
def attempt(channel: Ptr[Channel], send: Ptr[Send]) -> u32:
    """Try to let the envelope of a send go. LEFT: it no longer belongs to the send ring."""
    if not stage_free(channel):
        return u32(BUSY)
    request = send.request
    length = request.length
    slots = channel.slot_credit
    inline_body = send.op == Op.SEND_INLINE
    if inline_body and length > nic.inline_limit:
        refuse_send(send, request, u32(Error.BAD_LENGTH))
        return u32(LEFT)
    paid = slots != 0
    if length <= nic.eager_limit and send.op != Op.SEND_SYNC:
        blocks = blocks_for(length)
        paid = paid and blocks <= channel.block_credit
        if paid or (length < nic.unpaid_limit and send.unpaid == 0):
            if not inline_body and room() < 3:
                return u32(BUSY)
            stage = new_stage(channel, u32(Type.EAGER) if paid else u32(Type.EAGER_UNPAID))
            stage.length = length
            if inline_body:
                stage.body = slot_body(request, length)
            elif not bring_pieces(send, request, stage, length):
                drop_stage(stage)
                refuse_send(send, request, u32(Error.BAD_ADDRESS))
                return u32(LEFT)
            envelope(channel, stage, request, length)
            channel.block_credit = channel.block_credit - blocks
            if not paid:
                channel.unpaid = send
                commit()
                return u32(BLOCKED)
            send.state = SEND_LEAVING
            if inline_body:
                stage.send = send
                commit()
            else:
                report(
                    send.endpoint, u32(Kind.SENT), u32(Error.OK), request.command & 0xFFFF, channel.rank, u32(0), length
                )
                commit()
                give_slot_back(send)
            return u32(LEFT)
    if slots == 0:
        return u32(BLOCKED)
    if inline_body:
        send.state = SEND_PARKED
        announce(channel, send, request, length, IN_SLOT | ((u32(send) - u32(nic.sends_table)) >> 5))
        return u32(LEFT)
    table = request.table
    if table == 0 or table >= send.endpoint.page_entries:
        refuse_send(send, request, u32(Error.BAD_INDEX))
        return u32(LEFT)
    announce(channel, send, request, length, table)
    give_slot_back(send)
    return u32(LEFT)


@inline
def send_short(endpoint: Ptr[Endpoint]) -> bool:
    """The common case, without a detour: a short body in the next request, credit, and nothing before it. False if it is not so."""
    send = endpoint.poll
    request = send.request
    barrier()
    command = request.command
    length = request.length
    peer = u32(request.peer)
    # What must be zero is or-ed together: on the Lanai a test costs as much as three such operations.
    if ((command >> 24) ^ u32(Op.SEND_INLINE)) | send.state != 0:
        return False
    if length > nic.short_limit:
        return False
    if peer >= nic.ranks:
        return False
    channel = endpoint.channels + peer
    tail = nic.stage_tail
    if u32(channel.first) | (tail ^ nic.stage_launch) != 0:
        return False
    blocks = blocks_for(length)
    block_credit = channel.block_credit
    if block_credit < blocks:
        return False
    slot_credit = channel.slot_credit
    if slot_credit == 0:
        return False
    if tail - nic.stage_head >= nic.short_stages:
        return False
    if (SEND_STATUS.load() & FREE) < 2:
        return False
    stage = nic.stages + (tail & nic.stage_mask)
    header = address_of(stage.header)
    at(Ptr[u32], u32(header))[0] = channel.eager_word
    given = channel.given
    header.credit = given
    header.tag = request.tag
    header.length = length
    header.context = request.context
    sequence = channel.sequence
    header.sequence = sequence
    SEND_ROUTE.store(channel.route)
    SEND_POINTER.store(u32(header))
    SEND_LENGTH.store(u32(sizeof(Header)))
    sends = nic.sends + 1
    if length == 0:
        SEND_START.store(FIRST | LAST)
    else:
        SEND_START.store(FIRST)
        SEND_POINTER.store(slot_body(request, length))
        SEND_LENGTH.store(length)
        SEND_START.store(LAST)
        sends = sends + 1
    nic.sends = sends
    stage.done = sends
    stage.send = send
    nic.stage_tail = tail + 1
    nic.stage_launch = tail + 1
    request.command = command & 0xFFFF
    endpoint.poll = endpoint.sends + ((command >> 16) & (SLOTS - 1))
    send.state = SEND_LEAVING
    channel.told = given
    channel.control = channel.control & ~OWE_ACK
    channel.sequence = sequence + 1
    channel.slot_credit = slot_credit - 1
    channel.block_credit = block_credit - blocks
    return True


@firmware
def refuse_send(send: Ptr[Send], request: Ptr[Request], error: u32) -> None:
    refuse(send.endpoint, request.command & 0xFFFF, error)
    give_slot_back(send)


@firmware
def post_send(endpoint: Ptr[Endpoint], send: Ptr[Send], peer: u32, op: u32) -> None:
    """A request to send: let it go at once if it can, else put it into its channel's send ring."""
    channel = endpoint.channels + peer
    send.channel = channel
    send.op = op
    send.unpaid = u32(0)
    if nic.recovery != 0 and channel.line.dead != 0:
        refuse_send(send, send.request, u32(Error.PEER_FAILED))
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
        return u32(BLOCKED)
    following = send.next
    outcome = attempt(channel, send)
    if outcome == LEFT:
        channel.first = following
    return outcome


@firmware
def unpaid_taken(channel: Ptr[Channel]) -> None:
    """The other end had room for a send without credit: it has left, and what it used is on its way back as credit."""
    send = channel.unpaid
    if not send:
        return
    channel.unpaid = null(Send)
    channel.first = send.next
    if send.op != Op.SEND_INLINE:
        request = send.request
        report(
            send.endpoint, u32(Kind.SENT), u32(Error.OK), request.command & 0xFFFF, channel.rank, u32(0), request.length
        )
    give_slot_back(send)
    make_ready(channel)


@firmware
def unpaid_dropped(channel: Ptr[Channel], length: u32) -> None:
    """The other end had no room: the send waits for real credit, and is not sent without again."""
    send = channel.unpaid
    if not send:
        return
    channel.unpaid = null(Send)
    send.unpaid = u32(1)
    channel.sequence = channel.sequence - 1
    channel.slot_credit = channel.slot_credit + 1
    channel.block_credit = channel.block_credit + blocks_for(length)
    make_ready(channel)
