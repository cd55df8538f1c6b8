"""The line that every run ends with, and what `lanai run -v` tells: from counts that are kept anyway, without a
trace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from lanai_firmware.image import Image
from lanai_hdl.isa.traps import CAUSES, TrapCause
from lanai_hdl.machine import REGISTERS_HOST, SRAM_HOST, Control, Event, Status, host_offset
from lanai_hdl.remote.csr import ENABLE
from lanai_host.adapter.boot import counter, register

from ..engines.base import Access, Engine, EventKind, SlotTime
from ..kernel.cluster import ClusterBus
from ..kernel.node import Node
from ..units import counted, format_time

# The state of each NIC when a run has come to a stop: read from its registers over its host bus, as a driver's author
# would.


REPLY_SLOTS = 100_000  # slots that an answer may take
SLOTS_PER_WORD = 1_000  # ... and as many more for each word
REGISTERS = ("TRAP_CAUSE", "TRAP_PC", "CONTROL", "ISR", "DOORBELL", "HDMA_STATUS", "SEND_STATUS", "RECV_STATUS")
TRAFFIC = ("TX_PACKETS", "RX_PACKETS")  # of the latter an adapter has none: its packets do not go to memory
TROUBLES = (
    "TX_DROPPED", "RX_CRC_ERRORS", "RX_TRUNCATED", "RX_OVERRUNS", "RX_MISROUTED", "RX_STRAYS", "RX_OVERFLOWS",
    "LINK_DOWNS",
    "RX_TIMEOUTS", "HDMA_ERRORS", "SEND_ERRORS", "RECV_REFUSED", "QUEUE_OVERFLOWS", "PIO_FAULTS", "LBUS_FAULTS",
)  # fmt: skip
TAGS = 1 << 31  # of these accesses: `Cluster.expect` counts from 1
TRAP_SITE = "__trap_site"


class NicMemory:
    """`stacks.base.Memory` of a node whose NIC was booted over `bus`."""

    def __init__(self, engine: Engine, bus: ClusterBus) -> None:
        self._engine, self._bus = engine, bus

    def words(self, addresses: Sequence[int]) -> list[int]:
        return self._engine.sram(self._bus.node.number, addresses)

    def host(self, bus_address: int, size: int) -> bytes:
        return self._bus.memory(bus_address, size)


def read(engine: Engine, nic: int, addresses: Sequence[int]) -> list[int]:
    """Words of the NIC's window. Fewer if it does not answer. The engine's other events, such as
    those of accesses that ranks have left behind, are ignored: the run is over."""
    first = engine.slot(nic)
    engine.pio(nic, [Access(first, False, address, tag=TAGS + i) for i, address in enumerate(addresses)])
    values: dict[int, int] = {}
    end = first + REPLY_SLOTS + SLOTS_PER_WORD * len(addresses)
    while len(values) < len(addresses) and engine.slot(nic) < end:
        _, events = engine.run(end)
        answers = [event for event in events if event.unit == nic and event.kind == EventKind.PIO_DONE]
        values |= {event.tag: event.value for event in answers if event.tag >= TAGS}
    return [values[tag] for tag in sorted(values)]


def describe(engine: Engine, nic: int, image: Image | None, still: bool, adapter: bool = False) -> str:
    """A line: has the processor trapped, and where; else what still moves, and what went wrong.

    Args:
        engine: what evaluates the NICs.
        nic: its number.
        image: its firmware, if it runs any.
        still: all NICs were, before they were asked.
        adapter: it was booted to work by its remote-memory adapter.
    """
    names = [*REGISTERS, *TRAFFIC, *TROUBLES]
    asked = [*map(host_offset, names), *([register("REMOTE_CONTROL"), counter("REMOTE_SERVED")] if adapter else [])]
    values = read(engine, nic, asked)
    if len(values) < len(asked):
        return f"  nic {nic}: does not answer on its host bus"
    found = dict(zip(names, values, strict=False))
    parts = [_processor(engine, nic, found, image, still), *_engines(found)]
    received = f"{found['RX_PACKETS']} received"
    if adapter:
        control, served = values[len(names) :]
        if not control & ENABLE:
            parts.append("its adapter is off: the NIC was RESET after its boot")
        received = f"{counted(served, 'request')} of others carried out"  # the rest of what came are answers
    parts += [f"{counted(found['TX_PACKETS'], 'packet')} sent, {received}"]
    parts += [f"{name} {found[name]}" for name in TROUBLES if found[name]]
    return f"  nic {nic}: {'; '.join(parts)}"


def _processor(engine: Engine, nic: int, found: Mapping[str, int], image: Image | None, still: bool) -> str:
    if image is None:
        return "its processor is not in use"
    if cause := found["TRAP_CAUSE"]:
        pc = found["TRAP_PC"]
        try:
            text = CAUSES[TrapCause(cause)]
        except ValueError:
            text = f"cause {cause}"
        where = image.where(pc)
        place = f", {Path(where.file).name}:{where.line}" if where.file else ""
        return f"its processor has TRAPPED at {pc:#x} in {where.function}{place}: {text}{_reason(engine, nic, image)}"
    if not found["CONTROL"] & Control.RUN:
        return "its processor is held in reset"
    events = Event(found["ISR"])
    pending = f", events {events.name} seen" if events else ""
    return f"its processor {'waits' if still else 'runs'}{pending}"


def _reason(engine: Engine, nic: int, image: Image) -> str:
    """Return the reason that the firmware gives, if it stopped itself."""
    if TRAP_SITE not in image.symbols:
        return ""
    site = read(engine, nic, [SRAM_HOST + image.symbols[TRAP_SITE].address])
    return f" ({image.trap_text(site[0])})" if site and site[0] else ""


def _engines(found: Mapping[str, int]) -> list[str]:
    parts = []
    for name, busy in (("HDMA", "host DMA runs"), ("SEND", "send DMA runs"), ("RECV", "a packet is arriving")):
        if found[f"{name}_STATUS"] & Status.BUSY:
            parts.append(busy)
    if not found["SEND_STATUS"] & Status.LINK_UP:
        parts.append("its link is down")
    if found["DOORBELL"]:
        parts.append(
            f"requests of local ranks {[rank for rank in range(32) if found['DOORBELL'] >> rank & 1]} not taken"
        )
    return parts


SPENT = ("PIO", "waiting")  # where ranks' time goes, beside the host's own work
SLOTS_A_CYCLE = 2
COUNTED = ("TX_PACKETS", "TX_FLITS", "SLOTS_CPU_USED", "SLOTS_CPU_WAITED", *TROUBLES)
MORE = "more: `lanai run --trace FILE ...`, then `lanai trace report FILE`, or profile, timeline, matrix"
HINT = "(-v: more, -q: nothing)"


@dataclass(frozen=True)
class Traffic:
    """The counts of one NIC, from its power-up to the end, in `slots` slots, of which the engine evaluated about
    `evaluated` and skipped the others.

    `flaw`: why that is not all, if it is not. `blocks`: the counts of each optional block, by its name, since the NIC
    was reset last.
    """

    slots: int
    counts: dict[str, int]
    evaluated: int = 0
    flaw: str = ""
    blocks: dict[str, dict[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Summary:
    """The results of a run that are known without a trace.

    `spent`: picoseconds of each rank by `SPENT`; `placement`: of buffers, a digest that is equal for runs whose buffers
    lay alike in their pages; `left`: objects that programs have not freed, by kind;
    `types`: of messages whose sender and receiver named different types, in sentences.
    """

    started: int = 0
    ends: tuple[int, ...] = ()
    spent: tuple[dict[str, int], ...] = ()
    nics: tuple[Traffic, ...] = ()
    placement: str = ""
    left: dict[str, int] = field(default_factory=dict)
    types: tuple[str, ...] = ()

    def up_to_the_end(self, slot_khz: int) -> Self:
        """Return the same with the slots of each NIC up to the end of the last rank. How far engines let NICs go on is
        their choice."""
        if not self.ends:
            return self
        slots = SlotTime(slot_khz).slot(max(self.ends))
        return replace(self, nics=tuple(replace(nic, slots=slots) for nic in self.nics))

    def closing(self) -> list[str]:
        """Return the one line that a run ends with, and others if programs have done what they should not."""
        if not self.ends:
            return []
        packets = f"; {counted(self._sum('TX_PACKETS'), 'packet')}, {self._troubles()}" if self.nics else ""
        return [f"{self._took()}{packets} {HINT}", *self._wrong()]

    def _took(self) -> str:
        return f"{counted(len(self.ends), 'rank')} took {format_time(max(self.ends) - self.started)} of simulated time"

    def _wrong(self) -> list[str]:
        found = []
        if self.left:
            told = ", ".join(counted(count, kind) for kind, count in sorted(self.left.items()))
            found.append(f"not freed when MPI ended: {told} (`lanai check` says which, and what else is wrong)")
        if self.types:
            more = f", and {len(self.types) - 1} more" if self.types[1:] else ""
            found.append(f"types differ: {self.types[0]}{more} (`lanai check` says where)")
        return found

    def _troubles(self) -> str:
        return ", ".join(f"{name} {count}" for name in TROUBLES if (count := self._sum(name))) or "no errors"

    def lines(self) -> list[str]:
        """Return all that is known."""
        if not self.ends:
            return []
        boot = f", after {format_time(self.started)} in which the NICs booted" if self.nics else ""
        found = [f"{self._took()}{boot}"]
        if self.nics:
            found += [self._ranks(), self._links(), self._processors(), *self._blocks()]
            found += [f"the ranks' buffers lay as {self.placement}"] if self.placement else []
            found += [f"not in these figures: {nic.flaw}" for nic in self.nics if nic.flaw]
        return [*found, *self._wrong(), MORE]

    def figures(self) -> dict[str, float]:
        """Return the summary as figures: simulated times, and the processor cycles that the NICs lived through."""
        found = {"run.simulated_us": (max(self.ends, default=self.started) - self.started) / 1e6}
        if self.nics:
            found["run.boot_us"] = self.started / 1e6
            found["run.nic_cycles"] = sum(nic.slots for nic in self.nics) // SLOTS_A_CYCLE
            found["run.nic_cycles_evaluated"] = sum(nic.evaluated for nic in self.nics) // SLOTS_A_CYCLE
            found |= {f"run.{name.lower().replace(' ', '_')}_us": time / 1e6 for name, time in self._parts().items()}
            found |= {f"run.{name.lower()}": self._sum(name) for name in COUNTED}
            for counts in self._block_counts().values():
                found |= {f"run.{name.lower()}": count for name, count in counts.items()}
        return found

    def rank_rows(self) -> list[dict[str, Any]]:
        """Return where each rank's time went, in microseconds since the ranks began. Without NICs only their end is
        known."""
        rows = []
        for rank, end in enumerate(self.ends):
            row: dict[str, Any] = {"rank": rank, "end_us": (end - self.started) / 1e6}
            if self.nics:
                spent = self.spent[rank]
                row |= {f"{name.lower()}_us": spent.get(name, 0) / 1e6 for name in SPENT}
                row["host_work_us"] = (end - self.started - sum(spent.get(name, 0) for name in SPENT)) / 1e6
            rows.append(row)
        return rows

    def nic_rows(self) -> list[dict[str, Any]]:
        """Return the counts of each NIC."""
        rows = []
        for number, nic in enumerate(self.nics):
            blocks = [counts for _, counts in sorted(nic.blocks.items())]
            counts = {name.lower(): count for table in (nic.counts, *blocks) for name, count in table.items()}
            cycles = {"cycles": nic.slots // SLOTS_A_CYCLE, "cycles_evaluated": nic.evaluated // SLOTS_A_CYCLE}
            rows.append({"nic": number, **cycles, **counts})
        return rows

    def _ranks(self) -> str:
        parts = self._parts()
        shares = [f"{name} {share(time, sum(parts.values()))}" for name, time in parts.items()]
        return f"the ranks' time: {', '.join(shares)}"

    def _parts(self) -> dict[str, int]:
        """Picoseconds of all ranks together."""
        parts = {name: sum(one.get(name, 0) for one in self.spent) for name in SPENT}
        return {**parts, "host work": sum(end - self.started for end in self.ends) - sum(parts.values())}

    def _links(self) -> str:
        packets, words = self._sum("TX_PACKETS"), self._sum("TX_FLITS")
        return f"the links: {counted(packets, 'packet')} in {counted(words, 'word')}; {self._troubles()}"

    def _processors(self) -> str:
        slots = sum(nic.slots for nic in self.nics)
        used, waited = self._sum("SLOTS_CPU_USED"), self._sum("SLOTS_CPU_WAITED")
        return (
            f"the NICs' processors: used {share(used, slots)} of all LBUS slots and waited for one in "
            f"{share(waited, slots)}"
        )

    def _blocks(self) -> list[str]:
        lines = []
        for block, counts in self._block_counts().items():
            happened = [f"{name} {count}" for name, count in counts.items() if count]
            lines.append(f"the NICs' block {block}: {', '.join(happened) or 'nothing counted'}")
        return lines

    def _block_counts(self) -> dict[str, dict[str, int]]:
        """Return the counts of the optional blocks, summed over all NICs."""
        found: dict[str, dict[str, int]] = {}
        for nic in self.nics:
            for block, counts in nic.blocks.items():
                mine = found.setdefault(block, dict.fromkeys(counts, 0))
                for name, count in counts.items():
                    mine[name] += count
        return found

    def _sum(self, name: str) -> int:
        return sum(nic.counts.get(name, 0) for nic in self.nics)


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "0 %"


def traffic(engine: Engine, nodes: Sequence[Node]) -> list[Traffic]:
    """Read the counters of all NICs. Call it when the run is over: reading takes slots."""
    slots = [engine.slot(node.number) for node in nodes]
    evaluated = [engine.evaluated(node.number) for node in nodes]
    found = []
    for node, slot, steps in zip(nodes, slots, evaluated, strict=True):
        counts, flaw = _counts(engine, node)
        found.append(Traffic(slot, counts, steps, flaw, {} if flaw else _of_blocks(engine, node)))
    return found


def _counts(engine: Engine, node: Node) -> tuple[dict[str, int], str]:
    """Return the NIC's counts, and why they are not all."""
    values = read(engine, node.number, [host_offset(name) for name in COUNTED])
    if len(values) < len(COUNTED):
        return {}, f"nic {node.number}, which does not answer on its host bus"
    counts = {name: value + node.kept.get(name, 0) for name, value in zip(COUNTED, values, strict=True)}
    lost = node.was_reset and not node.kept
    return counts, f"what nic {node.number} counted before it was reset" if lost else ""


def _of_blocks(engine: Engine, node: Node) -> dict[str, dict[str, int]]:
    found = {}
    for block in engine.layout.nic.blocks:
        counters = block.all_declared.counters
        values = read(engine, node.number, [REGISTERS_HOST + counter.offset for counter in counters])
        if counters and len(values) == len(counters):
            found[block.name] = {counter.name: value for counter, value in zip(counters, values, strict=True)}
    return found
