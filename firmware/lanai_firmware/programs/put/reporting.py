"""The counters of the NIC go to the host, and transfers that failed into the counters."""

from lanai_firmware.lang import Const, address_of, firmware, u32

from ...nic import host_dma
from ...nic.registers import TO_HOST
from .common import gone
from .layout import CLOSED, COUNTERS, SPOILT, Counter
from .receiving import post_buffers
from .state import BUFFERS, nic

FAULTS: Const[u32] = u32(int(Counter.FAULTS))
SUM: Const[u32] = u32(int(Counter.SUM))
BYTES: Const[u32] = u32(4 * int(COUNTERS))


@firmware
def note_failures() -> None:
    """Count a transfer that failed, note the rank that it was for, and let the engine go on.

    If it was the report itself, the rank's process is dead: nothing is reported any more, and what
    arrives is dropped.
    """
    if not host_dma.stopped():
        return
    failed = host_dma.done() + 1
    host_dma.resume()
    if failed == nic.shown_after:
        nic.unreachable = 1
        return
    if failed == nic.fetched_word:
        nic.word_failed = 1
    for n in range(BUFFERS):
        if nic.outgoing[n].fetch == failed:
            nic.outgoing[n].packet[1] |= SPOILT
    nic.counters[FAULTS] += 1
    nic.changed = 1


@firmware
def report() -> None:
    """Copy the counters to the heap if they changed, and the last copy has arrived.

    They are queued behind the packets that they count, so the host finds the bytes when it finds
    the count.
    """
    heap = nic.border.heap
    if heap == CLOSED and nic.border.released == 0 and host_dma.reached(nic.transfers):
        nic.border.released = 1
    if nic.changed == 0 or heap == 0:
        return
    if gone():  # a turn may have dropped packets of all buffers; no end of a transfer would show that they are free
        post_buffers()
        return
    if host_dma.free() == 0 or not host_dma.reached(nic.shown_after):
        return
    total = u32(0)
    for n in range(SUM):
        nic.shown[n] = nic.counters[n]
        total += nic.counters[n]
    nic.shown[SUM] = total
    host_dma.queue(heap, u32(address_of(nic.shown)), BYTES, TO_HOST)
    nic.transfers += 1
    nic.shown_after = nic.transfers
    nic.changed = 0
