"""Packets that have arrived: judged, matched, passed on, and their buffers posted again (NP-19, NP-25, NP-28).

Whatever comes over the wire is doubted: a packet with a bad verdict, an unknown type, channel, receive or handle is dropped
and counted. The source of a message is what its channel says, so an envelope cannot be forged (NP-14).
"""

from lanai_firmware.lang import Ptr, at, firmware, inline, sizeof, u32

from .answering import asked
from .claiming import deliver_eager
from .credit import blocks_for, credit_arrived, give_back
from .hostdma import reached, room
from .layout import PACKET_BODY, Header, Type
from .matching import find_expected, withdraw
from .pulling import pull, take_answer
from .ready import make_ready
from .registers import RECV_BUFFER, RECV_LENGTH, RECV_LIMIT, RECV_POINTER, RECV_VERDICT, VALID
from .sending import unpaid_dropped, unpaid_taken
from .state import (
    MESSAGE_BODY,
    MESSAGE_PROMISE,
    OWE_DROPPED,
    OWE_TAKEN,
    Channel,
    nic,
)
from .unclaimed import keep

QUEUED = 4  # buffers that the receive DMA holds at most


@firmware
def post_buffers() -> None:
    """Give the receive DMA every buffer that has been emptied, in turn."""
    while nic.buffers_posted - nic.buffers_used < QUEUED:
        buffer = nic.buffers + (nic.buffers_posted & nic.buffer_mask)
        if not reached(buffer.release):
            return
        RECV_POINTER.store(buffer.start)
        RECV_LIMIT.store(buffer.limit)
        nic.buffers_posted = nic.buffers_posted + 1


@firmware
def receive_packet() -> bool:
    """Deal with the oldest packet that has arrived. False if there is none, or no room in the host DMA's queue for it."""
    verdict = RECV_VERDICT.load()
    if verdict == 0 or room() < 3:
        return False
    header = at(Ptr[Header], RECV_BUFFER.load())
    size = RECV_LENGTH.load()
    RECV_VERDICT.store(1)
    if (verdict & VALID) == 0:
        nic.wire_errors = nic.wire_errors + 1
    elif size < sizeof(Header) or header.channel >= nic.channel_count:
        nic.dropped = nic.dropped + 1
    else:
        channel = nic.channels + header.channel
        word = header.credit
        if word != channel.credit_seen:
            credit_arrived(channel, word)
        if not dispatch(channel, header, u32(header) + u32(sizeof(Header)), size - u32(sizeof(Header))):
            nic.dropped = nic.dropped + 1
    buffer = nic.buffers + (nic.buffers_used & nic.buffer_mask)
    buffer.release = nic.hdma
    nic.buffers_used = nic.buffers_used + 1
    post_buffers()
    return True


@inline
def dispatch(channel: Ptr[Channel], header: Ptr[Header], body: u32, size: u32) -> bool:
    """Act on a sound packet. False if it makes no sense."""
    kind = header.type
    if kind == Type.EAGER:
        return take_eager(channel, header, body, size)
    if kind == Type.ANSWER:
        return take_answer(channel, header, body, size)
    if kind == Type.SEND_REQ:
        return asked(channel, header)
    if kind == Type.RECV_REQ:
        return take_promise(channel, header)
    if kind == Type.EAGER_UNPAID:
        return take_unpaid(channel, header, body, size)
    if kind == Type.TAKEN:
        unpaid_taken(channel)
        return True
    if kind == Type.DROPPED:
        unpaid_dropped(channel, header.length)
        return True
    return kind == Type.ACK


@inline
def take_eager(channel: Ptr[Channel], header: Ptr[Header], body: u32, size: u32) -> bool:
    """Envelope and body on credit: there is room, so it is delivered or kept."""
    length = header.length
    if length > size or length > PACKET_BODY:
        return False
    channel.arrived = channel.arrived + 1
    node = find_expected(channel, header.context, header.tag)
    if node:
        receive = node.receive
        withdraw(receive)
        deliver_eager(channel, receive, header.tag, length, body)
        give_back(channel, u32(1), blocks_for(length))
        return True
    return keep(channel, header.context, header.tag, length, u32(0), MESSAGE_BODY, body)


@firmware
def take_promise(channel: Ptr[Channel], header: Ptr[Header]) -> bool:
    """An envelope whose body waits at the sender: match it, or keep it."""
    channel.arrived = channel.arrived + 1
    node = find_expected(channel, header.context, header.tag)
    if node:
        receive = node.receive
        withdraw(receive)
        pull(channel, receive, header.tag, header.length, header.handle)
        give_back(channel, u32(1), u32(0))
        return True
    return keep(channel, header.context, header.tag, header.length, header.handle, MESSAGE_PROMISE, u32(0))


@firmware
def take_unpaid(channel: Ptr[Channel], header: Ptr[Header], body: u32, size: u32) -> bool:
    """Envelope and body without credit: taken if there happens to be room, else dropped; the sender is told (NP-24)."""
    if header.length > size or header.length > PACKET_BODY:
        return False
    if take_eager(channel, header, body, size):
        channel.control = channel.control | OWE_TAKEN
    else:
        channel.arrived = channel.arrived - 1
        channel.dropped_length = header.length
        channel.control = channel.control | OWE_DROPPED
    make_ready(channel)
    return True
