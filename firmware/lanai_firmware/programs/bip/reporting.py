"""The words of the NIC go to the host, and transfers that failed into them."""

from lanai_firmware.lang import Const, address_of, firmware, u32

from ...nic import host_dma, send_dma
from ...nic.registers import TO_HOST
from .common import fault, gone, is_base
from .layout import CLOSED, RING, WORDS, Word
from .state import OUT, nic

LEFT: Const[u32] = u32(int(Word.LEFT))
BYTES: Const[u32] = u32(4 * int(WORDS))
ALL_WORDS: Const[u32] = u32(int(WORDS))
BUFFERS: Const[u32] = u32(OUT)


@firmware
def begin() -> None:
    """The rank has rung: see whether it has begun, or ended. What has ended does not begin again."""
    base = nic.border.base
    if base == CLOSED:
        nic.base = CLOSED
    elif nic.base == 0 and base != 0:
        if is_base(base):
            nic.base = base
        else:
            fault()


@firmware
def note_failures() -> None:
    """Count a transfer that failed, and let the engine go on. If it was the report itself, the rank's process
    is dead: what arrives is dropped."""
    if not host_dma.stopped():
        return
    failed = host_dma.done() + 1
    host_dma.resume()
    fault()
    if failed == nic.shown_after:
        nic.base = CLOSED
    for n in range(BUFFERS):
        packet = address_of(nic.outgoing[n])
        if failed - packet.before - 1 < packet.fetched - packet.before:
            packet.failed = 1


@firmware
def report() -> None:
    """Copy the words to the host if they changed, and the last copy has arrived.

    They are queued behind the bytes of what they count.
    """
    if nic.border.base == CLOSED and nic.border.released == 0 and gone() and host_dma.reached(nic.transfers):
        nic.border.released = 1
    while nic.told != nic.taken and send_dma.reached(nic.ends[nic.told % RING]):
        nic.told += 1
    if nic.told != nic.words[LEFT]:
        nic.words[LEFT] = nic.told
        nic.changed = 1
    if nic.changed == 0 or nic.base == 0 or gone() or host_dma.free() == 0 or not host_dma.reached(nic.shown_after):
        return
    for n in range(ALL_WORDS):
        nic.shown[n] = nic.words[n]
    host_dma.queue(nic.base, u32(address_of(nic.shown)), BYTES, TO_HOST)
    nic.transfers += 1
    nic.shown_after = nic.transfers
    nic.changed = 0
