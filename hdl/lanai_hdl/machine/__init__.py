"""The machine: memory map, on-chip registers, events, counters.

Each block declares its own in its `csr.py`; `MACHINE` collects and checks them. Gateware, firmware,
driver, waveform decoding and the reference page read this module; nothing restates it. Offsets are
explicit and never move within a major version of `MACHINE_VERSION`.

Everything is big-endian: the byte at address `a` of a word is its most significant one when `a % 4
== 0`. The processor sees the on-chip registers at `REGISTERS_LOCAL` (they cost it no LBUS slot),
the host sees the same block at `REGISTERS_HOST` in its PIO window. Registers are whole words: a
write with some byte enables off is ignored and counted. `Access` tells who may do what; a write
without the right is ignored, a read without it gives 0.
"""

from functools import cache
from typing import Any

from ..control.csr import CONTROL, IDENTITY, TIME, Control, Features
from ..core.csr import TRAP
from ..csr.declare import Access, Behavior, Register, RegisterBlock, Status
from ..csr.machine import Machine
from ..host_bus.csr import HOST_BUS
from ..host_dma.csr import HOST_DMA, HostDmaStart
from ..lbus.csr import LBUS
from ..link.csr import LINK
from ..receive_dma.csr import RECEIVE_DMA, Verdict
from ..send_dma.csr import SEND_DMA, SendStart
from .memory_map import (
    BOARD_HOST,
    MACHINE_ID,
    MACHINE_VERSION,
    PAGE_SIZE,
    PIO_WINDOW_SIZE,
    REGISTERS_HOST,
    REGISTERS_LOCAL,
    REGISTERS_SIZE,
    RESET_PC,
    SRAM_BASE,
    SRAM_HOST,
)

__all__ = [
    "BOARD_HOST", "BY_NAME", "COUNTERS", "COUNTER_NAMES", "LEVEL_EVENTS", "MACHINE", "MACHINE_ID", "MACHINE_VERSION",
    "PAGE_SIZE", "PIO_WINDOW_SIZE",
    "REGISTERS", "REGISTERS_HOST", "REGISTERS_LOCAL", "REGISTERS_SIZE", "RESET_PC", "SRAM_BASE", "SRAM_HOST", "Access",
    "Behavior", "Control", "Event", "Features", "HostDmaStart", "Register", "SendStart", "Status", "Verdict",
    "host_offset", "local_address", "machine_with", "offset",
]  # fmt: skip

_EVENTS_DOC = """Bits of ISR, and of the masks in WAIT and HOST_IRQ_MASK.

    Levels follow their cause and cannot be cleared in ISR: RECV_DONE (a finished packet waits to be
    popped), RECV_PROGRESS (RECV_COUNT of the packet now arriving is at or past a nonzero
    RECV_WATERMARK), DOORBELL (the register is nonzero), HOST_SIGNAL (likewise). The others are
    sticky: set by the event, cleared by writing one. What an instruction does to a level shows in
    ISR to the next one.
    """


@cache
def machine_with(*blocks: RegisterBlock) -> Machine:
    """The machine of a NIC that has the optional `blocks` beside those that every NIC has.

    Raises ValueError as `Machine` does if they do not fit together.
    """
    every = (IDENTITY, CONTROL, TIME, TRAP, HOST_DMA, SEND_DMA, RECEIVE_DMA, LBUS, HOST_BUS, LINK)
    return Machine(*every, *blocks, window=REGISTERS_SIZE, events_doc=_EVENTS_DOC)


MACHINE = machine_with()
Event: Any = MACHINE.events
LEVEL_EVENTS = MACHINE.levels
REGISTERS = MACHINE.registers
BY_NAME = MACHINE.by_name
COUNTERS = MACHINE.counters
COUNTER_NAMES = tuple(counter.name for counter in COUNTERS)
offset = MACHINE.offset


def local_address(name: str) -> int:
    """Return the address at which the processor reaches a register."""
    return REGISTERS_LOCAL + offset(name)


def host_offset(name: str) -> int:
    """Return the offset in its PIO window at which the host reaches a register."""
    return REGISTERS_HOST + offset(name)
