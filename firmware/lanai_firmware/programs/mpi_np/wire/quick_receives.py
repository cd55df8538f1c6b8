"""Packets of the common cases, received in one go: a short message for the oldest receive of its
channel, and a part of a long body (NP-19, NP-25).

Like `incoming` this checks all that a packet says. Each function leaves everything as it was if the
case is another.
"""

from lanai_firmware.lang import Ptr, address_of, at, firmware, inline, offset_of, sizeof, u32

from ....nic import host_dma, receive_dma
from ....nic.registers import TO_HOST
from ..border.records import finish_record, next_record, report
from ..codes import RECEIVE_FREE, RECEIVE_PULLING
from ..layout import Header, Kind, Record
from ..matching.matching import unlink_posted
from ..memory.cursor import next_piece
from ..memory.hostdma import upload
from ..rows import Channel, Posted
from ..state import nic
from .buffers import empty_buffer, post_buffers
from .credit import blocks_for, credit_arrived, give_back

KIND_WORD = offset_of(Record, "sequence")
RECEIVED_OK = int(Kind.RECEIVED) << 8


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
