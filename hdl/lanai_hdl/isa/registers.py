"""The register file: 32 registers of 32 bits, three of them special, and a flag word outside it."""

from enum import IntEnum


class Reg(IntEnum):
    """Registers that have a role. `R3`, `R12`.. and the rest are plain ints in fields."""

    ZERO = 0  # reads 0, writes vanish: compares write it
    ONES = 1  # reads 0xFFFFFFFF, writes vanish
    PC = 2
    SP = 4
    FP = 5
    ARG1 = 6
    ARG2 = 7
    RV = 8  # result; upper word of a 64-bit one
    RV2 = 9  # lower word of a 64-bit result
    RR1 = 10  # never touched by compiled code
    RR2 = 11
    RCA = 15  # return address on its way to the stack
    ARG3 = 18
    ARG4 = 19


REGISTER_COUNT = 32

# Registers passed to a function that takes its arguments in registers, in order.
ARGUMENTS = (Reg.ARG1, Reg.ARG2, Reg.ARG3, Reg.ARG4)

# What the assembler prints. LLVM uses these names and no others for these seven.
NAMES: tuple[str, ...] = tuple(
    {Reg.PC: "pc", Reg.SP: "sp", Reg.FP: "fp", Reg.RV: "rv", Reg.RR1: "rr1", Reg.RR2: "rr2", Reg.RCA: "rca"}.get(
        i, f"r{i}"
    )
    for i in range(REGISTER_COUNT)
)

ROLES: dict[int, str] = {
    Reg.ZERO: "reads 0; writes vanish",
    Reg.ONES: "reads 0xFFFFFFFF; writes vanish",
    Reg.PC: "program counter; reads as the reader's own address, a write is a transfer",
    Reg.SP: "stack pointer, grows down",
    Reg.FP: "frame pointer",
    Reg.ARG1: "first argument",
    Reg.ARG2: "second argument",
    Reg.ARG3: "third argument",
    Reg.ARG4: "fourth argument",
    Reg.RV: "result, or its upper word",
    Reg.RV2: "lower word of a 64-bit result",
    Reg.RR1: "reserved: compiled code never touches it",
    Reg.RR2: "reserved: compiled code never touches it",
    Reg.RCA: "return address, on its way to the stack",
}


def role(register: int) -> str:
    """Return the use of a register in compiled code. All but sp and fp may change over a call."""
    return ROLES.get(register, "general")
