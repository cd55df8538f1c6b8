"""Requests of the host become packets."""

from lanai_firmware.lang import Const, Ptr, address_of, firmware, u32

from ...nic.registers import (
    FIRST,
    FREE,
    LAST,
    SEND_DONE,
    SEND_LENGTH,
    SEND_POINTER,
    SEND_ROUTE,
    SEND_START,
    SEND_STATUS,
)
from .hostdma import FROM_HOST, done, room, transfer
from .layout import BODY, BUS, HEADER, INLINE_WORDS, LENGTH, NODES, RING, Counter, Request
from .registers import NODE
from .state import BUFFERS, Outgoing, nic

COMPLETED: Const[u32] = u32(int(Counter.COMPLETED))
WHOLE: Const[u32] = u32(int(FIRST) | int(LAST))
PLACES: Const[u32] = u32(BUFFERS)


@firmware
def begin() -> bool:
    """Begin the next packet of the oldest request. False if there is none, or no room for it."""
    request = address_of(nic.border.requests[nic.taken % RING])
    if request.number != nic.taken + 1 or nic.begun - SEND_DONE.load() == PLACES or room() == 0:
        return False
    packet = address_of(nic.outgoing[nic.begun % PLACES])
    whole = request.length & LENGTH
    size = whole - nic.offset
    if size > BODY:
        size = BODY
    head(packet, request, size)
    if request.source == 0:
        copy_inline(packet, request, size)
    elif size != 0:
        transfer(request.source + nic.offset, u32(address_of(packet.packet)) + HEADER, size, FROM_HOST)
    packet.fetched = nic.transfers
    nic.offset += size
    packet.ends = u32(0)
    if nic.offset == whole:
        packet.ends = u32(1)
        nic.offset = u32(0)
        nic.taken += 1
    nic.begun += 1
    return True


@firmware
def head(packet: Ptr[Outgoing], request: Ptr[Request], size: u32) -> None:
    """Fill in all but the bytes."""
    node = request.node % NODES
    packet.route = request.route
    packet.size = HEADER + size
    packet.packet[0] = request.address + nic.offset
    packet.packet[1] = request.length & BUS | size
    packet.packet[2] = NODE.load() << 16 | nic.sent_to[node] & 0xFFFF
    nic.sent_to[node] += 1


@firmware
def copy_inline(packet: Ptr[Outgoing], request: Ptr[Request], size: u32) -> None:
    """The bytes stand at the end of the request's inline words; they are whole words."""
    words = size // 4
    for n in range(words):
        packet.packet[HEADER // 4 + n] = request.inline[INLINE_WORDS - words + n]


@firmware
def launch() -> bool:
    """Give the oldest packet whose bytes are there to the send DMA. False if there is none, or no room for it."""
    if nic.launched == nic.begun or SEND_STATUS.load() & FREE == 0:
        return False
    packet = nic.outgoing[nic.launched % PLACES]
    if not done(packet.fetched):
        return False
    SEND_ROUTE.store(packet.route)
    SEND_POINTER.store(u32(address_of(packet.packet)))
    SEND_LENGTH.store(packet.size)
    SEND_START.store(WHOLE)
    nic.launched += 1
    if packet.ends != 0:
        nic.counters[COMPLETED] += 1
        nic.changed = u32(1)
    return True
