"""Requests of the host become packets: puts (T3-01), and questions about remote memory.

The rank may change a request at any time. So `has_request` copies its words to `nic.request`, and all
others look there. The inline words are read once too, into the packet.
"""

from lanai_firmware.lang import Const, Ptr, address_of, barrier, firmware, sizeof, u32

from ...nic import host_dma, send_dma
from ...nic.registers import TO_SRAM
from .common import number_packet, room_to_begin
from .layout import (
    ASKED,
    BODY,
    HEADER,
    INLINE_WORDS,
    KIND_AT,
    KIND_MASK,
    LENGTH,
    OUTSTANDING,
    RING,
    Ask,
    Counter,
    Kind,
)
from .state import BUFFERS, Outgoing, Taken, nic

FAULTS: Const[u32] = u32(int(Counter.FAULTS))
COMPLETED: Const[u32] = u32(int(Counter.COMPLETED))
ANSWERED: Const[u32] = u32(int(Counter.ANSWERED))
PUT: Const[u32] = u32(int(Kind.PUT))
FENCE: Const[u32] = u32(int(Kind.FENCE))
ANSWER: Const[u32] = u32(int(Kind.ANSWER))
ASK: Const[u32] = u32(int(sizeof(Ask)))
INLINE: Const[u32] = u32(4 * int(INLINE_WORDS))
PLACES: Const[u32] = u32(BUFFERS)


@firmware
def has_request() -> bool:
    """Is there a request? It is copied at each look until its first packet is begun."""
    live = address_of(nic.border.requests[nic.taken % RING])
    if live.number != nic.taken + 1:
        return False
    barrier()  # most looks end here: the compiler must not read more before
    if nic.offset == 0:
        nic.request.node = live.node
        nic.request.address = live.address
        nic.request.length = live.length
        nic.request.source = live.source
    return True


@firmware
def begin() -> bool:
    """Begin the next packet of the oldest request. False if there is none, or it must wait."""
    if not has_request() or not room_to_begin():
        return False
    request = address_of(nic.request)
    kind = request.length >> KIND_AT & KIND_MASK
    unanswered = nic.asked - nic.counters[ANSWERED]
    if not is_sound(request, kind):
        return refuse(kind, unanswered)
    if nic.fencing != 0:
        if unanswered != 0:
            return False
        nic.fencing = 0
    packet = address_of(nic.outgoing[nic.begun % PLACES])
    if kind == PUT:
        begin_put(packet, request)
    else:
        if unanswered >= OUTSTANDING:
            return False
        head(packet, request, request.length, ASK)
        copy_inline(packet, ASK)
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
def is_sound(request: Ptr[Taken], kind: u32) -> bool:
    """Does it name a node of the job, a kind that hosts may ask for, and no more bytes than the request
    or the answer's packet holds?"""
    if request.node >= nic.config.nodes or request.length & ~ASKED != 0:
        return False
    size = request.length & LENGTH
    if kind == PUT:
        return request.source != 0 or (size <= INLINE and size & 3 == 0)
    return kind < ANSWER and size <= BODY


@firmware
def refuse(kind: u32, unanswered: u32) -> bool:
    """Count a request as a fault and as done, a question as answered too, once those before it are.
    False: it must wait for them."""
    if unanswered != 0 or nic.launched != nic.begun:
        return False
    nic.taken += 1
    nic.counters[FAULTS] += 1
    nic.counters[COMPLETED] += 1
    if kind != PUT:
        nic.asked += 1
        nic.counters[ANSWERED] += 1
    nic.changed = 1
    return True


@firmware
def begin_put(packet: Ptr[Outgoing], request: Ptr[Taken]) -> None:
    """The next packet of a put, and the transfer of its bytes."""
    whole = request.length & LENGTH
    size = whole - nic.offset
    if size > BODY:
        size = BODY
    head(packet, request, request.length & ~LENGTH | size, size)
    if request.source == 0:
        copy_inline(packet, size)
    elif size != 0:
        host_dma.queue(request.source + nic.offset, u32(address_of(packet.packet)) + HEADER, size, TO_SRAM)
        nic.transfers += 1
        packet.fetch = nic.transfers
    nic.offset += size
    packet.ends = u32(nic.offset == whole)


@firmware
def head(packet: Ptr[Outgoing], request: Ptr[Taken], length: u32, size: u32) -> None:
    """Fill in all but the bytes. `length` is the header's word, `size` that of the bytes."""
    packet.route = nic.config.routes[request.node]
    packet.size = HEADER + size
    packet.fetch = 0
    packet.packet[0] = request.address + nic.offset
    packet.packet[1] = length
    packet.packet[2] = number_packet(request.node, 0)


@firmware
def copy_inline(packet: Ptr[Outgoing], size: u32) -> None:
    """The bytes stand at the end of the request's inline words; they are whole words."""
    live = address_of(nic.border.requests[nic.taken % RING])
    words = size // 4
    for n in range(words):
        packet.packet[HEADER // 4 + n] = live.inline[INLINE_WORDS - words + n]


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
