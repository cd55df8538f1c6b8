"""Requests of the host become packets: puts (T3-01), and questions about remote memory."""

from lanai_firmware.lang import Const, Ptr, address_of, firmware, sizeof, u32

from ...nic import host_dma, send_dma
from ...nic.registers import TO_SRAM
from .common import number_packet, room_to_begin
from .layout import (
    BODY,
    HEADER,
    INLINE_WORDS,
    KIND_AT,
    KIND_MASK,
    LENGTH,
    NODES,
    OUTSTANDING,
    RING,
    Ask,
    Counter,
    Kind,
    Request,
)
from .state import BUFFERS, Outgoing, nic

COMPLETED: Const[u32] = u32(int(Counter.COMPLETED))
ANSWERED: Const[u32] = u32(int(Counter.ANSWERED))
PUT: Const[u32] = u32(int(Kind.PUT))
FENCE: Const[u32] = u32(int(Kind.FENCE))
ASK: Const[u32] = u32(int(sizeof(Ask)))
PLACES: Const[u32] = u32(BUFFERS)


@firmware
def begin() -> bool:
    """Begin the next packet of the oldest request. False if there is none, or it must wait."""
    request = address_of(nic.border.requests[nic.taken % RING])
    if request.number != nic.taken + 1 or not room_to_begin():
        return False
    unanswered = nic.asked - nic.counters[ANSWERED]
    if nic.fencing != 0:
        if unanswered != 0:
            return False
        nic.fencing = 0
    packet = address_of(nic.outgoing[nic.begun % PLACES])
    kind = request.length >> KIND_AT & KIND_MASK
    if kind == PUT:
        begin_put(packet, request)
    else:
        if unanswered >= OUTSTANDING:
            return False
        head(packet, request, request.length, ASK)
        copy_inline(packet, request, ASK)
        nic.asked += 1
        nic.fencing = u32(kind == FENCE)
        packet.ends = 1
    packet.fetched = nic.transfers
    if packet.ends != 0:
        nic.offset = 0
        nic.taken += 1
    nic.begun += 1
    return True


@firmware
def begin_put(packet: Ptr[Outgoing], request: Ptr[Request]) -> None:
    """The next packet of a put, and the transfer of its bytes."""
    whole = request.length & LENGTH
    size = whole - nic.offset
    if size > BODY:
        size = BODY
    head(packet, request, request.length & ~LENGTH | size, size)
    if request.source == 0:
        copy_inline(packet, request, size)
    elif size != 0:
        host_dma.queue(request.source + nic.offset, u32(address_of(packet.packet)) + HEADER, size, TO_SRAM)
        nic.transfers += 1
        packet.fetch = nic.transfers
    nic.offset += size
    packet.ends = u32(nic.offset == whole)


@firmware
def head(packet: Ptr[Outgoing], request: Ptr[Request], length: u32, size: u32) -> None:
    """Fill in all but the bytes. `length` is the header's word, `size` that of the bytes."""
    packet.route = request.route
    packet.size = HEADER + size
    packet.fetch = 0
    packet.packet[0] = request.address + nic.offset
    packet.packet[1] = length
    packet.packet[2] = number_packet(request.node % NODES, 0)


@firmware
def copy_inline(packet: Ptr[Outgoing], request: Ptr[Request], size: u32) -> None:
    """The bytes stand at the end of the request's inline words; they are whole words."""
    words = size // 4
    for n in range(words):
        packet.packet[HEADER // 4 + n] = request.inline[INLINE_WORDS - words + n]


@firmware
def launch() -> bool:
    """Give the oldest packet whose bytes are there to the send DMA. False if there is none, or no
    room for it."""
    if nic.launched == nic.begun or send_dma.free() == 0:
        return False
    packet = address_of(nic.outgoing[nic.launched % PLACES])
    if not host_dma.reached(packet.fetched):
        return False
    send_dma.queue_packet(packet.route, u32(address_of(packet.packet)), packet.size)
    nic.launched += 1
    if packet.ends != 0:
        nic.counters[COMPLETED] += 1
        nic.changed = 1
    return True
