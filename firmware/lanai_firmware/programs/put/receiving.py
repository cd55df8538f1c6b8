"""Packets become bytes in the host's memory."""

from lanai_firmware.lang import Const, address_of, firmware, u32

from ...nic import host_dma, receive_dma
from ...nic.registers import TO_HOST, VALID
from .layout import BODY, BUS, CLOSED, FLAG, HEADER, LENGTH, NODES, Counter
from .state import BUFFERS, nic

FAULTS: Const[u32] = u32(int(Counter.FAULTS))
RECEIVED: Const[u32] = u32(int(Counter.RECEIVED))
NOTHING: Const[u32] = u32(0)
KEPT: Const[u32] = u32(1)
DEALT: Const[u32] = u32(2)
PLACES: Const[u32] = u32(BUFFERS)
WHOLE: Const[u32] = u32(int(HEADER) + int(BODY))


@firmware
def post_buffers() -> None:
    """Give every buffer that is free to the receive DMA, as far as its queue goes."""
    while nic.posted - nic.stored != PLACES and receive_dma.free() != 0:
        buffer = nic.incoming[nic.posted % PLACES]
        if not host_dma.reached(buffer.stored):
            return
        start = u32(address_of(buffer.packet))
        receive_dma.post(start, start + WHOLE)
        nic.posted += 1


@firmware
def receive() -> u32:
    """Deal with the oldest packet that has arrived: DEALT. NOTHING has arrived, or it is KEPT: for the rank, or the host DMA."""
    verdict = receive_dma.verdict()
    if verdict == 0:
        return NOTHING
    heap = nic.border.heap
    if heap == 0 or host_dma.free() == 0:
        return KEPT
    buffer = nic.incoming[nic.stored % PLACES]
    flag = buffer.packet[1] & FLAG != 0
    if flag and not host_dma.reached(nic.transfers):
        return KEPT
    length = buffer.packet[1] & LENGTH
    whole = (length + 3 & ~3) + HEADER  # packets are whole words
    if verdict != VALID or not expected(buffer.packet[2]) or receive_dma.length() != whole:
        nic.counters[FAULTS] += 1
    else:
        host = buffer.packet[0]
        if buffer.packet[1] & BUS == 0:
            host += heap
        if length != 0 and heap != CLOSED and not (flag and nic.counters[FAULTS] != 0):
            host_dma.queue(host, u32(address_of(buffer.packet)) + HEADER, length, TO_HOST)
            nic.transfers += 1
        nic.counters[RECEIVED] += 1
    nic.changed = 1
    buffer.stored = nic.transfers
    nic.stored += 1
    receive_dma.release()
    return DEALT


@firmware
def expected(number: u32) -> bool:
    """Whether this is the next packet of its sender. A number that is not, is the last wrong one: the next is told from it."""
    node = number >> 16
    if node >= NODES:
        return False
    right: bool = (nic.got_from[node] ^ number) & 0xFFFF == 0
    nic.got_from[node] = number + 1
    return right
