"""The `rtl` engine: the gateware compiled by LLVM."""

import ctypes
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from lanai_hdl.config import NicConfig
from lanai_hdl.errors import UserError
from lanai_hdl.ring.config import RingConfig
from lanai_hdl.segment.config import SegmentConfig
from lanai_hdl.switch_config import SwitchConfig

from . import native_library
from .base import Access, Burst, Calls, Engine, Event, FaultKind, Layout, PackedBursts, Planned
from .cut import Part, Turn
from .declared import BURST, EVENT, FAULT, INPUTS, PIO, TURN, Ending
from .designs import Design
from .gates.table import Table, tables
from .gates.vcd import header
from .words import Continuation, Words, watching

Joining = SwitchConfig | SegmentConfig | RingConfig
STILL, CUT, ENDED = int(Ending.STILL), int(Ending.CUT), int(Ending.ENDED)  # asked with every call
U32, U64, POINTER = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "new": (POINTER, (U32, U32, U64, U64, POINTER, POINTER, ctypes.c_char_p)),
    "delete": (None, (POINTER,)),
    "wire": (None, (POINTER, U32, U32, U32, U32)),
    "barrier": (None, (POINTER, U32, U32, U32)),
    "options": (None, (POINTER, U32, U32)),
    "parts": (None, (POINTER, POINTER, POINTER, POINTER, U32)),
    "exchanges": (U64, (POINTER,)),
    "run": (U32, (POINTER, U64)),
    "run_turn": (U32, (POINTER, ctypes.c_char_p)),
    "tell_progress": (U32, (POINTER,)),
    "events": (U32, (POINTER, POINTER)),
    "save": (U64, (POINTER, POINTER)),
    "restore": (U32, (POINTER, ctypes.c_char_p, U64)),
    "quiet_until": (U64, (POINTER,)),
    "slot": (U64, (POINTER, U32)),
    "evaluated": (U64, (POINTER, U32)),
    "entries": (U64, (POINTER,)),
    "pio": (None, (POINTER, U32, POINTER, U32)),
    "bursts": (None, (POINTER, U32, U64, POINTER, U32, POINTER, U32, POINTER)),
    "give_back": (None, (POINTER,)),
    "map": (None, (POINTER, U32, U32, POINTER, U64, ctypes.c_int32, U32)),
    "unmap": (None, (POINTER, U32, U32)),
    "watch": (None, (POINTER, U32, U32, U32, U32)),
    "unwatch": (None, (POINTER, U32, U32)),
    "outside": (U64, (POINTER, U32)),
    "sram": (None, (POINTER, U32, POINTER, POINTER, U32)),
    "refused": (U64, (POINTER, U32)),
    "wave": (U32, (POINTER, U32, ctypes.c_char_p, POINTER, U32, ctypes.c_char_p, U64, U64, U64)),
    "faults": (None, (POINTER, U32, POINTER, U32)),
    "fault_count": (U64, (POINTER, U32, U32)),
    "record": (None, (POINTER, U32)),
    "recorded": (U64, (POINTER, U32, POINTER)),
    "replay": (U64, (ctypes.c_char_p, U64, POINTER, U32, POINTER)),
    "bare": (None, (POINTER, U32, U64)),
    # The rest is for NICs with probes.
    "trace_begin": (None, (POINTER, U32, POINTER, U32, POINTER, U32)),
    "trace_bytes": (U64, (POINTER,)),
    "trace_finish": (None, (POINTER, U32)),
    "trace_rows": (U64, (POINTER, U32, U32, POINTER)),
    "trace_clear": (None, (POINTER, U32)),
}


def build(
    nic: NicConfig, switch: Joining | None, *, trace: bool = False, probes: bool = False
) -> tuple[Table, Table | None]:
    """The models of such NICs, and of what joins them; made unless they are there.

    `trace`: a NIC's can write waveforms; `probes`: events.
    """
    wanted = [(Design(nic, probes), trace), *([] if switch is None else [(Design(switch), False)])]
    made = tables(wanted)
    return made[0], made[1] if switch is not None else None


@cache
def native() -> ctypes.CDLL:
    """The native engine's library, loaded."""
    loaded = ctypes.CDLL(str(native_library.library()))
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(loaded, f"engine_{name}")
        function.restype, function.argtypes = result, arguments
    return loaded


