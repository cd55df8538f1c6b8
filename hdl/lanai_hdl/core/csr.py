"""Registers that tell why the processor has stopped."""

from ..csr.declare import Access, Behavior, Register, RegisterBlock

TRAP = RegisterBlock(
    "Trap",
    (
        Register("TRAP_CAUSE", 0x0A0, Access.RO, Behavior.VIEW, "Why the processor stopped; 0 while it has not."),
        Register("TRAP_PC", 0x0A4, Access.RO, Behavior.VIEW, "Address of the instruction that stopped it."),
    ),
)
