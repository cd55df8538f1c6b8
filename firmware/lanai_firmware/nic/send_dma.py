"""The send DMA: a queue of pieces of SRAM that leave as packets, in order.

A packet is one descriptor with FIRST and LAST, or several, the first one with FIRST, the last one
with LAST. Who counts the descriptors that it queues knows by `reached` which of them have left.
"""

from lanai_firmware.lang import i32, inline, u32

from .registers import (
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


@inline
def route(word: u32) -> None:
    """The next packets go this way."""
    SEND_ROUTE.store(word)


@inline
def describe(local: u32, length: u32) -> None:
    """The next piece of a packet. `start` queues it."""
    SEND_POINTER.store(local)
    SEND_LENGTH.store(length)


@inline
def start(flags: u32) -> None:
    """Queue the piece that was described. The queue must have room."""
    SEND_START.store(flags)


@inline
def queue(local: u32, length: u32, flags: u32) -> None:
    """Queue a piece of a packet. The queue must have room."""
    describe(local, length)
    start(flags)


@inline
def queue_packet(way: u32, local: u32, length: u32) -> None:
    """Queue a packet that lies in one piece. The queue must have room."""
    route(way)
    queue(local, length, FIRST | LAST)


@inline
def free() -> u32:
    """Descriptors that the queue takes."""
    return SEND_STATUS.load() & FREE


@inline
def done() -> u32:
    """Descriptors done since the reset."""
    return SEND_DONE.load()


@inline
def reached(count: u32) -> bool:
    """Have the first `count` descriptors left?"""
    return i32(SEND_DONE.load() - count) >= 0
