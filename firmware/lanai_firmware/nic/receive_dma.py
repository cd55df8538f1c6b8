"""The receive DMA: it fills the buffers posted to it, a packet each, in order.

The oldest packet that is whole can be looked at, until it is released. One that is still arriving
can be watched: once so many of its bytes are there, there is an event.
"""

from lanai_firmware.lang import inline, u32

from .registers import (
    BUSY,
    CHECKED,
    FREE,
    RECV_BUFFER,
    RECV_CURRENT,
    RECV_DONE,
    RECV_LENGTH,
    RECV_LIMIT,
    RECV_POINTER,
    RECV_STATUS,
    RECV_VERDICT,
    RECV_WATERMARK,
)


@inline
def post(start: u32, limit: u32) -> None:
    """Offer a buffer, from `start` to below `limit`. The queue must have room."""
    RECV_POINTER.store(start)
    RECV_LIMIT.store(limit)


@inline
def free() -> u32:
    """Buffers that the queue takes."""
    return RECV_STATUS.load() & FREE


@inline
def verdict() -> u32:
    """Return the hardware's verdict of the oldest packet: VALID, and its flaws. 0 if there is none."""
    return RECV_VERDICT.load()


@inline
def packet() -> u32:
    """Return the place where the oldest packet begins."""
    return RECV_BUFFER.load()


@inline
def length() -> u32:
    """Its bytes."""
    return RECV_LENGTH.load()


@inline
def release() -> None:
    """The oldest packet has been looked at. Its buffer is no longer posted."""
    RECV_VERDICT.store(1)


@inline
def done() -> u32:
    """Packets that were whole, since the reset."""
    return RECV_DONE.load()


@inline
def watch(size: u32) -> None:
    """Announce packets of which `size` bytes have arrived; 0: announce none."""
    RECV_WATERMARK.store(size)


@inline
def arriving() -> u32:
    """Return the place where the packet that is arriving begins."""
    return RECV_CURRENT.load()


@inline
def header_arrived() -> bool:
    """Is a packet arriving whose header the hardware has checked?"""
    return (RECV_STATUS.load() & (BUSY | CHECKED)) == BUSY | CHECKED
