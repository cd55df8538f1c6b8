"""Packets that have arrived: judged, matched, passed on, and their buffers posted again (NP-19,
NP-25, NP-28).

Whatever comes over the wire is doubted: a packet with a bad verdict, an unknown type, channel,
receive or handle is dropped and counted. The source of a message is what its channel says, so an
envelope cannot be forged (NP-14).
"""

from lanai_firmware.lang import Ptr, address_of, at, firmware, inline, offset_of, sizeof, u32

from ....nic import host_dma, receive_dma
from ....nic.registers import FREE, HEADER_CHECKED, STOPPED, TO_HOST, VALID, VALID_CHECKED
from ..border.records import finish_record, next_record, report
from ..layout import FLAG_FAILED, FLAG_LAST, Header, Kind, Record, Type
from ..matching.matching import unlink_posted
from ..matching.searching import on_accept, on_nack, on_search_req
from ..memory.cursor import next_piece
from ..memory.failing import lose_body, resume
from ..memory.hostdma import upload
from ..protocol.answering import on_send_req
from ..protocol.pulling import on_answer
from ..protocol.sending import on_dropped, on_taken
from ..state import (
    RECEIVE_FREE,
    RECEIVE_PULLING,
    Channel,
    Posted,
    nic,
)
from .credit import blocks_for, credit_arrived, give_back
from .envelopes import on_body_lost, on_eager, on_eager_unpaid, on_recv_req
from .following import forget
from .in_order import accept_next

EAGER_WORD = int(Type.EAGER) << 8  # upper half of an EAGER packet's first word
ANSWER_WORD = int(Type.ANSWER) << 8  # of an ANSWER's that is not the last
KIND_WORD = offset_of(Record, "sequence")
RECEIVED_OK = int(Kind.RECEIVED) << 8


@firmware
def post_buffers() -> None:
    """Give the receive DMA every buffer that has been emptied, in turn."""
    if receive_dma.done() != nic.looked:
        receive_dma.watch(nic.watermark)
    while nic.buffers_posted != nic.buffers_due:
        buffer = nic.buffers + ((nic.buffers_posted + nic.recv_queue) & nic.buffer_mask)
        if not host_dma.reached(buffer.release):
            return
        receive_dma.post(buffer.start, buffer.limit)
        nic.buffers_posted += 1


@firmware
def receive_packet() -> bool:
    """Deal with the oldest packet that has arrived. False if there is none, or no room in the host
    DMA's queue for it."""
    verdict = receive_dma.verdict()
    if verdict == VALID or verdict == VALID_CHECKED:  # noqa: SIM109 - the language has no tuples of variables
        header = at(Ptr[Header], receive_dma.packet())
        word = at(Ptr[u32], u32(header))[0]
        number = word & 0xFFFF
        if number < nic.channel_count:
            kind = word >> 16
            if kind == EAGER_WORD and receive_short(nic.channels + number, header):
                return True
            if kind == ANSWER_WORD and receive_part(nic.channels + number, header):
                return True
    return receive_any()


@inline
def receive_part(channel: Ptr[Channel], header: Ptr[Header]) -> bool:
    """The common case of a long body: a part of it, not the last, for the piece of host memory that
    is open.

    The upload begins before anything else is done, as the host bus is what long messages wait for.
    False if it is not so, with nothing changed.
    """
    receive_number = header.tag
    if receive_number >= nic.receive_count:
        return False
    receive = nic.receives + receive_number
    length = header.length
    arrived = receive.arrived
    apart = (receive.state ^ RECEIVE_PULLING) | (u32(receive.channel) ^ u32(channel)) | (header.handle ^ arrived)
    if apart != 0:
        return False
    left = receive.cursor.left
    if length > left:
        return False
    if length > receive.length - arrived:
        return False
    if receive_dma.length() < length + sizeof(Header):
        return False
    if host_dma.free() == 0:
        return False
    address = receive.cursor.address
    uploads = nic.hdma
    if nic.followed == u32(header):
        nic.followed = 0
    else:
        host_dma.queue(address, u32(header) + sizeof(Header), length, TO_HOST)
        uploads += 1
        nic.hdma = uploads
    receive_dma.release()
    receive.arrived = arrived + length
    receive.cursor.address = address + length
    receive.cursor.left = left - length
    buffer = nic.buffers + (nic.buffers_due & nic.buffer_mask)
    buffer.release = uploads
    nic.buffers_due += 1
    post_buffers()
    if left == length:
        next_piece(receive.endpoint, address_of(receive.cursor))
    if header.credit != channel.credit_seen:
        credit_arrived(channel, header.credit)
    return True


