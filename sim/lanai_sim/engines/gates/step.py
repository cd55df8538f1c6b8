"""A netlist as one LLVM function, and where what it reads and writes lies.

`step(state, inputs, outputs, next, store)` is one slot: an edge of the clock with these inputs, and the outputs after
it. It reads the registers' fields from `state` and writes them to `next`. The caller lets the two change places, so
that no store has to wait for a load. `store` has what is changed where it lies: a pointer to the SRAM's words, the
run-time numbers, the memories.

`run(state, inputs, slots, outputs, next, store)` makes many such steps, and returns the last `next`.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lanai_hdl.errors import UserError

from .code import BYTES, Code, container
from .netlist import SRAM, Netlist
from .sources import WORD, Bits, Cell, Field, Outside, Port, Source, Wire, cut, width_of
from .values import Values

LINE = 64  # bytes: a block's size is a multiple of it
POINTER = 8  # bytes
METADATA = "!0 = !{i8 0, i8 2}\n"  # the values of one bit in its byte


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
    def of(cls, netlist: Netlist) -> "Layout":
        state = {one.name: one.width for one in netlist.fields}
        assert len(state) == len(netlist.fields), "two fields have one name"
        sram_words, numbers = 0, dict[str, int]()
        at = POINTER
        for cell in netlist.outside:
            if cell.kind == SRAM:
                state[_rdata(cell)] = 32
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
        blocks = (Block.of(state), Block.of(_widths(netlist.inputs)), Block.of(_widths(netlist.outputs)))
        return cls(*blocks, numbers, memories, -(-at // LINE) * LINE, sram_words)

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


def _widths(wires: Mapping[str, Wire]) -> dict[str, int]:
    return {name: wire.width for name, wire in wires.items()}


def _rdata(cell: Cell) -> str:
    return f"{cell.name}.rdata"


def text(netlist: Netlist, layout: Layout) -> str:
    """Return the LLVM text of `step` and `run`. Raises UserError for a loop or a cell that no model can have."""
    return f"{_Step(netlist, layout).text()}{_run(layout)}{METADATA}"


class _Step:
    def __init__(self, netlist: Netlist, layout: Layout) -> None:
        self.netlist, self.layout = netlist, layout
        self.code = Code("step")
        self.next: dict[str, str] = {}  # the fields after the edge
        places = {name: at for name, (at, _, _) in layout.memories.items()}
        self.now = Values(self.code, netlist, places, self._before, "now")
        self.then = Values(self.code, netlist, places, self._after, "then")

    def text(self) -> str:
        code = self.code
        for one in self.netlist.fields:
            self._set(one.name, self.now.of(one.next))
        written = [self._sram_access(cell) for cell in self.netlist.outside if cell.kind == SRAM]
        rows = [(cell, *self.now.row(cell), *self._data(cell)) for one in self.netlist.memories for cell in one.writes]
        for number, row in enumerate(rows):
            self._write_row(*row, f"write {number}")
        for name, wire in self.netlist.outputs.items():
            value = self.then.of([(wire, 0, wire.width)])
            code.store("%out", self.layout.outputs.places[name][0], wire.width, value)
        for number, (writes, at, value) in enumerate(written):
            code.do(f"br i1 {writes}, label %write{number}, label %go{number}")
            code.lines.append(f"write{number}:")
            code.do(f"store i32 {value}, ptr {at}")
            code.do(f"br label %go{number}")
            code.lines.append(f"go{number}:")
        code.do("ret void")
        read, written_to = ("%state", "%in"), ("%out", "%next", "%store")
        blocks = ", ".join(
            [*(f"ptr noalias readonly {one}" for one in read), *(f"ptr noalias {one}" for one in written_to)]
        )
        return "\n".join([*code.tables, f"define void @step({blocks}) {{", *code.lines, "}", ""])

    def _set(self, name: str, value: str) -> None:
        """Store at once what a field becomes: later, and it would hold a register of the processor until then."""
        self.next[name] = value
        self.code.store("%next", *self.layout.state.places[name], value)

    def _before(self, source: Source) -> str:
        """Return a value that is known before the edge."""
        if isinstance(source, Field):
            return self.code.load("%state", *self.layout.state.places[source.name])
        if isinstance(source, Port):
            return self.code.load("%in", *self.layout.inputs.places[source.name])
        assert isinstance(source, Outside)
        if source.cell.kind == SRAM:
            return self.code.load("%state", *self.layout.state.places[_rdata(source.cell)])
        number = self.code.load("%store", self.layout.numbers[source.port], 32)
        return self.code.trunc(number, 32, source.width)

    def _after(self, source: Source) -> str:
        """Return a value that is known after the edge."""
        if isinstance(source, Field):
            return self.next[source.name]
        if isinstance(source, Port):
            return self.code.load("%in", *self.layout.inputs.places[source.name])
        assert isinstance(source, Outside)
        return self.next[_rdata(source.cell)] if source.cell.kind == SRAM else self._before(source)

    def _sram_access(self, cell: Cell) -> tuple[str, str, str]:
        """Read the SRAM. Return whether a word is written, where, and its new value."""
        code = self.code
        enable, write, address, data, lanes = (
            self.now.of(cell.ports[name]) for name in ("enable", "write", "addr", "wdata", "be")
        )
        words = code.op("load ptr, ptr %store")
        address = code.zext(address, width_of(cell.ports["addr"]), 64)
        at = code.op(f"getelementptr i32, ptr {words}, i64 {address}")
        old = code.op(f"load i32, ptr {at}")
        reads = code.op(f"and i1 {enable}, {code.op(f'xor i1 {write}, -1')}")
        before = code.load("%state", *self.layout.state.places[_rdata(cell)])
        self._set(_rdata(cell), code.select(reads, 32, old, before))
        enabled = ""
        for lane in range(4):
            one = code.zext(code.sext(code.slice(lanes, 4, lane, 1), 1, 8), 8, 32)
            one = code.op(f"shl i32 {one}, {8 * lane}") if lane else one
            enabled = code.op(f"or i32 {one}, {enabled}") if enabled else one
        return code.op(f"and i1 {enable}, {write}"), at, code.merged(32, old, data, enabled)

    def _data(self, cell: Cell) -> tuple[list[str], list[tuple[str, int]]]:
        """Return a write port's data in words, and their enabled bits: a value and its width, 1 if all are alike."""
        assert cell.memory is not None
        data, enabled = [], []
        for first in range(0, cell.memory.width, WORD):
            size = min(WORD, cell.memory.width - first)
            data.append(self.now.of(cut(cell.ports["DATA"], first, size)))
            bits = cut(cell.ports["EN"], first, size)
            if len({(source, low) for source, low, _ in self._single(bits)}) == 1:
                bits = cut(bits, 0, 1)
            enabled.append((self.now.of(bits), width_of(bits)))
        return data, enabled

    def _single(self, bits: Bits) -> Iterator[tuple[Source | None, int, int]]:
        for source, low, width in self.netlist.resolved(bits):
            for bit in range(width):
                yield source, low + bit if source else low >> bit & 1, 1

    def _write_row(
        self, cell: Cell, at: str, there: str, data: list[str], enabled: list[tuple[str, int]], moment: str
    ) -> None:
        """Write one row, after all are read: of two ports that write the same row, both count."""
        assert cell.memory is not None
        code, size = self.code, min(container(cell.memory.width), WORD)
        for index, (value, (enable, bits)) in enumerate(zip(data, enabled, strict=True)):
            width = min(WORD, cell.memory.width - index * WORD)
            enable = code.select(there, bits, enable, "0")
            here = code.address(at, index * size // BYTES) if index else at
            old = code.op(f"load i{size}, ptr {here}, align {size // BYTES}", moment)
            new = code.zext(value, width, size)
            if bits == 1:
                new = code.select(enable, size, new, old)
            else:
                new = code.merged(size, old, new, code.zext(enable, width, size))
            code.do(f"store i{size} {new}, ptr {here}, align {size // BYTES}")


def _run(layout: Layout) -> str:
    return f"""
define ptr @run(ptr %state, ptr %in, i64 %slots, ptr %out, ptr %next, ptr %store) {{
begin:
  br label %loop
loop:
  %slot = phi i64 [ 0, %begin ], [ %following, %loop ]
  %old = phi ptr [ %state, %begin ], [ %new, %loop ]
  %new = phi ptr [ %next, %begin ], [ %old, %loop ]
  %inputs = getelementptr [{layout.inputs.size} x i8], ptr %in, i64 %slot
  %outputs = getelementptr [{layout.outputs.size} x i8], ptr %out, i64 %slot
  call void @step(ptr %old, ptr %inputs, ptr %outputs, ptr %new, ptr %store)
  %following = add i64 %slot, 1
  %more = icmp ult i64 %following, %slots
  br i1 %more, label %loop, label %end
end:
  ret ptr %new
}}
"""


def numbers_of(layout: Layout, store: bytearray, numbers: Mapping[str, int]) -> None:
    """Put the run-time numbers into a store. Raises UserError if they are not those of the model."""
    if {*layout.numbers} != {*numbers}:
        raise UserError(f"the model takes the numbers {_named(layout.numbers)}, not {_named(numbers)}")
    for name, value in numbers.items():
        struct.pack_into("<I", store, layout.numbers[name], value)


def _named(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
