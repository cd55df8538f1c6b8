"""The common receive buffer: its parts are posted to the receive DMA in turn, and again when they
are empty (NP-25)."""

from lanai_firmware.lang import firmware

from ....nic import host_dma, receive_dma
from ..state import nic


@firmware
def post_buffers() -> None:
    """Give the receive DMA every buffer that has been emptied, in turn."""
    if receive_dma.done() != nic.looked:
        receive_dma.watch(nic.watermark)
    while nic.buffers_posted != nic.buffers_due:
        buffer = nic.buffers + ((nic.buffers_posted + nic.recv_queue) & nic.buffer_mask)
        if not host_dma.reached(buffer.release):
            return
        receive_dma.post(buffer.start, buffer.limit)
        nic.buffers_posted += 1


@firmware
def empty_buffer() -> None:
    """The oldest packet has been dealt with; its buffer may be posted again when what it queued has
    been uploaded."""
    buffer = nic.buffers + (nic.buffers_due & nic.buffer_mask)
    buffer.release = nic.hdma
    nic.buffers_due += 1
    post_buffers()
