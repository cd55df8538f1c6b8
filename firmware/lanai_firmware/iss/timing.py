"""The timing of the gateware, for the model: LBUS slots, given which of them others take.

The rule is the one that `lanai_hdl.core.core.Core` states; the lockstep proof holds the two
together, slot for slot.
"""

from collections.abc import Sequence

from lanai_hdl import machine
from lanai_hdl.isa import AluOp
from lanai_hdl.isa.coding import extract
from lanai_hdl.isa.formats import RRM

from .processor import Processor, Stop
from .retire import NOTHING, Retire, Tracer

SLOTS_PER_CYCLE = 2


class SlotClock:
    """Follows a stream of retired instructions from reset in slot 0.

    `taken` is a pattern of slots, repeated for ever, nonzero where another requester has the slot;
    `waits` likewise says in which slots the processor's wait input is high. `fetched`, `executed`,
    `accessed` are the slots of the last instruction's fetch, execution and data access (-1: none);
    `slots_used` counts the bus slots spent so far.
    """

    def __init__(self, taken: Sequence[int] = (0,), waits: Sequence[int] = (0,)) -> None:
        self._taken, self._waits = taken, waits
        self.fetched = self.executed = self.accessed = -1
        self.slots_used = 0
        self._bus_from = self._bus_until = -1  # the last instruction's data access wants the bus in these slots
        self._earliest = 0

    def _free(self, slot: int) -> int:
        """The first slot from `slot` on that no master takes."""
        return _first_zero(self._taken, slot)

    def _fetch(self) -> int:
        """A fetch may share the slot in which its predecessor executes; then that one's data access
        goes first."""
        slot = self._free(self._earliest)
        return self._free(self._bus_until + 1) if self._bus_from <= slot <= self._bus_until else slot

    def retire(self, record: Retire) -> int:
        """Accounts for one instruction; returns the slot in which the retire port shows it."""
        self.fetched = self._fetch()
        self.executed = _first_zero(self._waits, max(self.fetched + 2, self.accessed + 1))
        self.slots_used += 1
        self.accessed = self._bus_until = -1
        if record.address != NOTHING:
            self.accessed = self.executed + (2 if _shifts_offset(record.word) else 1)
            if record.address < machine.REGISTERS_LOCAL:
                self._bus_from = self.accessed
                self.accessed = self._bus_until = self._free(self.accessed)
                self.slots_used += 1
        self._earliest = self.executed
        return max(self.executed, self.accessed) + 1

    @property
    def cycles(self) -> int:
        """Processor cycles until the last instruction was done, begun ones included."""
        return -(-(max(self.executed, self.accessed) + 1) // SLOTS_PER_CYCLE)


class Starved(Exception):
    """All slots are taken, or wait is always high: the processor makes no progress."""


def _shifts_offset(word: int) -> bool:
    return word & RRM.mask == RRM.match and extract(RRM.by_name["op"], word) == AluOp.SHIFT


def _first_zero(pattern: Sequence[int], slot: int) -> int:
    period = len(pattern)
    for candidate in range(slot, slot + period):
        if not pattern[candidate % period]:
            return candidate
    raise Starved(f"no slot from {slot} on lets the processor move")


def run_timed(processor: Processor, clock: SlotClock, limit: int) -> Stop:
    """`processor.run(limit)`, with `clock` following. Time spent in WAIT is not known here: it ends
    the run."""
    tracer = Tracer(processor)
    for _ in range(limit):
        record = tracer.step()
        if record is None:
            return tracer.stop
        clock.retire(record)
        if tracer.stop is Stop.WAIT:
            return Stop.WAIT
    return Stop.LIMIT
