"""The host DMA: a queue of copies between SRAM and host memory, done in order.

A descriptor's flags are TO_SRAM or TO_HOST, with FEED or FOLLOW. A copy that failed stops the
engine in front of the next one, and does not count as done until `resume`. Who counts the
descriptors that it queues knows by `reached` which of them are done.
"""

from lanai_firmware.lang import firmware, i32, inline, u32

from .registers import (
    EVENT_HDMA_ERROR,
    FREE,
    HDMA_DONE,
    HDMA_HOST,
    HDMA_LENGTH,
    HDMA_LOCAL,
    HDMA_POINTER,
    HDMA_START,
    HDMA_STATUS,
    ISR,
    STOPPED,
)


@inline
def queue(host: u32, local: u32, length: u32, flags: u32) -> None:
    """Queue a copy of `length` bytes. The queue must have room."""
    HDMA_HOST.store(host)
    HDMA_LOCAL.store(local)
    HDMA_LENGTH.store(length)
    HDMA_START.store(flags)


@inline
def status() -> u32:
    """STOPPED, and in FREE the descriptors that the queue takes, in one access."""
    return HDMA_STATUS.load()


@inline
def free() -> u32:
    """Descriptors that the queue takes without waiting."""
    return HDMA_STATUS.load() & FREE


@inline
def stopped() -> bool:
    """Does the engine stand in front of a copy that failed?"""
    return (HDMA_STATUS.load() & STOPPED) != 0


@inline
def done() -> u32:
    """Descriptors done since the reset."""
    return HDMA_DONE.load()


@inline
def reached(count: u32) -> bool:
    """Have the first `count` descriptors been done?"""
    return i32(HDMA_DONE.load() - count) >= 0


@inline
def last_byte() -> u32:
    """SRAM address of the last byte that was moved."""
    return HDMA_POINTER.load() - 1


@inline
def resume() -> None:
    """The copy that failed counts as done; the engine goes on."""
    ISR.store(EVENT_HDMA_ERROR)


@firmware
def transfer(host: u32, local: u32, length: u32, flags: u32) -> bool:
    """A copy, waited for. No other may be under way. False if it failed."""
    before = done()
    queue(host, local, length, flags)
    good = True
    while done() == before:
        if stopped():
            resume()
            good = False
    return good
