"""The hardware's reference pages, made by Sphinx from the sources: the machine, the instruction set, and ports and
contracts of the blocks of `lanai verilog` and of their interfaces, with waves that the gateware itself has made in
Amaranth's simulator.

A page has a line `<!-- NAME -->`, in whose place the part NAME comes. Nothing is written to a file.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

from amaranth import Module, UnusedElaboratable
from amaranth.lib import stream, wiring

from lanai_firmware import isa_table
from lanai_hdl.bfm import Bench, HostMemory, LinkSource, PioHost, PysimPins, SramModel, stream_get, stream_put
from lanai_hdl.bfm.pysim import number
from lanai_hdl.config import NicConfig
from lanai_hdl.control.register_file import RegisterFile
from lanai_hdl.host_bus.bus import HostBus
from lanai_hdl.link.cable import Cable
from lanai_hdl.link.flit import Kind
from lanai_hdl.machine import page as machine_page
from lanai_hdl.machine.page import table
from lanai_hdl.queue import Queue
from lanai_hdl.wrap.files import BLOCKS, STREAM_RULE, interfaces, make, plain, port_rows

SLOT, HEIGHT, GAP, LABEL = 34, 16, 12, 104  # pixels: a slot, a wave, between two of them, their names
STYLE = """
.paper { fill: #ffffff } .wave { stroke: #0a5fa8; fill: none; stroke-width: 1.5 } .grid { stroke: #d5dade }
text { font: 11px system-ui, sans-serif; fill: #1c2126 } .word { text-anchor: middle }
@media (prefers-color-scheme: dark) {
.paper { fill: #16191d } .wave { stroke: #5aa9ee } .grid { stroke: #363c43 } text { fill: #e8ebee } }
"""


@dataclass(frozen=True)
class Wave:
    """A signal's values, slot by slot. `text` writes one of more than a bit; a slot whose text is empty counts for
    nothing."""

    name: str
    values: Sequence[int]
    text: Callable[[int], str] | None = None


def svg(title: str, waves: Sequence[Wave]) -> str:
    """Draw waves, on one line: Markdown takes it as it is."""
    slots = len(waves[0].values)
    width, height = LABEL + SLOT * slots + 8, (HEIGHT + GAP) * len(waves) + 22
    parts = [f'<rect class="paper" width="{width}" height="{height}"/>']
    for slot in range(slots + 1):
        x = LABEL + SLOT * slot
        parts.append(f'<line class="grid" x1="{x}" y1="4" x2="{x}" y2="{height - 16}"/>')
        if slot < slots:
            parts.append(f'<text class="word" x="{x + SLOT // 2}" y="{height - 4}">{slot}</text>')
    for row, wave in enumerate(waves):
        top = 8 + row * (HEIGHT + GAP)
        parts.append(f'<text x="4" y="{top + 12}">{escape(wave.name)}</text>')
        parts += _levels(wave, top) if wave.text is None else _words(wave, top)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img">'
    style = " ".join(STYLE.split())
    return f"{head}<title>{escape(title)}</title><style>{style}</style>{''.join(parts)}</svg>"


def _levels(wave: Wave, top: int) -> list[str]:
    """A bit: a line that is high or low."""
    path = []
    for slot, value in enumerate(wave.values):
        x, y = LABEL + SLOT * slot, top + (0 if value else HEIGHT)
        path.append(f"{'L' if path else 'M'}{x} {y}H{x + SLOT}")
    return [f'<path class="wave" d="{"".join(path)}"/>']


def _words(wave: Wave, top: int) -> list[str]:
    """More than a bit: a box for each run of slots with one value."""
    assert wave.text is not None
    found, first = [], 0
    for slot in range(1, len(wave.values) + 1):
        if slot < len(wave.values) and wave.values[slot] == wave.values[first]:
            continue
        x, across = LABEL + SLOT * first, SLOT * (slot - first)
        if text := wave.text(wave.values[first]):
            found.append(f'<rect class="wave" x="{x + 2}" y="{top}" width="{across - 4}" height="{HEIGHT}" rx="4"/>')
            found.append(f'<text class="word" x="{x + across // 2}" y="{top + 12}">{escape(text)}</text>')
        else:
            found.append(f'<path class="wave" d="M{x} {top + HEIGHT // 2}H{x + across}"/>')
        first = slot
    return found


def recorded(bench: Bench, interface: Any, names: Sequence[str]) -> dict[str, list[int]]:
    """Let the bench run, and return what the named members were in each slot."""
    seen: dict[str, list[int]] = {name: [] for name in names}

    async def watch(context: Any) -> None:
        members = [getattr(interface, name) for name in names]
        async for _, _, *values in context.tick().sample(*members):
            for name, value in zip(names, values, strict=True):
                seen[name].append(number(value))

    bench.add_background(watch)
    bench.run()
    return seen


def only_with(valid: str, seen: dict[str, list[int]], *names: str) -> None:
    """Mark, with -1, slots in which these members count for nothing."""
    for name in names:
        seen[name] = [value if on else -1 for value, on in zip(seen[name], seen[valid], strict=True)]


def hexadecimal(value: int) -> str:
    text = f"{value:x}"
    return "" if value < 0 else f"\N{HORIZONTAL ELLIPSIS}{text[-3:]}" if value > 0xFFFFFF else text


def pio() -> list[Wave]:
    """A write of a word of the SRAM, one of a register, and a read of that register, on a host bus with one clock of
    setup."""
    config = NicConfig(sram_size=8192, host_bus_khz=NicConfig().slot_khz, pio_write_setup=1, pio_read_setup=1)
    bus, registers, top = HostBus(config), RegisterFile(), Module()
    top.submodules.bus, top.submodules.registers = bus, registers
    wiring.connect(top, bus.registers, registers.host)
    bench = Bench(top, 200)

    async def sram_serves(context: Any) -> None:
        await SramModel(PysimPins(context, bus.lbus), config.sram_size).serve()

    async def host(context: Any) -> None:
        host = PioHost(PysimPins(context, bus.pio))
        await host.write(0x40, 0xA1)
        await host.write_register("SCRATCH0", 0xA2)
        await host.read_register("SCRATCH0")
        await context.tick().repeat(2)

    bench.add_background(sram_serves)
    bench.add(host)
    names = ("valid", "ready", "write", "addr", "wdata", "rvalid", "rdata")
    seen = recorded(bench, bus.pio, names)
    seen["wdata"] = [value if write else -1 for value, write in zip(seen["wdata"], seen["write"], strict=True)]
    only_with("valid", seen, "addr", "wdata")
    only_with("rvalid", seen, "rdata")
    return [Wave(name, seen[name], hexadecimal if name in ("addr", "wdata", "rdata") else None) for name in names]


def memory() -> list[Wave]:
    """A burst of the NIC that reads three words of a host whose memory answers in the next slot."""
    bus = HostBus(NicConfig(sram_size=8192, read_setup=1))
    bench = Bench(bus, 200)

    async def memory_serves(context: Any) -> None:
        memory = HostMemory(PysimPins(context, bus.mem))
        memory.load(0x1000, b"".join(word.to_bytes(4, "big") for word in (0xB1, 0xB2, 0xB3)))
        await memory.serve()

    async def engine(context: Any) -> None:
        await stream_put(context, bus.engine.burst, [{"write": 0, "word": 0x1000 >> 2, "words": 3}])
        await stream_get(context, bus.engine.read, 3)

    bench.add_background(memory_serves)
    bench.add(engine)
    names = ("valid", "ready", "addr", "burst", "rvalid", "rdata")
    seen = recorded(bench, bus.mem, names)
    only_with("valid", seen, "addr", "burst")
    only_with("rvalid", seen, "rdata")
    return [Wave(name, seen[name], hexadecimal if name in ("addr", "burst", "rdata") else None) for name in names]


def link() -> list[Wave]:
    """A packet of three words, as its sender has it, in whose midst the receiver says STOP for three slots. A cable
    with a latency of one slot is between them."""
    cable = Cable(1)
    bench = Bench(cable, 100)

    async def sends(context: Any) -> None:
        await LinkSource(PysimPins(context, cable.i)).send([0xC1, 0xC2, 0xC3])
        await context.tick().repeat(2)

    async def stops(context: Any) -> None:
        await context.tick()
        context.set(cable.o.stop, 1)
        await context.tick().repeat(3)
        context.set(cable.o.stop, 0)

    bench.add(stops)
    bench.add(sends)
    seen = recorded(bench, cable.i, ("kind", "data", "stop"))
    seen["carries"] = [kind != Kind.IDLE.value for kind in seen["kind"]]
    only_with("carries", seen, "kind", "data")
    return [
        Wave("kind", seen["kind"], lambda kind: "" if kind < 0 else Kind(kind).name),
        Wave("data", seen["data"], hexadecimal),
        Wave("stop", seen["stop"]),
    ]


def a_stream() -> list[Wave]:
    """Three words through a queue whose reader pauses."""
    queue = Queue(8, 2)
    bench = Bench(queue, 100)

    async def puts(context: Any) -> None:
        await stream_put(context, queue.i, [1, 2, 3])

    async def takes(context: Any) -> None:
        await context.tick().repeat(4)
        await stream_get(context, queue.o, 3)

    bench.add(puts)
    bench.add(takes)
    seen = recorded(bench, queue.i, ("valid", "ready", "payload"))
    only_with("valid", seen, "payload")
    return [Wave("valid", seen["valid"]), Wave("ready", seen["ready"]), Wave("payload", seen["payload"], hexadecimal)]


WAVES: dict[str, Callable[[], list[Wave]]] = {  # by interface
    "PioPort": pio,
    "HostMemoryPort": memory,
    "LinkPort": link,
    "Streams": a_stream,
}


def blocks() -> str:
    """The blocks of `lanai verilog`, then the interfaces that they have, as Markdown."""
    lines: list[str] = []
    signatures: dict[str, Any] = {}
    for kind, (what, _) in BLOCKS.items():
        component = make(kind, {}).component
        lines += [f"## {kind}", "", f"`lanai verilog {kind}` writes {what}.", ""]
        lines += table(("port", "direction", "bits"), port_rows(component))
        lines += [plain(type(component).__doc__ or ""), ""]
        for signature in interfaces(component):
            signatures.setdefault(_name(signature), signature)
    lines += ["## Interfaces", "", "Directions are those of the side that a contract names.", ""]
    for name, signature in sorted(signatures.items()):
        text = STREAM_RULE if name == "Streams" else plain(type(signature).__doc__ or "")
        lines += [f"### {name}", "", text, ""]
        if name != "Streams":
            lines += table(("member", "direction", "bits"), port_rows(signature.create()))
        if name in WAVES:
            told = " ".join((WAVES[name].__doc__ or "").split())
            lines += [f"{told} Slots are numbered below.", "", f"<div>{svg(name, WAVES[name]())}</div>", ""]
    return "\n".join(lines)


def _name(signature: Any) -> str:
    return "Streams" if isinstance(signature, stream.Signature) else type(signature).__name__


PARTS: dict[str, Callable[[], str]] = {
    "blocks": blocks,
    "isa": lambda: "\n".join(isa_table.lines()),
    "machine": machine_page.page,
}


def filled(text: str) -> str:
    """Return a page with the parts that it asks for."""
    for name, part in PARTS.items():
        marker = f"<!-- {name} -->"
        if marker in text:
            text = text.replace(marker, part())
    return text


def setup(app: Any) -> dict[str, bool]:
    warnings.simplefilter("ignore", UnusedElaboratable)  # a block is made for the sake of its ports

    def read(app: Any, name: str, source: list[str]) -> None:
        source[0] = filled(source[0])

    app.connect("source-read", read)
    return {"parallel_read_safe": True}
