"""Packets become bytes in the host's memory."""

from lanai_firmware.lang import Const, Ptr, address_of, firmware, sizeof, u32

from ...nic import host_dma, receive_dma
from ...nic.registers import SCRATCH2, TO_HOST, VALID
from .answering import keep
from .common import gone
from .layout import BODY, BUS, FLAG, HEADER, KIND_AT, KIND_MASK, LENGTH, NODES, SPOILT, Ask, Counter, Kind
from .state import BUFFERS, Incoming, nic

FAULTS: Const[u32] = u32(int(Counter.FAULTS))
RECEIVED: Const[u32] = u32(int(Counter.RECEIVED))
ANSWERED: Const[u32] = u32(int(Counter.ANSWERED))
PUT: Const[u32] = u32(int(Kind.PUT))
ANSWER: Const[u32] = u32(int(Kind.ANSWER))
ASK: Const[u32] = u32(int(sizeof(Ask)))
NOTHING: Const[u32] = u32(0)
KEPT: Const[u32] = u32(1)
DEALT: Const[u32] = u32(2)
PLACES: Const[u32] = u32(BUFFERS)
SEQUENCES: Const[u32] = u32(2 * int(NODES))
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
    """Deal with the oldest packet that has arrived: DEALT. NOTHING has arrived, or it is KEPT: for
    the rank, or the host DMA."""
    verdict = receive_dma.verdict()
    if verdict == 0:
        return NOTHING
    if nic.border.heap == 0 or host_dma.free() == 0:
        return KEPT
    buffer = address_of(nic.incoming[nic.stored % PLACES])
    flag = buffer.packet[1] & FLAG != 0
    if flag and not host_dma.reached(nic.transfers):
        return KEPT
    take(buffer, verdict, receive_dma.length())
    nic.changed = 1
    buffer.stored = nic.transfers
    nic.stored += 1
    receive_dma.release()
    return DEALT


@firmware
def take(buffer: Ptr[Incoming], verdict: u32, size: u32) -> None:
    """Store a packet's bytes, or remember its question. One that is not sound counts as a fault, and
    so does an answer that no question waits for."""
    length = buffer.packet[1] & LENGTH
    kind = buffer.packet[1] >> KIND_AT & KIND_MASK
    question = kind != PUT and kind != ANSWER
    whole = HEADER + (ASK if question else length + 3 & ~3)  # packets are whole words
    sound = verdict == VALID and size == whole and kind <= ANSWER
    if not sound or not expected(buffer.packet[2]) or (kind == ANSWER and nic.asked == nic.counters[ANSWERED]):
        nic.counters[FAULTS] += 1
        return
    if question:
        keep(address_of(buffer.packet))
        return
    if buffer.packet[1] & SPOILT != 0:
        nic.counters[FAULTS] += 1
    else:
        store(buffer, length)
    nic.counters[ANSWERED if kind == ANSWER else RECEIVED] += 1


@firmware
def store(buffer: Ptr[Incoming], length: u32) -> None:
    """Write a packet's bytes to the host."""
    flag = buffer.packet[1] & FLAG != 0
    if length == 0 or gone() or (flag and nic.counters[FAULTS] != 0):
        return
    host = buffer.packet[0]
    if buffer.packet[1] & BUS == 0:
        host += nic.border.heap
    host_dma.queue(host, u32(address_of(buffer.packet)) + HEADER, length, TO_HOST)
    nic.transfers += 1


@firmware
def expected(number: u32) -> bool:
    """Is this the next packet of its sender? If it is not, the one behind it is the next, so that each
    missing packet counts once.

    Where packets may overtake each other (T3-24), they are only counted.
    """
    sequence = number >> 16
    if sequence >= SEQUENCES:
        return False
    if SCRATCH2.load() != 0:
        nic.got_from[sequence] += 1
        return True
    right: bool = (nic.got_from[sequence] ^ number) & 0xFFFF == 0
    nic.got_from[sequence] = number + 1
    return right
