"""Registers, events and counters of the barrier block."""

from ..csr.declare import Access, Behavior, Counter, EventBit, Register, RegisterBlock

BITS = 16  # a NIC
LOST = 1 << BITS  # of BARRIER_SEEN

BARRIER = RegisterBlock(
    "Barrier tree",
    registers=(
        Register("BARRIER_BITS", 0x3C0, Access.BOTH, Behavior.STORAGE, "Bits 0 to 15: this NIC's bits, one a barrier."),
        Register(
            "BARRIER_SEEN",
            0x3C4,
            Access.RO,
            Behavior.VIEW,
            "Bits 0 to 15: what the switch said last. A bit rises when it is set at all NICs, and falls when it is "
            "clear at all. Bit 16: the tree is lost, and no bit changes any more.",
        ),
    ),
    events=(EventBit("BARRIER", 14, "BARRIER_SEEN has changed"),),
    counters=(
        Counter("BARRIER_RESENT", 0x3C8, "state of the bits sent again: no acknowledgement came"),
        Counter("BARRIER_DAMAGED", 0x3CC, "control flit of the barrier tree dropped: damaged"),
    ),
)
