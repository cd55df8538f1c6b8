"""Searches: a receive asks its sender for a message that has not been announced
(NP-22, NP-23, NP-G2).

The thesis does so for each receive that finds nothing; here it is optional (`Op.RECEIVE_ASK`). It
helps when the sender has no credit even for an envelope: expected data need none (NP-25). A
SEARCH_REQ says what the receive takes, and how many envelopes its channel has seen. The sender
answers by NACK unless it has sent no more than those and its next send fits; then ACCEPT, which is
that send's envelope, leaves in its place among the envelopes, and the body follows as if it had
been asked for.

So none is sent twice: an envelope that crosses the SEARCH_REQ on the wire makes the counts differ,
and the sender answers NACK. None goes to the wrong receive: only the oldest of a channel asks, one
question at a time, and it may not be cancelled before the answer is here. The answer is the other
NIC's, which does not depend on its host, so it always comes.
"""

from lanai_firmware.lang import Const, Ptr, address_of, firmware, inline, null, u32

from ..border.records import report
from ..border.slots import give_slot_back
from ..codes import OWE_NACK, OWE_SEARCH, PULLS, RECEIVE_FREE, RECEIVE_POSTED, SEND_PARKED, SEND_WAITING
from ..layout import IN_SLOT, NO_TAG, Header, Kind, Op, Type
from ..protocol.answering import on_send_req
from ..protocol.pieces import announce, withdraw_entry
from ..protocol.pulling import meet
from ..protocol.ready import make_ready
from ..protocol.sending import envelope, slot_number
from ..rows import Channel, Receive, Send
from ..wire.outgoing import commit, new_frame, new_stage, send_frame, stage_free
from .matching import withdraw

LOW: Const[u32] = u32(0xFFFF)  # envelopes are counted modulo 2**16, in the upper half of a handle


@firmware
def request_search(channel: Ptr[Channel], receive: Ptr[Receive]) -> None:
    """Send a SEARCH_REQ for a receive that has just been posted, if the channel allows one. Its
    answer counts as that of a SEND_REQ."""
    if channel.asking or channel.pulls >= PULLS or receive.asked != 0:
        return
    if channel.expected.next != address_of(receive.posted):
        return
    channel.asking = receive
    receive.asked = 1
    channel.pulls += 1
    channel.control |= OWE_SEARCH
    make_ready(channel)


@firmware
def send_search_req(channel: Ptr[Channel]) -> None:
    """Send the question, unless a message has come for the receive in the meantime."""
    channel.control &= ~OWE_SEARCH
    receive = channel.asking
    node = address_of(receive.posted)
    if receive.state != RECEIVE_POSTED or channel.expected.next != node:
        on_nack(channel)
        return
    header = new_frame(channel, Type.SEARCH_REQ)
    header.tag = node.tag
    header.context = node.key >> 16
    header.length = receive.limit
    header.handle = (channel.arrived << 16) | receive.number
    send_frame(channel, header)


@firmware
def on_search_req(channel: Ptr[Channel], header: Ptr[Header]) -> bool:
    """A SEARCH_REQ has come: let the head of the send ring go if it is what is meant, else owe a
    NACK."""
    send = channel.first
    if not (send and is_meant(channel, send, header) and stage_free(channel) and send_accept(channel, send, header)):
        channel.control |= OWE_NACK
    make_ready(channel)
    return True


@inline
def is_meant(channel: Ptr[Channel], send: Ptr[Send], header: Ptr[Header]) -> bool:
    """Does the envelope fit, and has none left that the receiver had not seen when it asked?"""
    mask = u32(0) if header.tag == NO_TAG else u32(0xFFFFFFFF)
    apart = ((send.tag ^ header.tag) & mask) | (u32(send.context) ^ u32(header.context))
    return apart | u32(channel.unpaid) | ((channel.sequence ^ (header.handle >> 16)) & LOW) == 0


@inline
def send_accept(channel: Ptr[Channel], send: Ptr[Send], header: Ptr[Header]) -> bool:
    """Turn the question into the SEND_REQ that it stands for, and send the envelope, which takes no
    message slot, before the body. False, with nothing changed, if there is no room for the body's
    job, or the host's request is not sound."""
    following = send.next
    length = send.length
    number = header.handle & LOW
    header.tag = number
    if header.length > length:
        header.length = length
    in_slot = send.op == Op.SEND_INLINE
    if not in_slot and not announce(send.endpoint, send.table):
        return False
    header.handle = IN_SLOT | slot_number(send) if in_slot else send.table
    send.state = SEND_PARKED
    if not on_send_req(channel, header):
        send.state = SEND_WAITING
        if not in_slot:
            withdraw_entry(send.endpoint, send.table)
        return False
    channel.first = following
    stage = new_stage(channel, Type.ACCEPT)
    envelope(channel, stage, send, length, 0)
    channel.slot_credit += 1
    answer = address_of(stage.header)
    answer.handle = number
    commit()
    if not in_slot:
        give_slot_back(send)
    return True


@firmware
def on_accept(channel: Ptr[Channel], header: Ptr[Header]) -> bool:
    """ACCEPT has come: the receive that asked has its message. False if none asked, or another."""
    receive = channel.asking
    if not receive or receive.number != header.handle or channel.expected.next != address_of(receive.posted):
        return False
    channel.asking = null(Receive)
    channel.arrived += 1
    receive.asked = 0
    withdraw(receive)
    tell_canceller(receive, Kind.NOT_CANCELLED)
    meet(channel, receive, header.tag, header.length)
    return True


@firmware
def on_nack(channel: Ptr[Channel]) -> bool:
    """The question is answered by NACK, or of no use any more: the receive goes on waiting, if it
    still does, unless it is to be cancelled. False if there was no question."""
    receive = channel.asking
    if not receive:
        return False
    channel.asking = null(Receive)
    channel.pulls -= 1
    if channel.first_pull:
        make_ready(channel)
    receive.asked = 0
    outcome = u32(Kind.NOT_CANCELLED)
    if receive.cancel != 0 and receive.state == RECEIVE_POSTED:
        withdraw(receive)
        receive.state = RECEIVE_FREE
        outcome = u32(Kind.CANCELLED)
    tell_canceller(receive, outcome)
    return True


@inline
def tell_canceller(receive: Ptr[Receive], outcome: u32) -> None:
    """Report the outcome of a cancel of a receive that had asked its sender. `cancel` holds the
    operation of the cancel, and a bit above it."""
    if receive.cancel != 0:
        report(receive.endpoint, outcome, operation=receive.cancel & LOW)
        receive.cancel = 0
