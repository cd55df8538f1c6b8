"""Blocks of named values in memory: what a model reads and writes."""

import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lanai_hdl.errors import UserError

from .code import BYTES, container
from .netlist import SRAM, Netlist
from .sources import Cell, Wire, width_of

LINE = 64  # bytes: a block's size is a multiple of it
POINTER = 8  # bytes


@dataclass
class Block:
    """Named values in memory: name to offset in bytes and width in bits."""

    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    size: int = 0

    @classmethod
    def of(cls, widths: Mapping[str, int]) -> "Block":
        """The widest first, so that none needs a gap before it."""
        block, at = cls(), 0
        for name, width in sorted(widths.items(), key=lambda one: -container(one[1])):
            block.places[name] = (at, width)
            at += container(width) // BYTES
        block.size = -(-max(at, 1) // LINE) * LINE
        return block

    def add(self, widths: Mapping[str, int]) -> None:
        """Put more values behind those that are there."""
        if widths:
            more = Block.of(widths)
            self.places |= {name: (self.size + at, width) for name, (at, width) in more.places.items()}
            self.size += more.size


@dataclass
class Layout:
    """The blocks of a model. `memories` have an offset in the store, the bits of a row's container and its rows."""

    state: Block
    inputs: Block
    outputs: Block
    numbers: dict[str, int]
    memories: dict[str, tuple[int, int, int]]
    store_size: int
    sram_words: int

    @classmethod
    def of(cls, netlist: Netlist, inputs: Block | None = None, outputs: Block | None = None) -> "Layout":
        """The layout of a netlist, whose ports lie as these blocks say, or anywhere."""
        state = {one.name: one.width for one in netlist.fields}
        _refuse_doubles(netlist)
        sram_words, numbers = 0, dict[str, int]()
        at = POINTER
        for cell in netlist.outside:
            if cell.kind == SRAM:
                state[rdata(cell)] = 32
                sram_words = 1 << width_of(cell.ports["addr"])
            else:
                for name in cell.ports:
                    numbers[name] = at
                    at += 4
        memories = {}
        for memory in netlist.memories:
            at = -(-at // LINE) * LINE
            memories[memory.name] = (at, container(memory.width), memory.depth)
            at += memory.depth * container(memory.width) // BYTES
        inputs = inputs or Block.of(widths_of(netlist.inputs))
        outputs = outputs or Block.of(widths_of(netlist.outputs))
        return cls(Block.of(state), inputs, outputs, numbers, memories, -(-at // LINE) * LINE, sram_words)

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> "Layout":
        """Return the layout that `dataclasses.asdict` wrote, by way of JSON."""
        state, inputs, outputs = (Block(**told.pop(name)) for name in ("state", "inputs", "outputs"))
        return cls(state, inputs, outputs, **told)

    def beginning(self, netlist: Netlist) -> tuple[bytes, bytes]:
        """Return the state and the store before the first slot. The SRAM's pointer and the numbers are 0."""
        state, store = bytearray(self.state.size), bytearray(self.store_size)
        for one in netlist.fields:
            at, size = self.state.places[one.name][0], container(one.width) // BYTES
            state[at : at + size] = one.init.to_bytes(size, "little")
        for memory in netlist.memories:
            at, bits, _ = self.memories[memory.name]
            rows = b"".join(value.to_bytes(bits // BYTES, "little") for value in memory.init)
            store[at : at + len(rows)] = rows
        return bytes(state), bytes(store)


def _refuse_doubles(netlist: Netlist) -> None:
    counts = Counter([*(one.name for one in netlist.fields), *(one.name for one in netlist.memories)])
    name, count = counts.most_common(1)[0] if counts else ("", 0)
    if count > 1:
        raise UserError(f"{name!r} is the name of {count} registers or memories; give each a name of its own")
    srams = [cell.name for cell in netlist.outside if cell.kind == SRAM]
    if len(srams) > 1:
        raise UserError(f"{srams[1]!r} is a second {SRAM}; a model by LLVM has one")


def widths_of(wires: Mapping[str, Wire]) -> dict[str, int]:
    return {name: wire.width for name, wire in wires.items()}


def rdata(cell: Cell) -> str:
    return f"{cell.name}.rdata"


def numbers_of(layout: Layout, store: bytearray, numbers: Mapping[str, int]) -> None:
    """Put the run-time numbers into a store. Raises UserError if they are not those of the model."""
    if {*layout.numbers} != {*numbers}:
        raise UserError(f"the model takes the numbers {_named(layout.numbers)}, not {_named(numbers)}")
    for name, value in numbers.items():
        struct.pack_into("<I", store, layout.numbers[name], value)


def _named(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