@inline
def receive_short(channel: Ptr[Channel], header: Ptr[Header]) -> bool:
    """The common case of a short message: EAGER, for the oldest receive of its channel, all in one
    page.

    False if it is not so, with nothing changed.
    """
    node = channel.expected.next
    if node == address_of(channel.expected):
        return False
    # What must be zero is or-ed together: on the Lanai a test costs as much as three such
    # operations.
    tag = header.tag
    receive = node.receive
    apart = ((node.key >> 16) ^ u32(header.context)) | ((node.tag ^ tag) & node.mask)
    if apart | u32(receive.chained) | u32(channel.first) != 0:
        return False
    length = header.length
    cursor = address_of(receive.cursor)
    if length > receive.whole:
        return length <= receive.both and receive_split(channel, header, node)
    if receive_dma.length() < length + sizeof(Header):
        return False
    if host_dma.free() < 2:
        return False
    receive_dma.release()
    uploads = nic.hdma + 1
    if length != 0:
        host_dma.queue(cursor.address, u32(header) + sizeof(Header), length, TO_HOST)
        uploads += 1
    nic.hdma = uploads
    endpoint = channel.endpoint
    sequence = endpoint.sequence
    record = next_record()
    record.tag = tag
    record.length = length
    record.source = channel.rank
    record.operation = receive.operation
    at(Ptr[u32], u32(record) + KIND_WORD)[0] = (sequence << 16) | RECEIVED_OK
    finish_record(endpoint, record, sequence, uploads)
    unlink_posted(node)
    receive.state = RECEIVE_FREE
    word = header.credit
    seen = channel.credit_seen
    channel.credit_seen = word
    channel.slot_credit += ((word >> 16) - (seen >> 16)) & 0xFFFF
    channel.block_credit += (word - seen) & 0xFFFF
    channel.arrived += 1
    buffer = nic.buffers + (nic.buffers_due & nic.buffer_mask)
    buffer.release = uploads
    nic.buffers_due += 1
    give_back(channel, 1, blocks_for(length))
    return True


@firmware(inline=False)
def receive_split(channel: Ptr[Channel], header: Ptr[Header], node: Ptr[Posted]) -> bool:
    """The same for a message that goes to the first two pieces of its receive."""
    receive = node.receive
    length = header.length
    if receive_dma.length() < length + sizeof(Header) or host_dma.free() < 3:
        return False
    receive_dma.release()
    cursor = address_of(receive.cursor)
    body = u32(header) + sizeof(Header)
    first = cursor.left
    upload(body, cursor.address, first)
    upload(body + first, cursor.entries[0].pieces[1].address, length - first)
    unlink_posted(node)
    receive.state = RECEIVE_FREE
    report(
        receive.endpoint, Kind.RECEIVED, operation=receive.operation, source=channel.rank, tag=header.tag, length=length
    )
    if header.credit != channel.credit_seen:
        credit_arrived(channel, header.credit)
    channel.arrived += 1
    empty_buffer()
    give_back(channel, 1, blocks_for(length))
    return True


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


@firmware
def empty_buffer() -> None:
    """The oldest packet has been dealt with; its buffer may be posted again when what it queued has
    been uploaded."""
    buffer = nic.buffers + (nic.buffers_due & nic.buffer_mask)
    buffer.release = nic.hdma
    nic.buffers_due += 1
    post_buffers()


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
