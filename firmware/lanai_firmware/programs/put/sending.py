"""Requests of the host become packets."""

from lanai_firmware.lang import Const, Ptr, address_of, firmware, u32

from ...nic import host_dma, send_dma
from ...nic.registers import SCRATCH1, TO_SRAM
from .layout import BODY, HEADER, INLINE_WORDS, LENGTH, NODES, RING, Counter, Request
from .state import BUFFERS, Outgoing, nic

NODE = SCRATCH1
COMPLETED: Const[u32] = u32(int(Counter.COMPLETED))
PLACES: Const[u32] = u32(BUFFERS)


@firmware
def begin() -> bool:
    """Begin the next packet of the oldest request. False if there is none, or no room for it."""
    request = address_of(nic.border.requests[nic.taken % RING])
    if request.number != nic.taken + 1 or nic.begun - send_dma.done() == PLACES or host_dma.free() == 0:
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
        host_dma.queue(request.source + nic.offset, u32(address_of(packet.packet)) + HEADER, size, TO_SRAM)
        nic.transfers += 1
    packet.fetched = nic.transfers
    nic.offset += size
    packet.ends = 0
    if nic.offset == whole:
        packet.ends = 1
        nic.offset = 0
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
    packet.packet[1] = request.length & ~LENGTH | size
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
