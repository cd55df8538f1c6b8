"""Packets that bring an envelope: matched with the receives, delivered, pulled, kept or dropped
(NP-24)."""

from lanai_firmware.lang import Ptr, firmware, inline, u32

from ..codes import MESSAGE_BODY, MESSAGE_PROMISE, OWE_DROPPED, OWE_TAKEN
from ..layout import NO_BODY, PACKET_BODY, Header, Type
from ..matching.claiming import deliver_eager, tell_followed
from ..matching.matching import find_expected, withdraw
from ..matching.unclaimed import keep
from ..protocol.pulling import fail_body, pull
from ..protocol.ready import make_ready
from ..rows import Channel
from .credit import blocks_for, give_back
from .following import forget, was_followed


@inline
def on_eager(channel: Ptr[Channel], header: Ptr[Header], body: u32, size: u32) -> bool:
    """Envelope and body on credit: there is room, so it is delivered or kept."""
    length = header.length
    if length > size or length > PACKET_BODY:
        return False
    channel.arrived += 1
    node = find_expected(channel, header.context, header.tag)
    if node:
        receive = node.receive
        withdraw(receive)
        if was_followed(header):
            tell_followed(channel, receive, header.tag, length)
        else:
            deliver_eager(channel, receive, header.tag, length, body)
        give_back(channel, 1, blocks_for(length))
        return True
    return keep(channel, header.context, header.tag, length, 0, MESSAGE_BODY, body)


@firmware(inline=False)
def on_body_lost(channel: Ptr[Channel], header: Ptr[Header]) -> bool:
    """An envelope whose body is lost: the receive that takes it fails. Without one it is kept, like
    a promise."""
    length = header.length
    if length > PACKET_BODY:
        return False
    if header.type == Type.UNPAID_LOST:
        channel.control |= OWE_TAKEN
        make_ready(channel)
    channel.arrived += 1
    forget(header)
    node = find_expected(channel, header.context, header.tag)
    if node:
        receive = node.receive
        withdraw(receive)
        fail_body(channel, receive, header.tag)
        give_back(channel, 1, blocks_for(length))
        return True
    if not keep(channel, header.context, header.tag, length, NO_BODY, MESSAGE_PROMISE, 0):
        return False
    give_back(channel, 0, blocks_for(length))
    return True


@firmware
def on_recv_req(channel: Ptr[Channel], header: Ptr[Header]) -> bool:
    """An envelope whose body waits at the sender: match it, or keep it."""
    channel.arrived += 1
    node = find_expected(channel, header.context, header.tag)
    if node:
        receive = node.receive
        withdraw(receive)
        pull(channel, receive, header.tag, header.length, header.handle)
        give_back(channel, 1, 0)
        return True
    return keep(channel, header.context, header.tag, header.length, header.handle, MESSAGE_PROMISE, 0)


@firmware
def on_eager_unpaid(channel: Ptr[Channel], header: Ptr[Header], body: u32, size: u32) -> bool:
    """Envelope and body without credit: taken if there happens to be room, else dropped. The sender
    gets an answer (NP-24)."""
    if header.length > size or header.length > PACKET_BODY:
        return False
    if on_eager(channel, header, body, size):
        channel.control |= OWE_TAKEN
    else:
        channel.arrived -= 1
        channel.dropped_length = header.length
        channel.control |= OWE_DROPPED
    make_ready(channel)
    return True
