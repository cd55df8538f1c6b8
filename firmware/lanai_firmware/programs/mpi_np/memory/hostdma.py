"""The host DMA as a queue of copies between SRAM and host memory, done in order.

The order is what the rest builds on: a record queued after a body tells the host that the body is there, and a count taken
after queueing says when memory is free again. Whoever finds it full waits here, which
cannot last, as the engine needs nothing from the processor (NP-13) but to be resumed after an error (`failing`).
"""

from lanai_firmware.lang import firmware, i32, inline, u32

from ....nic.registers import (
    FREE,
    HDMA_DONE,
    HDMA_HOST,
    HDMA_LENGTH,
    HDMA_LOCAL,
    HDMA_START,
    HDMA_STATUS,
    STOPPED,
    TO_HOST,
    TO_SRAM,
)
from ..state import nic
from .failing import resume


@firmware(inline=False)
def wait_for_room() -> None:
    """Wait until the queue takes a descriptor."""
    while (HDMA_STATUS.load() & FREE) == 0:
        resume()


@inline
def upload(local: u32, host: u32, length: u32) -> None:
    """SRAM to host memory."""
    if (HDMA_STATUS.load() & FREE) == 0:
        wait_for_room()
    HDMA_HOST.store(host)
    HDMA_LOCAL.store(local)
    HDMA_LENGTH.store(length)
    HDMA_START.store(TO_HOST)
    nic.hdma = nic.hdma + 1


@inline
def download(local: u32, host: u32, length: u32) -> None:
    """Host memory to SRAM."""
    if (HDMA_STATUS.load() & FREE) == 0:
        wait_for_room()
    HDMA_HOST.store(host)
    HDMA_LOCAL.store(local)
    HDMA_LENGTH.store(length)
    HDMA_START.store(TO_SRAM)
    nic.hdma = nic.hdma + 1


@inline
def bring(local: u32, host: u32, length: u32) -> None:
    """Host memory to SRAM, part of a body that is about to be sent: the send DMA may chase it."""
    if (HDMA_STATUS.load() & FREE) == 0:
        wait_for_room()
    HDMA_HOST.store(host)
    HDMA_LOCAL.store(local)
    HDMA_LENGTH.store(length)
    HDMA_START.store(nic.feed)
    nic.hdma = nic.hdma + 1


@inline
def reached(count: u32) -> bool:
    """Have the first `count` descriptors been done?"""
    return i32(HDMA_DONE.load() - count) >= 0


@inline
def room() -> u32:
    """Descriptors that the queue takes without waiting."""
    return HDMA_STATUS.load() & FREE


@firmware
def finish(count: u32) -> None:
    """Wait until the first `count` descriptors are done."""
    while not reached(count):
        if (HDMA_STATUS.load() & STOPPED) != 0:
            resume()
