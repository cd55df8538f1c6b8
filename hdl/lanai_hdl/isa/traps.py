"""The causes why the processor stops. TRAP_CAUSE shows the number, TRAP_PC the address of the instruction that
did not run."""

from enum import IntEnum


class TrapCause(IntEnum):
    """A cause of a trap. When several apply, the first in this order is reported."""

    NONE = 0
    FETCH_MISALIGNED = 1  # pc is not a multiple of 4
    FETCH_UNMAPPED = 2  # pc is outside the SRAM, or in the register window
    UNDEFINED = 3  # no format matches, or a rule of the format is broken
    TRANSFER_IN_SLOT = 4  # a taken transfer in the delay slot of another
    MISALIGNED = 5  # data address is not a multiple of the access size
    REGISTER_SIZE = 6  # byte or half access to the register window
    UNMAPPED = 7  # data address is outside the SRAM and the register window


CAUSES: dict[TrapCause, str] = {
    TrapCause.NONE: "running",
    TrapCause.FETCH_MISALIGNED: "instruction fetch from a misaligned address",
    TrapCause.FETCH_UNMAPPED: "instruction fetch from outside the SRAM",
    TrapCause.UNDEFINED: "undefined instruction",
    TrapCause.TRANSFER_IN_SLOT: "taken transfer in a delay slot",
    TrapCause.MISALIGNED: "misaligned access",
    TrapCause.REGISTER_SIZE: "on-chip register accessed by less than a word",
    TrapCause.UNMAPPED: "access outside the SRAM and the on-chip registers",
}
