"""The collection of all blocks: checks that they fit together, and answers what is where."""

from collections.abc import Iterable
from dataclasses import replace
from enum import IntFlag

from .declare import AllEvents, Counter, EventBit, Register, RegisterBlock

WORD = 4
EVENT_BITS = 32


class Machine:
    """The registers, events and counters of a set of blocks, each sorted by offset or bit.

    The order of declaration decides nothing. Raises ValueError if two declarations use one name,
    offset or bit, which names both blocks, or if one lies outside the window.

    Attributes:
        blocks: sorted by their first register.
        window: bytes of the register window.
        registers: counters included.
        events: the flag class with one member an event.
    """

    def __init__(self, *blocks: RegisterBlock, window: int, events_doc: str = "") -> None:
        self.window = window
        self.event_bits: tuple[EventBit, ...] = self._sorted(
            ((block, event) for block in blocks for event in block.events), "bit"
        )
        self.events = self._events(events_doc)
        self.blocks = tuple(sorted((self._resolved(block) for block in blocks), key=RegisterBlock.first_offset))
        self.registers: tuple[Register, ...] = self._sorted(
            ((block, register) for block in self.blocks for register in block.all_registers), "offset"
        )
        self.counters: tuple[Counter, ...] = tuple(
            sorted((counter for block in blocks for counter in block.counters), key=lambda counter: counter.offset)
        )
        self._check_range()
        self.by_name = {register.name: register for register in self.registers}
        self.by_offset = {register.offset: register for register in self.registers}

    @staticmethod
    def _sorted(declared: Iterable, key: str) -> tuple:
        """By `key`; two with the same key or the same name are an error."""
        owners: dict[object, tuple[RegisterBlock, str]] = {}
        found = []
        for block, one in declared:
            for value, text in ((one.name, f"name {one.name}"), (getattr(one, key), f"{key} {getattr(one, key):#x}")):
                if value in owners:
                    other, name = owners[value]
                    raise ValueError(f"{text} of {one.name} ({block.title}) is taken by {name} ({other.title})")
                owners[value] = (block, one.name)
            found.append(one)
        return tuple(sorted(found, key=lambda one: getattr(one, key)))

    def _check_range(self) -> None:
        for register in self.registers:
            if register.offset % WORD or not 0 <= register.offset < self.window:
                raise ValueError(
                    f"offset {register.offset:#x} of {register.name} must be a multiple of {WORD} below "
                    f"{self.window:#x}"
                )
        for event in self.event_bits:
            if not 0 <= event.bit < EVENT_BITS:
                raise ValueError(f"bit {event.bit} of event {event.name} must be from 0 to {EVENT_BITS - 1}")

    def _events(self, doc: str) -> type[IntFlag]:
        flags = IntFlag("Event", {event.name: 1 << event.bit for event in self.event_bits})
        flags.__doc__ = doc
        return flags

    def _resolved(self, block: RegisterBlock) -> RegisterBlock:
        """The block with the real flag class wherever it says `AllEvents`."""
        return replace(
            block,
            registers=tuple(
                replace(register, fields=self.events) if register.fields is AllEvents else register
                for register in block.registers
            ),
        )

    @property
    def levels(self) -> IntFlag:
        """The events that are levels."""
        return self.events(sum(1 << event.bit for event in self.event_bits if event.level))

    def offset(self, name: str) -> int:
        """Byte offset of a register in the window."""
        try:
            return self.by_name[name].offset
        except KeyError:
            raise KeyError(f"no register is called {name!r}; see lanai_hdl.machine.MACHINE") from None
