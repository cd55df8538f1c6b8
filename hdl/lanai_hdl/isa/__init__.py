"""The instruction set, declared once.

Gateware decoder, golden model, disassembler, random program generator, linker and the reference
page read these modules; nothing restates them. All is plain Python data except `gates`, which turns
the data into Amaranth expressions.

* `registers`: the register file and each register's role.
* `operations`: enumerations of what fields may say, and conditions.
* `formats`: the eleven formats, their fields, and the rules that tell defined encodings from
  undefined ones.
* `coding`: words to field values and back.
* `relocations`: what the linker patches.
* `traps`: why the processor stops.

## Rules that no field shows

* Code and data are big-endian; an instruction is one aligned word.
* A write to `pc` is a transfer: one more instruction (the delay slot) runs before the target, two
  more when the write is a load. A transfer that stands in a slot of another one traps if it is
  taken. Only then: a branch that falls through may stand there.
* Reading `pc` gives the address of the instruction that reads it, in a slot too.
* A transfer takes all 32 bits of its target. A target that is misaligned or unmapped traps when it
  is fetched, after the slots.
* Results, loaded values, updated bases and flags are seen by the very next instruction.
* A store may change code: the instruction right behind it may have been fetched already, the one
  after that has not.
* An instruction that traps has no effect at all; later ones do not run.
* A load with update whose base is also its destination leaves the loaded value there. A store with
  update stores the old base.
"""

from .coding import Decoded, decode, encode
from .formats import FORMATS, Field, Format
from .operations import Access, AluOp, Condition, Function, Special
from .registers import Reg
from .relocations import Relocation
from .traps import TrapCause

NOP = 0x00000001  # add %r0, 1, %r0

__all__ = [
    "FORMATS",
    "NOP",
    "Access",
    "AluOp",
    "Condition",
    "Decoded",
    "Field",
    "Format",
    "Function",
    "Reg",
    "Relocation",
    "Special",
    "TrapCause",
    "decode",
    "encode",
]
