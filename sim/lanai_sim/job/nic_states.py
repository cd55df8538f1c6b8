"""The state of each NIC when a run has come to a stop: read from its registers over its host bus, as a driver's author
would.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from lanai_firmware.image import Image
from lanai_hdl.isa.traps import CAUSES, TrapCause
from lanai_hdl.machine import SRAM_HOST, Control, Event, Status, host_offset
from lanai_hdl.remote.csr import ENABLE
from lanai_host.adapter.boot import register

from ..engines.base import Access, Engine, EventKind
from ..kernel.cluster import ClusterBus
from ..units import counted

REPLY_SLOTS = 100_000  # slots that an answer may take
SLOTS_PER_WORD = 1_000  # ... and as many more for each word
REGISTERS = ("TRAP_CAUSE", "TRAP_PC", "CONTROL", "ISR", "DOORBELL", "HDMA_STATUS", "SEND_STATUS", "RECV_STATUS")
TRAFFIC = ("TX_PACKETS", "RX_PACKETS")
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
    controls = [register("REMOTE_CONTROL")] if adapter else []
    values = read(engine, nic, [*(host_offset(name) for name in names), *controls])
    if len(values) < len(names) + len(controls):
        return f"  nic {nic}: does not answer on its host bus"
    found = dict(zip(names, values, strict=False))
    parts = [_processor(engine, nic, found, image, still), *_engines(found)]
    if controls and not values[-1] & ENABLE:
        parts.append("its adapter is off: the NIC was RESET after its boot")
    parts += [f"{counted(found['TX_PACKETS'], 'packet')} sent, {found['RX_PACKETS']} received"]
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
