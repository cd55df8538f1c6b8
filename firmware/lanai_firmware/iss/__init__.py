"""The golden model: an instruction-set simulator that the gateware is proved against.

It executes the whole of `lanai_hdl.isa`, traps where the declaration says so, and never guesses.
`Processor` runs; `retire` records every instruction; `timing` counts LBUS slots as the gateware
spends them; `cache` counts what an instruction cache would save.
"""

from .memory import Memory, PlainRegisters, RegisterPort
from .processor import Processor, Stop, Trap

__all__ = ["Memory", "PlainRegisters", "Processor", "RegisterPort", "Stop", "Trap"]
