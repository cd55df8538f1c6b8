"""Requests: where the host places them, and what each asks for (NP-53, NP-54).

Each endpoint has slots of its own, so that processes need no semaphore among each other. A request
names the slot in which the next one will appear; the doorbell says that there is one, and the
command word, written last, that it is complete.

The host may write anything at any time. So this module and `quick_sends` are the only ones that
read a `Request`, each member once. What is needed later is copied, to a `Send` or a `Receive`;
other modules get the copy or values.
"""

from lanai_firmware.lang import Ptr, address_of, barrier, firmware, inline, null, u32

from ....nic import events
from ..codes import RECEIVE_FREE, RECEIVE_POSTED, SEND_FREE, SEND_LEAVING
from ..layout import ANY, NO_TAG, SLOTS, Error, Op, Request
from ..matching.claiming import claim
from ..matching.matching import append_posted, describe, find_anywhere, find_unclaimed, spread
from ..matching.probing import cancel, drain, probe, receive_pull, receive_taken
from ..matching.receives import measure
from ..matching.searching import request_search
from ..matching.unclaimed import remove
from ..memory.cursor import open_piece
from ..memory.send_buffers import buffered
from ..protocol.quick_sends import live_request, send_short
from ..protocol.sending import post_send, refuse_send
from ..rows import Endpoint, Receive, Send
from ..state import nic
from ..wire.losing import sender_lost
from .records import refuse
from .slots import give_slot_back


@firmware
def take_requests() -> None:
    """Deal with one request: of the endpoints that rang, the one whose turn is next. A bit stays
    set until its endpoint has no request left."""
    rung = events.rung()
    endpoint = nic.turn
    if (rung & endpoint.bit) == 0:
        endpoint = next_that_rang(endpoint, rung)
        if not endpoint:
            events.answer(rung)
            return
    nic.turn = endpoint.following
    if not send_short(endpoint):
        take_request(endpoint)


@firmware
def next_that_rang(first: Ptr[Endpoint], rung: u32) -> Ptr[Endpoint]:
    """The next endpoint after `first` that rang. Null if only bits of no endpoint are set."""
    endpoint = first.following
    while endpoint != first:
        if (rung & endpoint.bit) != 0:
            return endpoint
        endpoint = endpoint.following
    return null(Endpoint)


@firmware(inline=False)
def take_request(endpoint: Ptr[Endpoint]) -> None:
    """Deal with the endpoint's next request, if there is one."""
    send = endpoint.poll
    request = live_request(send)
    barrier()
    command = request.command
    op = command >> 24
    if op == Op.NONE:
        events.answer(endpoint.bit)
        barrier()
        command = request.command
        op = command >> 24
        if op == Op.NONE:
            return
    request.command = 0  # marks the slot as read
    endpoint.poll = endpoint.sends + ((command >> 16) & (SLOTS - 1))
    operation = command & 0xFFFF
    if send.state != SEND_FREE:
        refuse(endpoint, operation, Error.BAD_INDEX)  # the slot was not given back: its send goes on
        return
    send.state = SEND_LEAVING
    peer = u32(request.peer)
    if op <= Op.SEND_SYNC:
        if peer >= nic.ranks:
            refuse(endpoint, operation, Error.BAD_PEER)
            give_slot_back(send)
        elif copy_send(send, request, op, operation):
            post_send(endpoint, send, peer)
        else:
            refuse_send(send, Error.BAD_LENGTH)
        return
    if op == Op.CANCEL:
        cancel(endpoint, request.token, operation)
    elif peer >= nic.ranks and (peer != ANY or op == Op.RECEIVE_TAKEN or op == Op.RECEIVE_PULL):
        refuse(endpoint, operation, Error.BAD_PEER)
    elif op == Op.RECEIVE or op == Op.RECEIVE_TAKEN or op == Op.RECEIVE_PULL or op == Op.RECEIVE_ASK:
        take_receive(endpoint, request, peer, op, operation)
    elif op == Op.PROBE:
        probe(endpoint, request.context, request.tag, peer, operation, True)
    elif op == Op.PROBE_TAKE:
        probe(endpoint, request.context, request.tag, peer, operation, False)
    elif op == Op.DRAIN:
        drain(endpoint, free_receive(endpoint, request, operation), peer, request.spare & 0xFFFF)
    else:
        refuse(endpoint, operation, Error.BAD_OP)
    give_slot_back(send)


