"""The on-chip registers as the golden model accesses them, and the simplest implementation."""

from typing import Protocol

from lanai_hdl import machine


class RegisterPort(Protocol):
    """The registers as the processor meets them. Offsets are multiples of 4 below
    REGISTERS_SIZE."""

    def read(self, offset: int) -> int: ...

    def write(self, offset: int, value: int) -> bool:
        """True if the processor shall stall after this store, as one to WAIT does, until
        `Processor.wake`."""
        ...


class PlainRegisters(RegisterPort):
    """Words that keep what was written, except that a mask written to WAIT stalls unless ISR
    already has one of its bits."""

    def __init__(self) -> None:
        self.words: dict[int, int] = {}

    def read(self, offset: int) -> int:
        return self.words.get(offset, 0)

    def write(self, offset: int, value: int) -> bool:
        self.words[offset] = value
        return offset == machine.offset("WAIT") and bool(value) and not value & self.read(machine.offset("ISR"))
