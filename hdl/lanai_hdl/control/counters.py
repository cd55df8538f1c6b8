"""The counters of all blocks in gateware."""

from collections.abc import Collection

from amaranth import Module, Signal
from amaranth.lib.wiring import In, Out

from ..block import NicBlock
from ..csr.declare import Counter
from ..machine import COUNTERS


class Counters(NicBlock):
    """`increment(counter)`, high in one slot, adds one to `value(counter)` three slots later.

    Software sees it two slots after the increment, as a register bank reads a counter one slot
    after the access.

    Parameters
    ----------
    counters : all that there are

    Members
    -------
    count_<name>, <name> : see `increment` and `value`
    idle : ``Out(1)``, no increment is under way
    """

    def __init__(self, counters: Collection[Counter] = COUNTERS):
        self.counters = tuple(counters)
        members = {"idle": Out(1)}
        for counter in self.counters:
            members[_input(counter)] = In(1)
            members[_output(counter)] = Out(32)
        super().__init__(members)

    def increment(self, counter: Counter):
        return getattr(self, _input(counter))

    def value(self, counter: Counter):
        return getattr(self, _output(counter))

    def connect_registers(self, bank):
        return [bank.value(counter).eq(self.value(counter)) for counter in self.counters]

    def elaborate(self, platform):
        m = Module()
        noted, due = Signal(len(self.counters)), Signal(len(self.counters))
        for bit, counter in enumerate(self.counters):
            count, value = self.increment(counter), self.value(counter)
            m.d.sync += [noted[bit].eq(count), due[bit].eq(noted[bit])]
            if counter.bits < len(value):
                value = value[: counter.bits]
            with m.If(due[bit]):
                m.d.sync += value.eq(value + 1)
        m.d.comb += self.idle.eq(~noted.any() & ~due.any())
        return m


def _input(counter):
    return f"count_{counter.name.lower()}"


def _output(counter):
    return counter.name.lower()
