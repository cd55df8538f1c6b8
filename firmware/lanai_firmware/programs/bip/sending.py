"""Requests of the rank become packets."""

from lanai_firmware.lang import Const, Ptr, address_of, barrier, firmware, u32

from ...nic import host_dma, send_dma
from ...nic.registers import FIRST, LAST, TO_SRAM
from .common import fault, is_own, mark_for, page_of, word_at
from .layout import HEAD, IS_PART, PAGE, PAGES, PART, RING, SHORT, Request, Type, Word
from .state import MARKS, OUT, Outgoing, nic

LONGS: Const[u32] = u32(int(Word.LONGS))
BUFFERS: Const[u32] = u32(OUT)
MARK_PLACES: Const[u32] = u32(MARKS)
PIECES: Const[u32] = u32(2)  # descriptors of a short packet, and transfers of a part at most
SPACE: Const[u32] = u32((int(PAGES) + 1) * int(PAGE))
HEAD_WORD: Const[u32] = u32(int(Type.PART) << 24)


@firmware
def send_short() -> bool:
    """Send the oldest request, straight from its place. False if there is none, or the send DMA is
    busy."""
    request = address_of(nic.border.requests[nic.taken % RING])
    if request.number != nic.taken + 1 or send_dma.free() < PIECES:
        return False
    barrier()
    what = request.what
    node = what >> 16
    size = what & 0xFFFF
    if node >= nic.config.nodes or size == 0 or size > SHORT or size & 3 != 0:
        fault()
    else:
        queue_short(request, node, size)
    nic.ends[nic.taken % RING] = nic.described
    nic.taken += 1
    return True


@firmware
def queue_short(request: Ptr[Request], node: u32, size: u32) -> None:
    """Give a short packet to the send DMA. The mark has a place where no rank writes."""
    place = nic.shorts % MARK_PLACES
    nic.shorts += 1
    send_dma.route(nic.config.routes[node])
    send_dma.queue(u32(address_of(request.body)) + (SHORT - size), size, FIRST)
    nic.marks[place] = mark_for(node, size, 0)
    send_dma.queue(u32(address_of(nic.marks) + place), 4, LAST)
    nic.described += 2


@firmware
def begin_long() -> bool:
    """Begin with the long send that the rank has described, if it has. One that there cannot be is a fault,
    and counts as taken."""
    long = address_of(nic.border.long)
    if long.number != nic.words[LONGS] + 1 or nic.begun != nic.launched:
        return False
    barrier()
    nic.node = long.node
    nic.at = long.first
    nic.packet = long.packet
    length = long.length
    packet_is_sound = nic.packet != 0 and nic.packet <= PART and nic.packet & 3 == 0
    if nic.node >= nic.config.nodes or nic.at >= PAGE or length > SPACE - nic.at or length == 0 or not packet_is_sound:
        fault()
        nic.words[LONGS] += 1
        return False
    nic.left = length
    return True


@firmware
def fetch() -> bool:
    """Ask for the bytes of the next part of the long send. False if there is none, or it must wait."""
    if nic.left == 0 and not begin_long():
        return False
    packet = address_of(nic.outgoing[nic.begun % BUFFERS])
    if nic.begun - nic.launched == BUFFERS or not send_dma.reached(packet.gone) or host_dma.free() < PIECES:
        return False
    length = nic.packet
    if length > nic.left:
        length = nic.left
    packet.before = nic.transfers
    packet.failed = 0
    packet.length = length
    start = u32(address_of(packet.packet)) + HEAD
    at = nic.at
    run = PAGE - (at & PAGE - 1)
    if run >= length:
        fetch_run(packet, at, start, length)
    else:
        fetch_run(packet, at, start, run)
        fetch_run(packet, at + run, start + run, length - run)
    packet.fetched = nic.transfers
    nic.at = at + length
    nic.left -= length
    nic.begun += 1
    return True


@firmware
def fetch_run(packet: Ptr[Outgoing], at: u32, start: u32, length: u32) -> None:
    """Ask for bytes of one page, if it is of this rank."""
    page = nic.border.long.pages[at >> 12]
    if not is_own(page):
        fault()
        packet.failed = 1
        return
    host_dma.queue(page_of(page, at), start, length, TO_SRAM)
    nic.transfers += 1


@firmware
def launch() -> bool:
    """Give the oldest part whose bytes are there to the send DMA. False if there is none, or no room for it.

    One whose bytes could not be read does not leave: the receiver will miss its number.
    """
    if nic.launched == nic.begun or send_dma.free() == 0:
        return False
    packet = address_of(nic.outgoing[nic.launched % BUFFERS])
    if not host_dma.reached(packet.fetched):
        return False
    mark = mark_for(nic.node, packet.length, IS_PART)
    if packet.failed == 0:
        size = HEAD + (packet.length + 3 & ~3)
        start = u32(address_of(packet.packet))
        word_at(start + size)[0] = mark
        send_dma.queue_packet(nic.config.routes[nic.node], start, size + 4)
        nic.described += 1
        packet.gone = nic.described
    nic.launched += 1
    if nic.launched == nic.begun and nic.left == 0:
        nic.words[LONGS] += 1
        nic.changed = 1
    return True


@firmware
def write_heads() -> None:
    """The heads of all parts are the same."""
    for n in range(BUFFERS):
        nic.outgoing[n].packet[0] = HEAD_WORD | nic.config.node
        nic.outgoing[n].packet[1] = nic.config.node
