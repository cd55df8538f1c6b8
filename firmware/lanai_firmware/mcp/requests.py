"""Requests: where the host places them, and what each asks for (NP-53, NP-54).

Each endpoint has slots of its own, so that processes need no semaphore among each other. A request names the slot in which the
next one will appear; the doorbell says that there is one, and the command word, written last, that it is complete. The host
may write anything at any time, so each field is read once, checked, and used from then on.
"""

from lanai_firmware.lang import Ptr, address_of, barrier, firmware, trailing_zeros, u32

from .claiming import claim
from .layout import ANY, NO_TAG, SLOTS, Error, Op, Request
from .losing import hopeless
from .matching import append_posted, describe, find_anywhere, find_unclaimed, spread
from .probing import cancel, drain, probe, receive_pull, receive_taken
from .receives import fill_receive
from .records import refuse
from .registers import DOORBELL
from .searching import wish
from .sending import post_send, send_short
from .slots import give_slot_back
from .state import RECEIVE_FREE, RECEIVE_POSTED, SEND_FREE, SEND_LEAVING, Endpoint, nic
from .unclaimed import remove


@firmware
def take_requests() -> None:
    """Deal with one request of each endpoint that rang. A bit stays set until its endpoint has no request left."""
    rung = DOORBELL.load()
    number = trailing_zeros(rung)
    if number >= nic.endpoint_count:
        DOORBELL.store(rung)
        return
    endpoint = nic.endpoints + number
    if not send_short(endpoint):
        take_request(endpoint, u32(1) << number)


@firmware(inline=False)
def take_request(endpoint: Ptr[Endpoint], bit: u32) -> bool:
    """Deal with the endpoint's next request. False if there is none."""
    send = endpoint.poll
    request = send.request
    barrier()
    command = request.command
    op = command >> 24
    if op == Op.NONE:
        DOORBELL.store(bit)
        barrier()
        command = request.command
        op = command >> 24
        if op == Op.NONE:
            return False
    following = (command >> 16) & (SLOTS - 1)
    request.command = command & 0xFFFF  # marks the slot as read, and keeps the operation
    endpoint.poll = endpoint.sends + following
    if send.state != SEND_FREE:
        nic.refused = nic.refused + 1  # the slot was not given back: its send goes on, this request is lost
        return False
    send.state = SEND_LEAVING
    operation = command & 0xFFFF
    peer = u32(request.peer)
    if op <= Op.SEND_SYNC:
        if peer >= nic.ranks:
            refuse(endpoint, operation, u32(Error.BAD_PEER))
            give_slot_back(send)
        else:
            post_send(endpoint, send, peer, op)
        return True
    if op == Op.CANCEL:
        cancel(endpoint, request.token, operation)
    elif peer >= nic.ranks and (peer != ANY or op == Op.RECEIVE_TAKEN or op == Op.RECEIVE_PULL):
        refuse(endpoint, operation, u32(Error.BAD_PEER))
    elif op == Op.RECEIVE or op == Op.RECEIVE_TAKEN or op == Op.RECEIVE_PULL or op == Op.RECEIVE_ASK:
        take_receive(endpoint, request, peer, op, operation)
    elif op == Op.PROBE:
        probe(endpoint, request, peer, operation, True)
    elif op == Op.PROBE_TAKE:
        probe(endpoint, request, peer, operation, False)
    elif op == Op.DRAIN:
        drain(endpoint, request, peer, operation)
    else:
        refuse(endpoint, operation, u32(Error.BAD_OP))
    give_slot_back(send)
    return True


@firmware
def take_receive(endpoint: Ptr[Endpoint], request: Ptr[Request], peer: u32, op: u32, operation: u32) -> None:
    """A receive: for a message taken before, for one that is here, or for one to come (NP-22, NP-35)."""
    index = request.token
    if index >= nic.receives_per_endpoint:
        refuse(endpoint, operation, u32(Error.BAD_INDEX))
        return
    receive = endpoint.receives + index
    if receive.state != RECEIVE_FREE:
        refuse(endpoint, operation, u32(Error.BAD_INDEX))
        return
    fill_receive(receive, request, operation)
    if op != Op.RECEIVE:
        if op == Op.RECEIVE_TAKEN:
            receive_taken(endpoint, receive, peer, request.spare)
            return
        if op == Op.RECEIVE_PULL:
            receive_pull(endpoint, receive, request, peer)
            return
    tag = request.tag
    mask = u32(0) if tag == NO_TAG else u32(0xFFFFFFFF)
    context = u32(request.context)
    channel = endpoint.channels
    if peer == ANY:
        channel = find_anywhere(endpoint, context, tag, mask)
        if not channel:
            if hopeless(endpoint, channel):
                refuse(endpoint, operation, u32(Error.PEER_FAILED))
                return
            receive.state = RECEIVE_POSTED
            if not spread(endpoint, receive, context, tag, mask):
                receive.state = RECEIVE_FREE
                refuse(endpoint, operation, u32(Error.BAD_INDEX))
            return
    else:
        channel = endpoint.channels + peer
    if channel.waiting != 0:
        message = find_unclaimed(channel, context, tag, mask)
        if message:
            remove(channel, message)
            claim(channel, receive, message)
            return
    if hopeless(endpoint, channel):
        refuse(endpoint, operation, u32(Error.PEER_FAILED))
        return
    receive.state = RECEIVE_POSTED
    node = address_of(receive.posted)
    describe(node, context, tag, mask, receive)
    append_posted(channel, node)
    if op == Op.RECEIVE_ASK:
        wish(channel, receive)
