"""Declarations of a block in its `csr.py`: registers, events, counters. Offsets and bit numbers are
explicit and never move."""

from dataclasses import dataclass
from enum import Enum, Flag, IntFlag, auto
from typing import Any


class Access(Flag):
    """Rights to read (R) and write (W): P the processor, H the host."""

    PR = auto()
    PW = auto()
    HR = auto()
    HW = auto()
    RO = PR | HR
    P_RW = PR | PW | HR
    P_ONLY = PR | PW
    BOTH = PR | PW | HR | HW
    H_RW = HR | HW | PR


class Behavior(Enum):
    """The behaviour of a register, as software sees it."""

    STORAGE = "storage"  # reads what was written last
    W1C = "write one to clear"
    VIEW = "view of hardware"
    FIXED = "fixed when built"
    COMMAND = "a write acts"
    TRIGGER = "storage, and a write acts"

    @property
    def acts(self) -> bool:
        """Does the block get a strobe for a write?"""
        return self in (Behavior.COMMAND, Behavior.W1C, Behavior.TRIGGER)

    @property
    def stores(self) -> bool:
        """Does the register bank keep what is written?"""
        return self in (Behavior.STORAGE, Behavior.TRIGGER)


class AllEvents(IntFlag):
    """Stands for the flag class of all blocks' events where a register shows them; `Machine` puts
    the real one there."""


@dataclass(frozen=True)
class Register:
    """One word of the register window.

    Attributes:
        offset: bytes from the start of the window, a multiple of 4.
        fields: the meaning of its bits, if they have one each; `AllEvents` for the events of all
            blocks.
        forwarded: the block sees what was stored one slot after the access instead of two
            (`RegisterBank` states the rule).
        cleared: the block can set what is stored to 0.
        set_by: of a W1C register whose bits one side sets: that side's right to write. The other
            side clears them. Without it the block sets them.
    """

    name: str
    offset: int
    access: Access
    behavior: Behavior
    doc: str
    fields: type[IntFlag] | None = None
    forwarded: bool = False
    cleared: bool = False
    set_by: Access | None = None

    @property
    def kept(self) -> bool:
        """Does the register bank keep the value, rather than show one of the block?"""
        return self.behavior.stores or self.set_by is not None


@dataclass(frozen=True)
class EventBit:
    """One bit of ISR. A level follows its cause and cannot be cleared in ISR; the others are
    cleared by writing one."""

    name: str
    bit: int
    doc: str
    level: bool = False


@dataclass(frozen=True)
class Counter:
    """A 32-bit register that counts modulo 2**bits and is cleared by reset."""

    name: str
    offset: int
    counts: str
    bits: int = 32

    @property
    def register(self) -> Register:
        modulo = f" Modulo 2**{self.bits}." if self.bits < 32 else ""
        return Register(self.name, self.offset, Access.RO, Behavior.VIEW, f"Counts: {self.counts}.{modulo}")


class Declared(tuple):
    """Declarations of one kind. Each is also an attribute by its name:
    ``HOST_DMA.counters.HDMA_ERRORS``."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        for one in self:
            if one.name == name:
                return one
        raise AttributeError(
            f"{name!r} is not declared here; there are {', '.join(one.name for one in self) or 'none'}"
        )


@dataclass(frozen=True)
class RegisterBlock:
    """All that one block shows to software. `title` is its heading in the reference."""

    title: str
    registers: Any = ()
    events: Any = ()
    counters: Any = ()

    def __post_init__(self) -> None:
        for kind in ("registers", "events", "counters"):
            object.__setattr__(self, kind, Declared(getattr(self, kind)))

    def first_offset(self) -> int:
        return min((register.offset for register in self.all_registers), default=0)

    @property
    def all_registers(self) -> tuple[Register, ...]:
        return (*self.registers, *(counter.register for counter in self.counters))


class Status(IntFlag):
    """HDMA_STATUS, SEND_STATUS, RECV_STATUS. FREE masks the number of free queue entries."""

    FREE = 0xFF
    # something is queued or running, and not stopped (RECV_STATUS: a packet is now being written)
    BUSY = 1 << 8
    ERROR = 1 << 9  # HDMA_STATUS: the descriptor that finished last had an error
    CHECKED = 1 << 10  # RECV_STATUS: the packet now being written has passed a CHECK flit
    LINK_UP = 1 << 11  # SEND_STATUS and RECV_STATUS: the link has a carrier
    # HDMA_STATUS: a descriptor with STOP has failed, and HOST_DMA_ERROR has not been cleared since
    STOPPED = 1 << 12
