"""Packets that have arrived are checked and passed to the function for their type (NP-19, NP-28).

Whatever comes over the wire is doubted: a packet with a bad verdict, an unknown type, channel,
receive or handle is dropped and counted. The source of a message is what its channel says, so an
envelope cannot be forged (NP-14).
"""

from lanai_firmware.lang import Ptr, at, firmware, inline, sizeof, u32

from ....nic import host_dma, receive_dma
from ....nic.registers import FREE, HEADER_CHECKED, STOPPED, VALID, VALID_CHECKED
from ..layout import FLAG_FAILED, FLAG_LAST, Header, Type
from ..matching.searching import on_accept, on_nack, on_search_req
from ..memory.failing import lose_body, resume
from ..protocol.answering import on_send_req
from ..protocol.pulling import on_answer
from ..protocol.sending import on_dropped, on_taken
from ..rows import Channel
from ..state import nic
from .buffers import empty_buffer
from .credit import credit_arrived
from .envelopes import on_body_lost, on_eager, on_eager_unpaid, on_recv_req
from .following import forget
from .in_order import accept_next
from .quick_receives import receive_part, receive_short

EAGER_WORD = int(Type.EAGER) << 8  # upper half of an EAGER packet's first word
ANSWER_WORD = int(Type.ANSWER) << 8  # of an ANSWER's that is not the last


@firmware
def receive_packet() -> bool:
    """Deal with the oldest packet that has arrived. False if there is none, or no room in the host
    DMA's queue for it."""
    verdict = receive_dma.verdict()
    if verdict == VALID or verdict == VALID_CHECKED:  # noqa: SIM109 - the language has no tuples of variables
        header = at(Ptr[Header], receive_dma.packet())
        word = at(Ptr[u32], u32(header))[0]
        number = word & 0xFFFF
        if number < nic.quick_channels:
            kind = word >> 16
            if kind == EAGER_WORD and receive_short(nic.channels + number, header):
                return True
            if kind == ANSWER_WORD and receive_part(nic.channels + number, header):
                return True
    return receive_any()


@firmware(inline=False)
def receive_any() -> bool:
    """The same for any packet."""
    verdict = receive_dma.verdict()
    status = host_dma.status()
    if (status & STOPPED) != 0:
        resume()  # here too, as a turn with requests does not look
    if verdict == 0 or (status & FREE) < 3:
        return False
    header = at(Ptr[Header], receive_dma.packet())
    size = receive_dma.length()
    if (
        nic.recovery != 0
        and (verdict & nic.flaws) == 0
        and size >= sizeof(Header)
        and header.channel < nic.channel_count
    ):
        return receive_numbered(nic.channels + header.channel, header, size)
    receive_dma.release()
    if (verdict & nic.flaws) != 0:
        forget(header)
        nic.wire_errors += 1
        if (verdict & HEADER_CHECKED) != 0 and header.channel < nic.channel_count:
            # It is not sent again, and its envelope is sound: the message that it belongs to fails
            # at once.
            lose_body(header)
            act(nic.channels + header.channel, header, size)
    elif size < sizeof(Header) or header.channel >= nic.channel_count:
        nic.dropped += 1
    else:
        act(nic.channels + header.channel, header, size)
    empty_buffer()
    return True


@firmware(inline=False)
def receive_numbered(channel: Ptr[Channel], header: Ptr[Header], size: u32) -> bool:
    """The same for a sound packet where recovery is on: only the one that comes next is acted
    on."""
    if accept_next(channel, header):
        kind = header.type
        if kind == Type.EAGER and receive_short(channel, header):
            return True
        if kind == Type.ANSWER and header.flags & (FLAG_LAST | FLAG_FAILED) == 0 and receive_part(channel, header):
            return True
        act(channel, header, size)
    receive_dma.release()
    empty_buffer()
    return True


@firmware
def act(channel: Ptr[Channel], header: Ptr[Header], size: u32) -> None:
    """Take credit and act on a packet of any type; one that makes no sense is counted."""
    word = header.credit
    if word != channel.credit_seen:
        credit_arrived(channel, word)
    if not dispatch(channel, header, u32(header) + sizeof(Header), size - sizeof(Header)):
        nic.dropped += 1


@inline
def dispatch(channel: Ptr[Channel], header: Ptr[Header], body: u32, size: u32) -> bool:
    """Act on a sound packet. False if it makes no sense."""
    kind = header.type
    if kind == Type.EAGER:
        return on_eager(channel, header, body, size)
    if kind == Type.ANSWER:
        return on_answer(channel, header, body, size)
    if kind == Type.SEND_REQ:
        return on_send_req(channel, header)
    if kind == Type.RECV_REQ:
        return on_recv_req(channel, header)
    if kind == Type.EAGER_UNPAID:
        return on_eager_unpaid(channel, header, body, size)
    if kind == Type.TAKEN:
        on_taken(channel)
        return True
    if kind == Type.DROPPED:
        on_dropped(channel, header.length)
        return True
    if kind == Type.ACK:
        return True
    if kind == Type.SEARCH_REQ:
        return on_search_req(channel, header)
    if kind == Type.NACK:
        return on_nack(channel)
    if kind == Type.ACCEPT:
        return on_accept(channel, header)
    return (kind == Type.EAGER_LOST or kind == Type.UNPAID_LOST) and on_body_lost(channel, header)
