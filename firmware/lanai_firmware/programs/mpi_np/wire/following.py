"""Cut-through on the receiving side: a body goes on to the host while it still comes over the wire (NP-51).

When enough of a long packet has arrived, and its header has been checked by itself, its upload is queued to keep behind the receive
DMA. Nothing else changes: the packet is judged and accounted for when it is whole, and only its upload is not queued again. One packet is
followed at a time, and only if the host DMA has nothing to do, as what is queued behind waits as long as the packet takes.

Two NICs must not wait for each other's bodies: `outgoing` sends no packet whose body is not here while a packet is being followed, so
what a followed packet still needs never waits behind another followed one.
"""

from lanai_firmware.lang import Ptr, address_of, at, firmware, minimum, sizeof, u32

from ....nic.registers import (
    BUSY,
    CHECKED,
    FOLLOW,
    HDMA_HOST,
    HDMA_LENGTH,
    HDMA_LOCAL,
    HDMA_START,
    RECV_CURRENT,
    RECV_DONE,
    RECV_STATUS,
    RECV_VERDICT,
    RECV_WATERMARK,
    TO_HOST,
)
from ..layout import PACKET_BODY, Header, Type
from ..memory.hostdma import room
from ..state import RECEIVE_ARRIVING, RECEIVE_POSTED, RECEIVE_PULLING, Channel, nic


@firmware(inline=False)
def follow() -> None:
    """Enough of a packet has arrived: queue its upload if it is clear where it goes. Asked once for each packet."""
    RECV_WATERMARK.store(0)
    nic.looked = RECV_DONE.load()
    start = RECV_CURRENT.load()
    if (RECV_STATUS.load() & (BUSY | CHECKED)) != BUSY | CHECKED or nic.followed != 0 or room() != nic.hdma_queue:
        return
    header = at(Ptr[Header], start)
    if header.channel >= nic.channel_count or header.length > PACKET_BODY:
        return
    channel = nic.channels + header.channel
    receive = nic.receives
    if header.type == Type.ANSWER:
        if not answers(channel, header):
            return
        receive = nic.receives + header.tag
    elif header.type == Type.EAGER:
        if not meets(channel, header):
            return
        receive = channel.expected.next.receive
    else:
        return
    if RECV_VERDICT.load() != 0 or RECV_CURRENT.load() != start:
        return  # meanwhile it has become whole, or another one is arriving
    HDMA_HOST.store(receive.cursor.address)
    HDMA_LOCAL.store(start + u32(sizeof(Header)))
    HDMA_LENGTH.store(header.length)
    HDMA_START.store(TO_HOST | FOLLOW)
    nic.hdma = nic.hdma + 1
    nic.follow_until = nic.hdma
    nic.followed = start
    nic.followed_receive = receive
    if receive.state == RECEIVE_POSTED:
        receive.state = RECEIVE_ARRIVING
        receive.whole = u32(0)  # off the fast path, which would queue the upload again


@firmware
def answers(channel: Ptr[Channel], header: Ptr[Header]) -> bool:
    """Is this the next part of a body, for one piece of host memory?"""
    if header.tag >= nic.receive_count:
        return False
    receive = nic.receives + header.tag
    if receive.state != RECEIVE_PULLING or receive.channel != channel or header.handle != receive.arrived:
        return False
    return header.length <= receive.cursor.left and header.length <= receive.length - receive.arrived


@firmware
def meets(channel: Ptr[Channel], header: Ptr[Header]) -> bool:
    """Is this a whole message for the oldest receive of its channel, for one piece of host memory?"""
    node = channel.expected.next
    if node == address_of(channel.expected):
        return False
    apart = ((node.key >> 16) ^ u32(header.context)) | ((node.tag ^ header.tag) & node.mask)
    return apart | u32(node.receive.chained) == 0 and header.length <= node.receive.whole


@firmware
def was_followed(header: Ptr[Header]) -> bool:
    """Is the upload of this packet, which is whole now, queued already? Asked once for each packet."""
    if nic.followed != u32(header):
        return False
    nic.followed = u32(0)
    return True


@firmware
def forget(header: Ptr[Header]) -> None:
    """A packet is dropped: if it was followed, its receive waits for another one."""
    if was_followed(header):
        receive = nic.followed_receive
        if receive.state == RECEIVE_ARRIVING:
            receive.state = RECEIVE_POSTED
            receive.whole = minimum(receive.cursor.left, receive.limit)
