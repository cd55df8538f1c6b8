"""Bodies that are brought while their sends wait for credit, into the send buffers of channels (NP-04, NP-39)."""

from lanai_firmware.lang import Ptr, firmware, minimum

from ....nic import host_dma
from ..border.records import report
from ..layout import HEADER_ROOM, Kind, Op
from ..memory.hostdma import download
from ..memory.send_buffers import buffer_of, take_ahead
from ..rows import Channel, Send
from ..state import nic
from .pieces import pieces_allowed


@firmware
def bring_ahead(channel: Ptr[Channel]) -> bool:
    """Bring the bodies of the short sends that wait, in order, while there is room for them. Return False if the
    host DMA has no room for more."""
    send = channel.first
    while send:
        if send.op == Op.SEND and send.length - 1 < nic.eager_limit and send != channel.unpaid:
            if host_dma.free() < 3:
                return False
            if not bring_body(channel, send):
                return True
        send = send.next
    return True


@firmware
def bring_body(channel: Ptr[Channel], send: Ptr[Send]) -> bool:
    """Bring the body of one send. The send becomes an inline one, and the program has its buffer back. Return False
    if the channel has no room for the body, or the body may not be read."""
    length = send.length
    if not pieces_allowed(send, length):
        return False
    room = take_ahead(channel, length)
    if room == 0:
        return False
    part = minimum(send.pieces[0].length, length)
    download(room + HEADER_ROOM, send.pieces[0].address, part)
    if part != length:
        download(room + HEADER_ROOM + part, send.pieces[1].address, length - part)
    buffer_of(channel).brought = nic.hdma
    send.op = Op.SEND_INLINE
    send.table = room
    report(send.endpoint, Kind.SENT, operation=send.operation, source=channel.rank, length=length)
    send.operation = 0  # which is over, whatever becomes of the body
    return True