@inline
def copy_send(send: Ptr[Send], request: Ptr[Request], op: u32, operation: u32) -> bool:
    """Keep what a send needs until it has left. False if it is an inline send, and no slot holds so
    long a body.

    Its pieces are read only if it may go on credit, the second if the first is too short.
    """
    length = request.length
    send.op = op
    send.operation = operation
    send.tag = request.tag
    send.length = length
    send.context = request.context
    if op == Op.SEND_INLINE:
        if buffered():
            send.table = 0
        return length <= nic.inline_limit
    send.table = request.table
    if length <= nic.eager_limit:
        first = request.pieces[0].length
        send.pieces[0].address = request.pieces[0].address
        send.pieces[0].length = first
        if first < length:
            send.pieces[1].address = request.pieces[1].address
            send.pieces[1].length = request.pieces[1].length
    return True


@firmware
def free_receive(endpoint: Ptr[Endpoint], request: Ptr[Request], operation: u32) -> Ptr[Receive]:
    """The receive entry that the request names, filled in from it. Null if there is no such entry,
    or it is in use."""
    index = request.token
    if index >= nic.receives_per_endpoint:
        return null(Receive)
    receive = endpoint.receives + index
    if receive.state != RECEIVE_FREE:
        return null(Receive)
    receive.operation = operation
    receive.limit = request.limit
    cursor = address_of(receive.cursor)
    cursor.side = 0
    cursor.more = 0
    entry = address_of(cursor.entries[0])
    entry.pieces[0].address = request.pieces[0].address
    entry.pieces[0].length = request.pieces[0].length
    entry.pieces[1].address = request.pieces[1].address
    entry.pieces[1].length = request.pieces[1].length
    entry.pieces[2].length = 0
    entry.next = request.table
    open_piece(endpoint, cursor, 0)
    measure(receive)
    return receive


@firmware
def take_receive(endpoint: Ptr[Endpoint], request: Ptr[Request], peer: u32, op: u32, operation: u32) -> None:
    """A receive: for a message taken before, for one that is here, or for one to come (NP-22,
    NP-35)."""
    receive = free_receive(endpoint, request, operation)
    if not receive:
        refuse(endpoint, operation, Error.BAD_INDEX)
        return
    tag = request.tag
    if op != Op.RECEIVE:
        if op == Op.RECEIVE_TAKEN:
            receive_taken(endpoint, receive, peer, request.spare)
            return
        if op == Op.RECEIVE_PULL:
            receive_pull(endpoint, receive, peer, tag, request.length, request.spare)
            return
    mask = u32(0) if tag == NO_TAG else u32(0xFFFFFFFF)
    context = u32(request.context)
    channel = endpoint.channels
    if peer == ANY:
        channel = find_anywhere(endpoint, context, tag, mask)
        if not channel:
            if sender_lost(endpoint, channel):
                refuse(endpoint, operation, Error.PEER_FAILED)
                return
            receive.state = RECEIVE_POSTED
            if not spread(endpoint, receive, context, tag, mask):
                receive.state = RECEIVE_FREE
                refuse(endpoint, operation, Error.BAD_INDEX)
            return
    else:
        channel = endpoint.channels + peer
    if channel.waiting != 0:
        message = find_unclaimed(channel, context, tag, mask)
        if message:
            remove(channel, message)
            claim(channel, receive, message)
            return
    if sender_lost(endpoint, channel):
        refuse(endpoint, operation, Error.PEER_FAILED)
        return
    receive.state = RECEIVE_POSTED
    node = address_of(receive.posted)
    describe(node, context, tag, mask, receive)
    append_posted(channel, node)
    if op == Op.RECEIVE_ASK:
        request_search(channel, receive)
