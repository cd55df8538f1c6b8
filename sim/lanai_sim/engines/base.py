"""The interface of the engines, which advance the NICs and the fabric.

Time is in slots, and every unit (NICs first, then switches) has a slot of its own. A unit that has
something to report stops there. The others are at most a link latency ahead, where nothing that is
reported now can affect them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple, NoReturn

from lanai_hdl.config import NicConfig
from lanai_hdl.errors import UserError
from lanai_hdl.ring.config import RingConfig
from lanai_hdl.segment.config import SegmentConfig
from lanai_hdl.switch_config import SwitchConfig

from .words import Continuation, Words

NEVER = 2**64 - 1


class EventKind(IntEnum):
    PIO_DONE = 1  # `tag` of the access; `value` read
    WATCH = 2  # `tag` of the watch whose word has changed
    IRQ = 3  # the NIC's irq output rose
    CONTINUATION = 4  # `tag` of the bursts whose `Continuation` has come to its end


class Event(NamedTuple):
    """An event that a unit reports. The unit has finished all slots before `slot`."""

    slot: int
    kind: int
    unit: int
    tag: int
    value: int


class Access(NamedTuple):
    """One PIO access of a word, not before `slot`. A nonzero `tag` asks for an event."""

    slot: int
    write: bool
    address: int
    data: int = 0
    be: int = 0b1111
    tag: int = 0


class Burst(NamedTuple):
    """PIO of one processor of the host, begun `elapsed` picoseconds after its burst before was
    done: `data`, which goes to any byte offset of the NIC's window, or, if there is none, one
    aligned word to be read."""

    elapsed: int
    offset: int
    data: bytes = b""


class PackedBursts(NamedTuple):
    """Bursts that write, as `declared.BURST` has them: where they are, how many, where their data is, that of all
    bursts one after the other."""

    bursts: int
    burst_count: int
    data: int


class Calls(NamedTuple):
    """Addresses of an engine in C++ and of its functions (`native/engine.cc`). `mark`: of a number that is not 0 once
    the engine wants to hear of the CPU time that it takes; 0: it does not."""

    engine: int
    run: int
    events: int
    slot: int
    bursts: int
    quiet_until: int
    mark: int = 0


class Cable(NamedTuple):
    """A cable, both directions, between ports of two units. A NIC's port is 0."""

    unit: int
    port: int
    other_unit: int
    other_port: int


class FaultKind(IntEnum):
    DROP = 1
    CORRUPT = 2
    DUPLICATE = 3
    DELAY = 4
    REORDER = 5
    DOWN = 6


class Planned(NamedTuple):
    """One fault of one wire. It hits packet `packet`, or each packet with a `chance` of so many
    times 2**-53, and then `packet` is the key of its random numbers (`hits` in native/faults.h).
    For DOWN `packet` and `amount` are the slots."""

    packet: int
    amount: int
    chance: int
    kind: int


class BarrierRole(NamedTuple):
    """A switch's part in a barrier tree of several: masks of ports, as in `BarrierJunction`."""

    members: int
    parent: int


@dataclass(frozen=True)
class Layout:
    """The units of an engine. `latency` is that of every cable, in slots. `switch`: the configuration of
    each of the `switches`. `barrier`: the part of each in the barrier tree, if `switch.cascaded`."""

    nic: NicConfig
    nics: int
    cables: tuple[Cable, ...]
    switches: int = 0
    switch: SwitchConfig | SegmentConfig | RingConfig | None = None
    barrier: tuple[BarrierRole, ...] = ()

    @property
    def latency(self) -> int:
        return self.nic.link_latency