class RtlEngine(Engine):
    """NICs and switches compiled by LLVM. `skip` leaves out slots in which a unit is still, with the same
    results; so do `threads`.

    `trace` and `probes` are those of `build`. `part`: the units that are simulated here, if
    other processes have the others.
    """

    def __init__(
        self,
        layout: Layout,
        *,
        skip: bool = True,
        threads: int = 1,
        trace: bool = False,
        probes: bool = False,
        part: Part | None = None,
    ) -> None:
        super().__init__(layout)
        self.part = part
        switch = layout.switch if layout.switches else None
        self._nic, self._switch = build(layout.nic, switch, trace=trace, probes=probes)
        self._native = native()
        models = (self._nic, self._switch)
        self.state_key = "-".join([native_library.library().parent.name, *(one.key for one in models if one)])
        addresses = [one.address if one else None for one in models]
        here = None if part is None else bytes(unit in part.units for unit in range(layout.nics + layout.switches))
        sizes = (layout.nics, layout.switches, layout.latency, self.time.khz)
        self._engine = self._native.engine_new(*sizes, *addresses, here)
        for cable in layout.cables:
            self._native.engine_wire(self._engine, *cable)
            self._native.engine_wire(self._engine, cable.other_unit, cable.other_port, cable.unit, cable.port)
        for number, role in enumerate(layout.barrier):
            self._native.engine_barrier(self._engine, number, *role)
        self._native.engine_options(self._engine, skip, threads)
        self._events = POINTER()
        self._events_at = ctypes.byref(self._events)
        self._turn = ctypes.create_string_buffer(TURN.size)
        self._watching = watching(ctypes.cast(self._native.engine_watch, POINTER).value or 0, self._engine)
        self._closed = False
        if part is not None:
            links = part.links
            others = (POINTER * len(links.others))(*links.others)
            self._native.engine_parts(self._engine, links.exchange, links.argument, others, len(links.others))

    def leave_parts(self) -> None:
        """Go on without the other parts of the machine: nothing comes from them any more."""
        self._native.engine_parts(self._engine, None, None, None, 0)
        self.part = None

    @property
    def exchanges(self) -> int:
        """Return how often the parts of the machine have exchanged what is on their links."""
        return int(self._native.engine_exchanges(self._engine))

    def run(self, limit: int) -> tuple[bool, Sequence[Event]]:
        return self.ended(self._native.engine_run(self._engine, limit))

    def calls(self) -> Calls | None:
        if self.part is not None:
            return None
        native = self._native
        functions = (
            native.engine_run,
            native.engine_events,
            native.engine_slot,
            native.engine_bursts,
            native.engine_quiet_until,
        )
        return Calls(self._engine, *(ctypes.cast(one, POINTER).value or 0 for one in functions))

    def run_turn(self, turn: Turn) -> tuple[Turn, bool, Sequence[Event]]:
        """Run as a part of a machine, up to the limit of the part that wants the earliest. Return what all parts want
        together, and the rest as `run` does. The progress of units elsewhere is not known afterwards."""
        TURN.struct.pack_into(self._turn, 0, *turn)
        still, events = self.ended(self._native.engine_run_turn(self._engine, self._turn))
        limit, *flags = TURN.struct.unpack(self._turn)
        return Turn(limit, *map(bool, flags)), still, events

    def tell_progress(self) -> None:
        """Tell all other parts how far the units here are, and learn it of theirs."""
        if not self._native.engine_tell_progress(self._engine):
            self.ended(ENDED)

    def ended(self, ending: int) -> tuple[bool, Sequence[Event]]:
        if ending & ENDED:
            assert self.part is not None
            self.part.links.fail()
        self.cut_short = bool(ending & CUT)
        count = self._native.engine_events(self._engine, self._events_at)
        if not count:
            return bool(ending & STILL), ()
        raw = ctypes.string_at(self._events.value or 0, count * EVENT.size)
        return False, [Event(*event) for event in EVENT.struct.iter_unpack(raw)]

    def quiet_until(self) -> int:
        """0 without `skip`: then all that could be left out is done."""
        return int(self._native.engine_quiet_until(self._engine))

    def slot(self, unit: int) -> int:
        return int(self._native.engine_slot(self._engine, unit))

    def evaluated(self, unit: int) -> int:
        return int(self._native.engine_evaluated(self._engine, unit))

    @property
    def entries(self) -> int:
        """Return how often Python has called `run`."""
        return int(self._native.engine_entries(self._engine))

    def pio(self, nic: int, accesses: Sequence[Access]) -> None:
        packed = b"".join([PIO.struct.pack(*access, 0) for access in accesses])
        self._native.engine_pio(self._engine, nic, packed, len(accesses))

    def bursts(self, nic: int, begin: int, bursts: Sequence[Burst], tag: int) -> bool:
        packed = b"".join([BURST.struct.pack(burst.elapsed, burst.offset, len(burst.data)) for burst in bursts])
        data = b"".join([burst.data for burst in bursts])
        self._native.engine_bursts(self._engine, nic, begin, packed, len(bursts), data, tag, None)
        return True

    def packed_bursts(
        self, nic: int, begin: int, packed: PackedBursts, tag: int, continuation: Continuation | None = None
    ) -> bool:
        self._native.engine_bursts(
            self._engine, nic, begin, *packed, tag, None if continuation is None else continuation.address
        )
        return True

    def give_back(self) -> None:
        self._native.engine_give_back(self._engine)

    def map_local(self, nic: int, page: int, address: int, writable: bool) -> None:
        self._native.engine_map(self._engine, nic, page, address, 0, 0, writable)

    def map_remote(self, nic: int, page: int, pid: int, address: int, writable: bool) -> None:
        self._native.engine_map(self._engine, nic, page, None, address, pid, writable)

    def unmap(self, nic: int, page: int) -> None:
        self._native.engine_unmap(self._engine, nic, page)

    def watch(self, nic: int, address: int, seen: int, tag: int) -> None:
        self._native.engine_watch(self._engine, nic, address, seen, tag)

    def watch_words(self, nic: int, words: Words, tag: int) -> None:
        words.watch(*self._watching, nic, tag)

    def unwatch(self, nic: int, tag: int) -> None:
        self._native.engine_unwatch(self._engine, nic, tag)

    def sram(self, nic: int, addresses: Sequence[int]) -> list[int]:
        words = U32 * len(addresses)
        found = words()
        self._native.engine_sram(self._engine, nic, words(*addresses), found, len(addresses))
        return list(found)

    def outside(self, nic: int) -> int:
        """Return the slots in which the NIC's processor was outside its model."""
        return int(self._native.engine_outside(self._engine, nic))

    def refused(self, nic: int) -> int:
        return int(self._native.engine_refused(self._engine, nic))

    def faults(self, wire: int, plan: Sequence[Planned]) -> None:
        packed = b"".join([FAULT.struct.pack(*fault) for fault in plan])
        self._native.engine_faults(self._engine, wire, packed, len(plan))

    def fault_count(self, wire: int, kind: FaultKind) -> int:
        return int(self._native.engine_fault_count(self._engine, wire, kind))

    def wave(self, nic: int, file: Path, first: int, last: int) -> None:
        """The engine must have been made with `trace`."""
        half = 500_000_000 // self.layout.nic.slot_khz
        signals, count, names = self._nic.wave()
        text = header(names).encode()
        if not self._native.engine_wave(self._engine, nic, str(file).encode(), signals, count, text, first, last, half):
            raise UserError(
                f"cannot write the waveform {str(file)!r}; name a writable file, in an engine built for tracing"
            )

    def save(self) -> bytes | None:
        """None while something is queued, watched or recorded, and with faults or probes."""
        at = POINTER()
        size = self._native.engine_save(self._engine, ctypes.byref(at))
        return ctypes.string_at(at.value or 0, size) if size else None

    def restore(self, state: bytes) -> None:
        if not self._native.engine_restore(self._engine, state, len(state)):
            raise ValueError(f"{len(state)} bytes are not a state of an engine of this layout")

    def record(self, nic: int) -> None:
        self._native.engine_record(self._engine, nic)

    def recorded(self, nic: int) -> bytes:
        at = POINTER()
        count = self._native.engine_recorded(self._engine, nic, ctypes.byref(at))
        return ctypes.string_at(at.value or 0, count * INPUTS.size)

    def bare(self, slots: int) -> None:
        """Evaluate NIC 0 alone, with nothing around it, for comparison. The engine is of no use
        afterwards."""
        self._native.engine_bare(self._engine, 0, slots)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._native.engine_delete(self._engine)
