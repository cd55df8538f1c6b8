"""Packets become bytes in the memory of the rank."""

from lanai_firmware.lang import Const, Ptr, address_of, barrier, firmware, u32

from ...nic import host_dma, receive_dma
from ...nic.registers import TO_HOST, VALID
from .common import fault, gone, is_own, is_part, page_of, word_at
from .layout import (
    CHANNEL_SHIFT,
    HEAD,
    LANDED_AT,
    LENGTH,
    MARKED,
    NODE,
    NODE_AT,
    NUMBER,
    NUMBER_AT,
    PAGE,
    PAGES,
    PART,
    RINGS_AT,
    SHORT,
    SLOT,
    SLOT_SHIFT,
    SLOTS,
    Landing,
)
from .state import IN, Arrival, nic

NOTHING: Const[u32] = u32(0)
KEPT: Const[u32] = u32(1)
DEALT: Const[u32] = u32(2)
BUFFERS: Const[u32] = u32(IN)
WHOLE: Const[u32] = u32(int(HEAD) + int(PART) + 4)
COPIES: Const[u32] = u32(3)  # transfers that a packet needs at most: two pages, and the count of landings
SPACE: Const[u32] = u32(int(PAGES) * int(PAGE))


@firmware
def post_buffers() -> None:
    """Give every buffer that is free to the receive DMA, as far as its queue goes."""
    while nic.posted - nic.emptied != BUFFERS and receive_dma.free() != 0:
        buffer = address_of(nic.incoming[nic.posted % BUFFERS])
        if not host_dma.reached(buffer.stored):
            return
        start = u32(address_of(buffer.packet))
        receive_dma.post(start, start + WHOLE)
        nic.posted += 1


@firmware
def receive() -> u32:
    """Deal with the oldest packet that has arrived: DEALT. NOTHING has arrived, or it is KEPT: for
    the rank, or the host DMA."""
    verdict = receive_dma.verdict()
    if verdict == 0:
        return NOTHING
    if nic.base == 0 or host_dma.free() < COPIES:
        return KEPT
    size = receive_dma.length()
    if verdict == VALID and size > 4 and size & 3 == 0:
        take(receive_dma.packet(), size - 4)
    else:
        fault()
    nic.incoming[nic.emptied % BUFFERS].stored = nic.transfers
    nic.emptied += 1
    receive_dma.release()
    return DEALT


@firmware
def take(start: u32, size: u32) -> None:
    """Store a packet of `size` bytes and its mark. If it is not sound, or not the next one of its node, it
    is a fault. The one behind it is the next then, so that each missing packet counts once."""
    mark = word_at(start + size)[0]
    node = mark >> NODE_AT & NODE
    length = mark & LENGTH
    if mark & MARKED == 0 or node >= nic.config.nodes:
        fault()
        return
    number = mark >> NUMBER_AT
    next_one = (nic.got[node] ^ number) & NUMBER == 0
    nic.got[node] = number + 1
    if not next_one:
        fault()
    elif is_part(mark):
        if size != HEAD + (length + 3 & ~3) or length == 0 or length > PART:
            fault()
        elif not gone():
            store_part(node, start + HEAD, length)
    elif size != length or size > SHORT:
        fault()
    elif not gone():
        store_short(node, start, size + 4)


@firmware
def store_short(node: u32, start: u32, size: u32) -> None:
    """Write a packet with its mark to the next place of the channel's ring."""
    place = nic.places[node]
    nic.places[node] = place + 1 & SLOTS - 1
    end = nic.base + (RINGS_AT + SLOT) + (node << CHANNEL_SHIFT | place << SLOT_SHIFT)
    host_dma.queue(end - size, start, size, TO_HOST)
    nic.transfers += 1


@firmware
def store_part(node: u32, start: u32, length: u32) -> None:
    """Write bytes to the channel's landing. It is complete with its last byte."""
    landing = address_of(nic.border.landings[node])
    arrival = address_of(nic.arrivals[node])
    if arrival.left == 0 and not open_landing(landing, arrival, nic.landed[node] + 1):
        fault()
        return
    if length > arrival.left:
        fault()
        return
    at = arrival.at
    run = PAGE - (at & PAGE - 1)
    if run >= length:
        store_run(landing.pages[at >> 12], at, start, length)
    else:
        store_run(landing.pages[at >> 12], at, start, run)
        store_run(landing.pages[(at >> 12) + 1], 0, start + run, length - run)
    arrival.at = at + length
    arrival.left -= length
    if arrival.left == 0:
        nic.landed[node] += 1
        host_dma.queue(nic.base + LANDED_AT + 4 * node, u32(address_of(nic.landed) + node), 4, TO_HOST)
        nic.transfers += 1


@firmware
def open_landing(landing: Ptr[Landing], arrival: Ptr[Arrival], number: u32) -> bool:
    """Begin with a landing. False if the rank has described none, or one that there cannot be."""
    if landing.number != number:
        return False
    barrier()
    first = landing.first
    length = landing.length
    if first >= PAGE or length > SPACE - first:
        return False
    arrival.at = first
    arrival.left = length
    return True


@firmware
def store_run(page: u32, at: u32, start: u32, length: u32) -> None:
    """Write bytes to a page that the rank has named."""
    if not is_own(page):
        fault()
        return
    host_dma.queue(page_of(page, at), start, length, TO_HOST)
    nic.transfers += 1
