"""Requests of the host change the NIC's barrier bits; the switch's bits are reported to the host."""

from lanai_firmware.lang import Const, address_of, firmware, register, u32
from lanai_hdl.barrier.csr import BARRIER as DECLARED
from lanai_hdl.machine import REGISTERS_LOCAL

from ...nic import host_dma
from ...nic.registers import TO_HOST
from ..put.common import gone
from ..put.layout import INLINE_WORDS, KIND_AT, KIND_MASK, RING, Counter
from ..put.sending import has_request
from ..put.state import nic
from .layout import BARRIER, LOST
from .state import tree

BITS = register(u32, REGISTERS_LOCAL + DECLARED.registers.BARRIER_BITS.offset)
SEEN = register(u32, REGISTERS_LOCAL + DECLARED.registers.BARRIER_SEEN.offset)
EVENT_BARRIER: Const[u32] = u32(1 << DECLARED.events.BARRIER.bit)
COMPLETED: Const[u32] = u32(int(Counter.COMPLETED))
RECEIVED: Const[u32] = u32(int(Counter.RECEIVED))
FAULTS: Const[u32] = u32(int(Counter.FAULTS))
RESULT: Const[u32] = u32(int(INLINE_WORDS) - 2)  # an Ask ends the inline words
OPERAND: Const[u32] = u32(int(INLINE_WORDS) - 1)
WORD: Const[u32] = u32(4)


@firmware
def arrive() -> bool:
    """Take the oldest request if it is a barrier. False if it is another one, or there is none."""
    if not has_request() or nic.request.length >> KIND_AT & KIND_MASK != BARRIER:
        return False
    live = address_of(nic.border.requests[nic.taken % RING])
    inverted = live.inline[OPERAND]
    tree.result = live.inline[RESULT]
    tree.waiting |= inverted
    tree.bits ^= inverted
    BITS.store(tree.bits)
    nic.taken += 1
    nic.counters[COMPLETED] += 1
    nic.changed = 1
    return True


@firmware
def tell() -> None:
    """Write the switch's bits to the host if a barrier is passed, or the tree is lost."""
    if tree.waiting == 0 or host_dma.free() == 0:
        return
    if gone():
        tree.waiting = 0
        return
    seen = SEEN.load()
    if seen & LOST != 0:
        tree.waiting = 0
        nic.counters[FAULTS] += 1
    else:
        passed = tree.waiting & ~(seen ^ tree.bits)
        if passed == 0:
            return
        tree.waiting &= ~passed
        nic.counters[RECEIVED] += 1
    tree.word[0] = seen
    host_dma.queue(tree.result, u32(address_of(tree.word)), WORD, TO_HOST)
    nic.transfers += 1
    nic.changed = 1
