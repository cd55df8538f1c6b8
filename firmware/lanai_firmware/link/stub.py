"""The few words that are not firmware: reset, the end, and the place where traps happen.

reset:  sp and fp at the top of the stack; call main; its result to `__result`; 1 to `__done`
halt:   a branch to itself
trap:   an undefined instruction: the processor stops, cause and pc visible
"""

from dataclasses import dataclass

from lanai_hdl.isa import NOP, Condition, Reg, encode
from lanai_hdl.isa.formats import BR, RI, RM, SLI, SLS
from lanai_hdl.isa.operations import AluOp

TRAP_WORD = 0xD000_0007  # SPECIAL with an operation that is not defined
RESULT, DONE = "__result", "__done"
RETURN_AT = 0x10  # from the instruction that reads pc to the one after the call's slot
HALT_INDEX, TRAP_INDEX, WORDS = 9, 11, 12


@dataclass(frozen=True)
class Stub:
    words: tuple[int, ...]
    halt: int  # reached when main has returned and `__result` is written
    trap: int


def place_stub(base: int, main: int, stack_top: int, result: int, done: int) -> Stub:
    """The stub at `base`. Addresses are absolute."""
    halt = base + 4 * HALT_INDEX
    words = (
        encode(SLI, rd=Reg.SP, imm=stack_top),
        encode(SLI, rd=Reg.FP, imm=stack_top),
        encode(RI, op=AluOp.ADD, rd=Reg.RCA, rs1=Reg.PC, imm=RETURN_AT),
        encode(RM, store=1, rd=Reg.RCA, rs1=Reg.SP, pre=1, update=1, imm=-4),
        encode(BR, cond=Condition.T, target=main),
        NOP,
        encode(SLS, rd=Reg.RV, store=1, address=result),
        encode(SLI, rd=Reg.RV, imm=1),
        encode(SLS, rd=Reg.RV, store=1, address=done),
        encode(BR, cond=Condition.T, target=halt),
        NOP,
        TRAP_WORD,
    )
    return Stub(words, halt, base + 4 * TRAP_INDEX)
