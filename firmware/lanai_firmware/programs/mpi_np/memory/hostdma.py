"""Copies between SRAM and host memory as MPI-NP queues them, counted in `nic.hdma`.

The order is what the rest builds on: a record queued after a body shows the host that the body is
there, and a count taken after queueing says when memory is free again. While the queue is full the
processor waits here. That ends, for the engine needs nothing from the processor (NP-13) but to be
resumed after an error (`failing`).
"""

from lanai_firmware.lang import firmware, inline, u32

from ....nic import host_dma
from ....nic.registers import TO_HOST, TO_SRAM
from ..state import nic
from .failing import resume


@firmware(inline=False)
def wait_for_room() -> None:
    """Wait until the queue takes a descriptor."""
    while host_dma.free() == 0:
        resume()


@inline
def make_room() -> None:
    """The queue has room for a descriptor after this."""
    if host_dma.free() == 0:
        wait_for_room()


@inline
def upload(local: u32, host: u32, length: u32) -> None:
    """SRAM to host memory."""
    make_room()
    host_dma.queue(host, local, length, TO_HOST)
    nic.hdma += 1


@inline
def download(local: u32, host: u32, length: u32) -> None:
    """Host memory to SRAM."""
    make_room()
    host_dma.queue(host, local, length, TO_SRAM)
    nic.hdma += 1


@inline
def bring(local: u32, host: u32, length: u32) -> None:
    """Host memory to SRAM, part of a body that is about to be sent: the send DMA may chase it."""
    make_room()
    host_dma.queue(host, local, length, nic.feed)
    nic.hdma += 1


@firmware
def finish(count: u32) -> None:
    """Wait until the first `count` descriptors are done."""
    while not host_dma.reached(count):
        if host_dma.stopped():
            resume()
