"""Small programs for a NIC, without a toolchain: registers written, events awaited."""

from .isa import NOP, encode
from .isa.formats import BR, RM, SLI
from .machine import REGISTERS_LOCAL, offset

WINDOW, VALUE = 20, 21  # general registers that the program uses


class Program:
    """A program for address 0, written one step after another; every method gives the program, so
    that steps chain.

    `Program().wait(Event.DOORBELL).store(DOORBELL=1, HOST_SIGNAL=1).again().words` answers every
    doorbell.
    """

    def __init__(self) -> None:
        self.words = [encode(SLI, rd=WINDOW, imm=REGISTERS_LOCAL)]

    @property
    def here(self) -> int:
        """The address of the next step."""
        return 4 * len(self.words)

    def store(self, **registers: int) -> "Program":
        """Write values below 2**21 to on-chip registers, in the order given."""
        for name, value in registers.items():
            self.words.append(encode(SLI, rd=VALUE, imm=value))
            self.words.append(encode(RM, store=1, rd=VALUE, rs1=WINDOW, pre=1, imm=offset(name)))
        return self

    def copy(self, source: str, target: str) -> "Program":
        """Write what one register reads to another."""
        self.words.append(encode(RM, rd=VALUE, rs1=WINDOW, pre=1, imm=offset(source)))
        self.words.append(encode(RM, store=1, rd=VALUE, rs1=WINDOW, pre=1, imm=offset(target)))
        return self

    def wait(self, mask: int) -> "Program":
        """Sleep until an event of the mask has happened."""
        return self.store(WAIT=mask)

    def then(self, *words: int) -> "Program":
        """Instructions as they are."""
        self.words.extend(words)
        return self

    def again(self, start: int = 4) -> "Program":
        """Go on at `start`, by default the first step."""
        self.words += [encode(BR, target=start), NOP]
        return self
