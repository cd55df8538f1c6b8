"""Signals (MB-09): records that interrupt the process to which they go, also while it computes.

A signal is appended to a FIFO by an exposure with the right SIGNAL. The adapter writes the record,
then raises the event REMOTE_SIGNAL, which interrupts the host. Each signal is taken once. Who has
sent it is told by the adapters.
"""

import struct
from collections.abc import Callable
from typing import NamedTuple

from .. import process_memory
from ..bus.base import PAGE_SIZE, Bus, HostBuffer
from ..config import HostCost, HostCosts
from ..wait import Wait
from .exposures import Exposure
from .fifo import Fifo

VALUE = struct.Struct(">I")
CONTROL = 0  # offset of the control words of a queue
QUEUE_PAGES = 2  # control words, ring


class Signal(NamedTuple):
    """`value` from process `process` of the host of NIC `node`."""

    node: int
    process: int
    value: int


Handler = Callable[[Signal], None]


class SignalQueue:
    """Signals to this process that it has not taken.

    Attributes:
        token: with it others may signal.
    """

    def __init__(self, memory: HostBuffer, exposure: Exposure, payload: int) -> None:
        assert memory.size == QUEUE_PAGES * PAGE_SIZE
        assert exposure.address == process_memory.address_of(memory.view)
        self.fifo = Fifo(memory, CONTROL, 1, 1, payload)
        self.token = exposure.token

    def take(self) -> Signal | None:
        """The oldest; None if there is none."""
        if not self.fifo.look():
            return None
        node, process = self.fifo.sender()
        (value,) = VALUE.unpack(self.fifo.record())
        self.fifo.drop()
        return Signal(node, process, value)


def interrupt_price(costs: HostCosts) -> int:
    """Picoseconds from the interrupt to the handler and back: two entries to the kernel."""
    return costs.price(HostCost.SYSTEM_CALL, 2)


def work(bus: Bus, picoseconds: int, fifo: Fifo, interrupted: Callable[[], None], price: int) -> None:
    """The program's own work takes so many picoseconds. `interrupted` is called when there are
    signals in `fifo`, and takes them. What that takes, with `price` for each interrupt, comes on
    top."""
    while True:
        if fifo.look():
            bus.elapse(price)
            interrupted()
        elif picoseconds > 0:
            begun = bus.now
            bus.work(picoseconds, [fifo.watched()], Wait("the program's own work"))
            picoseconds -= bus.now - begun
        else:
            return
