"""The counters of the NIC go to the host."""

from lanai_firmware.lang import Const, address_of, firmware, u32

from .hostdma import TO_HOST, done, room, transfer
from .layout import COUNTERS, Counter
from .registers import ERRORS
from .state import nic

FAULTS: Const[u32] = u32(int(Counter.FAULTS))
SUM: Const[u32] = u32(int(Counter.SUM))
BYTES: Const[u32] = u32(4 * int(COUNTERS))


@firmware
def report() -> None:
    """Copy the counters to the heap if they changed, and the last copy has arrived.

    They are queued behind the packets that they count, so the host finds the bytes when it finds the count.
    """
    if ERRORS.load() != nic.errors:
        nic.errors = ERRORS.load()
        nic.changed = u32(1)
    if nic.border.heap == 0 and nic.border.still == 0 and done(nic.transfers):
        nic.border.still = u32(1)
    if nic.changed == 0 or nic.border.heap == 0 or room() == 0 or not done(nic.shown_after):
        return
    total = u32(0)
    for n in range(SUM):
        nic.shown[n] = nic.counters[n]
        total += nic.counters[n]
    nic.shown[FAULTS] += nic.errors
    nic.shown[SUM] = total + nic.errors
    transfer(nic.border.heap, u32(address_of(nic.shown)), BYTES, TO_HOST)
    nic.shown_after = nic.transfers
    nic.changed = u32(0)