class SlotTime:
    """Between picoseconds and slots, exactly: slot n begins at n / slot rate, rounded down to a
    picosecond."""

    def __init__(self, slot_khz: int) -> None:
        self.khz = slot_khz

    def picoseconds(self, slot: int) -> int:
        return slot * 1_000_000_000 // self.khz

    def slot(self, picoseconds: int) -> int:
        """The first slot that begins at this time or later."""
        return -(-picoseconds * self.khz // 1_000_000_000)


class Engine(ABC):
    """N NICs and a fabric. Bus addresses are mapped page by page, for each NIC; unmapped ones are
    refused as a bus error.

    What is not abstract here is for engines whose `EngineKind` names the capability; others raise
    UserError."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.time = SlotTime(layout.nic.slot_khz)
        self.cut_short = False
        self.state_key: str | None = None  # what `save` depends on beside the layout; None if there is no `save`

    @abstractmethod
    def run(self, limit: int) -> tuple[bool, Sequence[Event]]:
        """Run every unit up to slot `limit`, or a unit only to its first event, after which all
        stop within a latency. The flag says that all is still, and will be until an access is
        queued; some units may then not have come to `limit`.

        A call takes some tenths of a second at most. `cut_short` says that it ended for that,
        before `limit` and without an event: call it again."""

    def calls(self) -> Calls | None:
        """Return what C code needs to do what `run` and `packed_bursts` do; None if it cannot."""
        return None

    def ended(self, ending: int) -> tuple[bool, Sequence[Event]]:
        """Return what `run` would after C code has run the engine, and the run has ended so (`declared.Ending`)."""
        self._lacks("calls for C code")

    def quiet_until(self) -> int:
        """The slot up to which no unit does anything unless an access is queued; NEVER if none ever
        does, 0 if that is not known."""
        return 0

    @abstractmethod
    def slot(self, unit: int) -> int:
        """Return the slot that a unit has reached."""

    @abstractmethod
    def evaluated(self, unit: int) -> int:
        """Slots of a unit that were evaluated rather than skipped."""

    @abstractmethod
    def pio(self, nic: int, accesses: Sequence[Access]) -> None:
        """Queue accesses; they are performed in order."""

    def bursts(self, nic: int, begin: int, bursts: Sequence[Burst], tag: int) -> bool:
        """Perform the bursts of one processor from `begin` on, in picoseconds, and report with `tag` when
        the last burst is done.

        Bursts of several processors go in the order of the times at which they want to begin, and
        at the same time in the order of asking. False from an engine that leaves this to its
        caller, who then waits for each burst."""
        return False

    def packed_bursts(
        self, nic: int, begin: int, packed: PackedBursts, tag: int, continuation: Continuation | None = None
    ) -> bool:
        """Do what `bursts` does, with bursts that are packed already. With a continuation, the engine goes on with that
        when the last burst is done. It reports the end of the continuation, and not that of the bursts."""
        return False

    def give_back(self) -> None:
        """Go on with no continuation. All are left where they stand."""
        return  # who takes no packed bursts has none

    @abstractmethod
    def map_local(self, nic: int, page: int, address: int, writable: bool) -> None:
        """Bus page `page` is memory of this process."""

    @abstractmethod
    def map_remote(self, nic: int, page: int, pid: int, address: int, writable: bool) -> None:
        """Bus page `page` is memory of another process."""

    @abstractmethod
    def unmap(self, nic: int, page: int) -> None: ...

    @abstractmethod
    def watch(self, nic: int, address: int, seen: int, tag: int) -> None:
        """Tell when the NIC makes the word at this bus address, in a local page, differ from
        `seen`. Several words may share a tag."""

    def watch_words(self, nic: int, words: Words, tag: int) -> None:
        """Watch several words, as `watch` does one."""
        for address, seen in words:
            self.watch(nic, address, seen, tag)

    @abstractmethod
    def unwatch(self, nic: int, tag: int) -> None:
        """Watch no word of this tag any more."""

    def save(self) -> bytes | None:
        """All state of the units and what is between them; None if it cannot be saved now, or ever.
        What the host has mapped, watches and waits for is not part of it."""
        return None

    def restore(self, state: bytes) -> None:
        """Go on from what `save` of the same kind of engine with the same layout gave. Raises
        ValueError if it is not that."""
        raise ValueError(f"{type(self).__name__} cannot go on from a saved state")

    @abstractmethod
    def sram(self, nic: int, addresses: Sequence[int]) -> list[int]:
        """The words at these addresses of a NIC's SRAM, as they are now. Nothing in the simulation notices."""

    @abstractmethod
    def refused(self, nic: int) -> int:
        """Host memory accesses of a NIC that were answered with an error."""

    def faults(self, wire: int, plan: Sequence[Planned]) -> None:
        """Set the faults on a wire: 2 * cable from its first end to the other, 2 * cable + 1 back.
        Of several faults that hit a packet the first counts. Capability FAULTS."""
        self._lacks("faults")

    def fault_count(self, wire: int, kind: FaultKind) -> int:
        """Return how often a fault happened so far. Capability FAULTS."""
        self._lacks("faults")

    def wave(self, nic: int, file: Path, first: int, last: int) -> None:
        """Write a VCD of one NIC for slots `first` to `last`. Capability WAVES."""
        self._lacks("waveforms")

    def record(self, nic: int) -> None:
        """Keep the inputs of every slot of a NIC from now on. Capability RECORD."""
        self._lacks("recording")

    def recorded(self, nic: int) -> bytes:
        """Return the inputs that were kept: a NicInputs of native/nic.h for each slot that was evaluated.
        Capability RECORD."""
        self._lacks("recording")

    def _lacks(self, what: str) -> NoReturn:
        raise UserError(f"{type(self).__name__} has no {what}; take the rtl engine")

    @abstractmethod
    def close(self) -> None: ...
