"""FIFOs in a process's own memory, to which others append (MB-05): the owner's side."""

import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

from lanai_hdl.errors import UserError
from lanai_hdl.remote.fifo import COUNT_BITS, MOST_RING_PAGES, RECORD_HEADER, RingWord, TailWord, after
from lanai_hdl.remote.packets import SizeWord, word

from .. import process_memory
from ..bus.base import PAGE_SIZE, Bus, HostBuffer, Watched
from ..config import HostCost, HostCosts
from ..operation import Wait
from .exposures import Exposure

COUNT = (1 << COUNT_BITS) - 1
LENGTH = SizeWord.fields["length"].most  # which stands in the lowest bits
REFUSING = word(TailWord, count=0, refusing=1)


class Fifo:
    """A FIFO whose control words stand at byte `control` of `memory`, and whose ring is `pages`
    pages from page `page` on.

    All of `memory` must be exposed as one exposure that allows APPEND. `payload` is the adapter's.
    """

    def __init__(self, memory: HostBuffer, control: int, page: int, pages: int, payload: int) -> None:
        if pages & (pages - 1) or not 1 <= pages <= MOST_RING_PAGES:
            raise UserError(f"pages={pages!r} must be a power of two from 1 to {MOST_RING_PAGES}")
        if page % pages:
            raise UserError(f"page={page!r} must be a multiple of pages={pages!r}")
        self._memory = memory
        self._control = control
        self._first = page * PAGE_SIZE
        self._size = pages * PAGE_SIZE
        self._payload = payload
        self._head = 0
        self.seen = bytes(4)  # the tail word at the last look
        for field, value in enumerate((0, 0, word(RingWord, page=page, mask=pages - 1))):
            self._set(field, value)

    @property
    def refused(self) -> int | None:
        """Return where the tail stood when the FIFO began to refuse; None if it does not."""
        tail = int.from_bytes(self.seen, "big")
        return tail & COUNT if tail & REFUSING else None

    @property
    def emptied(self) -> bool:
        """At the last poll there were no records that have not been dropped."""
        return int.from_bytes(self.seen, "big") & COUNT == self._head

    def look(self) -> bool:
        """Poll the FIFO. Return whether there are records that have not been dropped."""
        self.seen = bytes(self._memory.view[self._control : self._control + 4])
        return int.from_bytes(self.seen, "big") & COUNT != self._head

    def record(self) -> memoryview:
        """The data of the oldest record; good until `drop`."""
        begin = self._first + self._head % self._size + RECORD_HEADER
        return self._memory.view[begin : begin + (self.word(0) & LENGTH)]

    def records(self) -> Iterator[memoryview]:
        """The data of each record that had come at the last poll and was not dropped, oldest first."""
        head, tail = self._head, int.from_bytes(self.seen, "big") & COUNT
        while head != tail:
            begin = self._first + head % self._size
            length = int.from_bytes(self._memory.view[begin : begin + 4], "big") & LENGTH
            yield self._memory.view[begin + RECORD_HEADER : begin + RECORD_HEADER + length]
            head = after(head, length, self._payload)

    def word(self, number: int) -> int:
        """The first or second word of the oldest record."""
        begin = self._first + self._head % self._size + 4 * number
        return int.from_bytes(self._memory.view[begin : begin + 4], "big")

    def sender(self) -> tuple[int, int]:
        """Return the origin of the oldest record: the NIC, and the process of its host. The adapters write it, not the
        sender.
        """
        size = SizeWord.from_bits(self.word(0))
        return size.node, size.process

    def drop(self) -> int:
        """The oldest record's place is free again. Return its bytes."""
        begin, self._head = self._head, after(self._head, self.word(0) & LENGTH, self._payload)
        self._set(1, self._head)
        return (self._head - begin) & COUNT

    def watched(self) -> Watched:
        """Return the word that changes when a record is appended or refused after the last poll."""
        return Watched(self._memory, self._control, self.seen)

    def _set(self, field: int, value: int) -> None:
        at = self._control + 4 * field
        self._memory.view[at : at + 4] = value.to_bytes(4, "big")


# Signals (MB-09): records that interrupt the process to which they go, also while it computes.
#
# A signal is appended to a FIFO by an exposure with the right SIGNAL. The adapter writes the record,
# then raises the event REMOTE_SIGNAL, which interrupts the host. Each signal is taken once. Who has
# sent it is told by the adapters.

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
