"""The machine, declared once: memory map, on-chip registers, events.

Gateware, firmware, driver, waveform decoding and the reference page read this module; nothing restates it. Offsets are
explicit and never move within a major version of `MACHINE_VERSION`.

The processor sees the on-chip registers at `REGISTERS_LOCAL` (they cost it no LBUS slot), the host sees the same block at
`REGISTERS_HOST` in its PIO window. `Access` tells who may do what.
"""

from dataclasses import dataclass
from enum import Enum, Flag, IntFlag, auto

MACHINE_ID = 0x4C414E41  # "LANA"
MACHINE_VERSION = 0x0001_0000  # major.minor, 16 bits each

# Processor's view. The register window shadows the last 4 KiB of a 1 MiB SRAM: addresses below 1 MiB are reached by one
# Lanai instruction, and those above would cost two.
SRAM_BASE = 0x00000
RESET_PC = 0x00000
REGISTERS_LOCAL = 0xFF000
REGISTERS_SIZE = 0x01000

# Host's view: byte offsets in the NIC's PIO window.
SRAM_HOST = 0x000000
REGISTERS_HOST = 0x100000
PIO_WINDOW_SIZE = 0x200000

PAGE_SIZE = 4096


class Access(Flag):
    """Who may read (R) and write (W): P the processor, H the host."""

    PR = auto()
    PW = auto()
    HR = auto()
    HW = auto()
    RO = PR | HR
    P_RW = PR | PW | HR
    BOTH = PR | PW | HR | HW
    H_RW = HR | HW | PR


class Event(IntFlag):
    """Bits of ISR, and of the masks in WAIT and HOST_IRQ_MASK."""

    HOST_DMA_DONE = 1 << 0
    HOST_DMA_ERROR = 1 << 1
    SEND_DONE = 1 << 2
    RECV_DONE = 1 << 3
    RECV_PROGRESS = 1 << 4
    RECV_OVERRUN = 1 << 5
    DOORBELL = 1 << 6
    TIMER = 1 << 7
    LINK_ERROR = 1 << 8
    BUS_ERROR = 1 << 9
    HOST_SIGNAL = 1 << 10


class Sticky(Enum):
    """How a register's bits leave: plain storage, cleared by writing ones, or a view of hardware."""

    PLAIN = "plain"
    W1C = "write one to clear"
    VIEW = "view of hardware"
    ACTION = "writing acts"


@dataclass(frozen=True)
class Register:
    name: str
    offset: int
    access: Access
    kind: Sticky
    doc: str
