"""The interface of a block to the NIC's top, which so needs no list of what each block has."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from amaranth import Const
from amaranth.lib import wiring

from .csr.declare import Counter, EventBit


@dataclass(frozen=True)
class Raises:
    """`event` happens in each slot in which `signal` is high; a level event holds for as long as it
    is high."""

    event: EventBit
    signal: Any


@dataclass(frozen=True)
class Counts:
    """`counter` is incremented for each slot in which `signal` is high."""

    counter: Counter
    signal: Any


class NicBlock(wiring.Component):
    """A component of the NIC that brings its own contract.

    A subclass says what applies to it. With nothing said, a block has no registers, raises and
    counts nothing, is always idle, and is reset with the NIC.

    A block whose configuration has `first_bytes` receives the packets that begin with one of them. It
    has the members ``packets_in``, ``In(stream.Signature(Part))``, and ``packets_out``,
    ``Out(stream.Signature(Flit))``, its packets to the wire. One whose configuration has `taps_link`
    has the members ``wire_tx``, ``wire_rx``, ``tx``, ``rx`` of `barrier.tap.LinkTap`.

    Attributes
    ----------
    survives_reset : true if CONTROL.RESET does not reset the block
    lbus_master : the block's entry in the LBUS's list; it then has a member ``lbus``,
        ``Out(LbusMaster())``
    bus_engine : true if the block moves bursts on the host bus; it then has a member ``bus``,
        ``Out(BurstPort())``
    host_window : true if the block serves the part of the host's window that its configuration
        names; it then has a member ``window``, ``In(RegisterAccess())``, whose address counts from
        the start of that part
    """

    survives_reset = False
    lbus_master = None
    bus_engine = False
    host_window = False

    def connect_registers(self, bank) -> Iterable[Any]:
        """Statements that join the block with its registers in `bank`: a `RegisterFile`, which passes
        each on to the `RegisterBank` that has it."""
        return ()

    def raises(self) -> Iterable[Raises]:
        return ()

    def counts(self) -> Iterable[Counts]:
        return ()

    def idle_condition(self) -> Any:
        """High while nothing is under way inside: the member ``idle`` if the block has one. Engines leave out
        slots in which this is so of all blocks: until an input asks for something, the block's state then stays."""
        return self.idle if "idle" in self.signature.members else Const(1)
