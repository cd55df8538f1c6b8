"""Cut-through on the receiving side: a body goes on to the host while it still comes over the wire
(NP-51).

When enough of a long packet has arrived, and its header has been checked by itself, its upload is
queued to keep behind the receive DMA. Nothing else changes: the packet is judged and accounted for
when it is whole, and only its upload is not queued again. One packet is followed at a time, and
only if the host DMA has nothing to do, as what is queued behind waits as long as the packet takes.

Two NICs must not wait for each other's bodies: `outgoing` sends no packet whose body is not here
while a packet is being followed, so what a followed packet still needs never waits behind another
followed one.
"""

from lanai_firmware.lang import Ptr, address_of, at, firmware, inline, sizeof, u32

from ....nic import host_dma, receive_dma
from ....nic.registers import FOLLOW, TO_HOST
from ..codes import RECEIVE_ARRIVING, RECEIVE_POSTED, RECEIVE_PULLING
from ..layout import PACKET_BODY, Error, Header, Type
from ..matching.receives import measure
from ..memory.cursor import peek
from ..rows import Channel, Receive
from ..state import nic


@firmware(inline=False)
def follow() -> None:
    """Enough of a packet has arrived: queue its upload if it is clear where it goes. Asked once for
    each packet."""
    receive_dma.watch(0)
    nic.looked = receive_dma.done()
    start = receive_dma.arriving()
    if not receive_dma.header_arrived() or nic.followed != 0 or host_dma.free() != nic.hdma_queue:
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
    if receive_dma.verdict() != 0 or receive_dma.arriving() != start:
        return  # meanwhile it has become whole, or another one is arriving
    cursor = address_of(receive.cursor)
    length = header.length
    nic.follow_from = nic.hdma + 1
    if length <= cursor.left:
        upload_behind(start + sizeof(Header), cursor.address, length)
    else:
        follow_split(receive, start + sizeof(Header), length)
    nic.follow_until = nic.hdma
    nic.followed = start
    nic.followed_receive = receive
    if receive.state == RECEIVE_POSTED:
        receive.state = RECEIVE_ARRIVING
        receive.error = Error.OK
        receive.whole = 0  # off the fast paths, which would queue the upload again
        receive.both = 0


@firmware(inline=False)
def follow_split(receive: Ptr[Receive], body: u32, length: u32) -> None:
    """The body goes to two pieces: the rest of the open one, and the one behind it."""
    cursor = address_of(receive.cursor)
    part = cursor.left
    upload_behind(body, cursor.address, part)
    upload_behind(body + part, peek(receive.endpoint, cursor).address, length - part)


@inline
def upload_behind(local: u32, host: u32, length: u32) -> None:
    """Queue an upload that keeps behind the receive DMA. The queue must have room."""
    host_dma.queue(host, local, length, TO_HOST | FOLLOW)
    nic.hdma += 1


@firmware
def answers(channel: Ptr[Channel], header: Ptr[Header]) -> bool:
    """Is this the next part of a body, for one or two pieces of host memory?"""
    if header.tag >= nic.receive_count:
        return False
    receive = nic.receives + header.tag
    if receive.state != RECEIVE_PULLING or receive.channel != channel or header.handle != receive.arrived:
        return False
    length = header.length
    if length > receive.length - receive.arrived:
        return False
    return length <= receive.cursor.left or answers_split(receive, length)


@firmware(inline=False)
def answers_split(receive: Ptr[Receive], length: u32) -> bool:
    """The same where the open piece is too short."""
    left = receive.cursor.left
    piece = peek(receive.endpoint, address_of(receive.cursor))
    return left != 0 and bool(piece) and length - left <= piece.length


@firmware
def meets(channel: Ptr[Channel], header: Ptr[Header]) -> bool:
    """Is this a whole message for the oldest receive of its channel, for one or two pieces of host
    memory?"""
    node = channel.expected.next
    if node == address_of(channel.expected):
        return False
    apart = ((node.key >> 16) ^ u32(header.context)) | ((node.tag ^ header.tag) & node.mask)
    return apart | u32(node.receive.chained) == 0 and (
        header.length <= node.receive.whole or header.length <= node.receive.both
    )


@firmware
def was_followed(header: Ptr[Header]) -> bool:
    """Is the upload of this packet, which is whole now, queued already? Asked once for each
    packet."""
    if nic.followed != u32(header):
        return False
    nic.followed = 0
    return True


@firmware
def forget(header: Ptr[Header]) -> None:
    """A packet is dropped: if it was followed, its receive waits for another one."""
    if was_followed(header):
        receive = nic.followed_receive
        if receive.state == RECEIVE_ARRIVING:
            receive.state = RECEIVE_POSTED
            measure(receive)
