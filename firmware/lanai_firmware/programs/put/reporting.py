"""The counters of the NIC go to the host."""

from lanai_firmware.lang import Const, address_of, firmware, u32

from ...nic import host_dma
from ...nic.registers import TO_HOST
from .layout import CLOSED, COUNTERS, Counter
from .state import nic

FAULTS: Const[u32] = u32(int(Counter.FAULTS))
SUM: Const[u32] = u32(int(Counter.SUM))
BYTES: Const[u32] = u32(4 * int(COUNTERS))


@firmware
def note_failures() -> None:
    """Count a transfer that failed, and let the engine go on."""
    if host_dma.stopped():
        host_dma.resume()
        nic.counters[FAULTS] += 1
        nic.changed = 1


@firmware
def report() -> None:
    """Copy the counters to the heap if they changed, and the last copy has arrived.

    They are queued behind the packets that they count, so the host finds the bytes when it finds the count.
    """
    heap = nic.border.heap
    if heap == CLOSED and nic.border.released == 0 and host_dma.reached(nic.transfers):
        nic.border.released = 1
    if nic.changed == 0 or heap == 0 or heap == CLOSED or host_dma.free() == 0 or not host_dma.reached(nic.shown_after):
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
