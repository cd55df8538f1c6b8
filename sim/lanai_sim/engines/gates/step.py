"""A netlist as one LLVM function.

`step(state, inputs, outputs, next, store)` is one slot: an edge of the clock with these inputs, and the outputs after
it. It reads the registers' fields from `state` and writes them to `next`. The caller lets the two change places, so
that no store has to wait for a load. `store` has what is changed where it lies: a pointer to the SRAM's words, the
run-time numbers, the memories. `show`, with the same arguments, gives the outputs as they are without an edge.

`run(state, inputs, slots, outputs, next, store)` makes many such steps, and returns the last `next`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from .code import BYTES, Code, container
from .layout import Layout, rdata
from .netlist import SRAM, Netlist
from .sources import WORD, Bits, Cell, Field, Outside, Port, Source, cut, width_of
from .values import Values

# The choice among the copies of a step: one masked comparison of the state for each case.

VECTOR = 32  # bytes that are compared at once


def dispatch(layout: Layout, cases: Sequence[Mapping[str, int]]) -> str:
    """The function `step`: the step of the first case that fits, else `step_any`."""
    blocks = (
        "ptr noalias readonly %state, ptr noalias readonly %in, ptr noalias %out, ptr noalias %next, ptr noalias %store"
    )
    arguments = "ptr %state, ptr %in, ptr %out, ptr %next, ptr %store"
    lines = [f"define void @step({blocks}) {{", "  br label %try0"]
    for number, values in enumerate(cases):
        lines += [f"try{number}:", *_guard(layout, values, f"g{number}_")]
        lines += [f"  br i1 %g{number}_fits, label %do{number}, label %try{number + 1}", f"do{number}:"]
        lines += [f"  tail call void @step_case{number}({arguments})", "  ret void"]
    lines += [f"try{len(cases)}:", f"  tail call void @step_any({arguments})", "  ret void", "}"]
    return "\n".join([*lines, "declare i64 @llvm.vector.reduce.or.v4i64(<4 x i64>)", ""])


def _guard(layout: Layout, values: Mapping[str, int], prefix: str) -> list[str]:
    mask, wanted = bytearray(layout.state.size), bytearray(layout.state.size)
    for name, value in values.items():
        at, width = layout.state.places[name]
        size = container(width) // BYTES
        mask[at : at + size] = b"\xff" * size
        wanted[at : at + size] = value.to_bytes(size, "little")
    lines, last = [], ""
    for at in range(0, layout.state.size, VECTOR):
        if not any(mask[at : at + VECTOR]):
            continue
        here = f"%{prefix}{at}"
        lines += [
            f"  {here}p = getelementptr i8, ptr %state, i64 {at}",
            f"  {here}l = load <4 x i64>, ptr {here}p, align 8",
            f"  {here}m = and <4 x i64> {here}l, {_vector(mask[at : at + VECTOR])}",
            f"  {here}x = xor <4 x i64> {here}m, {_vector(wanted[at : at + VECTOR])}",
        ]
        if last:
            lines.append(f"  {here}o = or <4 x i64> {last}, {here}x")
        last = f"{here}o" if last else f"{here}x"
    lines.append(f"  %{prefix}all = call i64 @llvm.vector.reduce.or.v4i64(<4 x i64> {last})")
    return [*lines, f"  %{prefix}fits = icmp eq i64 %{prefix}all, 0"]


def _vector(part: bytes | bytearray) -> str:
    words = (int.from_bytes(part[at : at + 8], "little") for at in range(0, VECTOR, 8))
    return f"<{', '.join(f'i64 {word}' for word in words)}>"


NOTHING: Mapping[str, int] = {}
METADATA = "!0 = !{i8 0, i8 2}\n"  # the values of one bit in its byte


def text(
    netlist: Netlist,
    layout: Layout,
    more: Mapping[str, Bits] | None = None,
    functions: Iterable[Code] = (),
    cases: Sequence[Mapping[str, int]] = (),
) -> str:
    """Return the LLVM text of `step`, `show` and `run`, and of other functions with the arguments of a step. `more`:
    outputs that are not ports. `cases`: values of fields, for each of which `step` has a copy. Raises UserError
    for a loop or a cell that no model can have."""
    outputs: dict[str, Bits] = {name: [(wire, 0, wire.width)] for name, wire in netlist.outputs.items()}
    outputs |= more or {}
    outputs = {name: outputs[name] for name in layout.outputs.places}
    codes = [_Step(netlist, layout, outputs, "show").shown(), *functions]
    codes.append(_Step(netlist, layout, outputs, "step_any" if cases else "step").stepped())
    for number, values in enumerate(cases):
        codes.append(_Step(netlist, layout, outputs, f"step_case{number}", values).stepped())
    tables = dict.fromkeys(table for code in codes for table in code.tables)
    chooses = [dispatch(layout, cases)] if cases else []
    return "\n".join([*tables, *map(_function, codes), *chooses, _run(layout), METADATA])


def _function(code: Code) -> str:
    """The text of a function of a model."""
    read, written_to = ("%state", "%in"), ("%out", "%next", "%store")
    blocks = ", ".join(
        [*(f"ptr noalias readonly {one}" for one in read), *(f"ptr noalias {one}" for one in written_to)]
    )
    return "\n".join(
        [f"define {'hidden ' * ('_' in code.name)}void @{code.name}({blocks}) {{", *code.lines, "  ret void", "}", ""]
    )


class Reader:
    """Reads what is known before an edge."""

    def __init__(self, netlist: Netlist, layout: Layout) -> None:
        self.netlist, self.layout = netlist, layout
        self.memories = {name: at for name, (at, _, _) in layout.memories.items()}

    def before(self, code: Code, source: Source) -> str:
        if isinstance(source, Field):
            return code.load("%state", *self.layout.state.places[source.name])
        if isinstance(source, Port):
            return code.load("%in", *self.layout.inputs.places[source.name])
        assert isinstance(source, Outside)
        if source.cell.kind == SRAM:
            return code.load("%state", *self.layout.state.places[rdata(source.cell)])
        return code.trunc(code.load("%store", self.layout.numbers[source.port], 32), 32, source.width)


class _Step(Reader):
    def __init__(
        self,
        netlist: Netlist,
        layout: Layout,
        outputs: Mapping[str, Bits],
        name: str,
        known: Mapping[str, int] = NOTHING,
    ) -> None:
        super().__init__(netlist, layout)
        self.outputs, self.known = outputs, known
        self.code = Code(name)
        self.next: dict[str, str] = {}  # the fields after the edge
        self.now = Values(self.code, netlist, self.memories, self._before, "now")
        self.then = Values(self.code, netlist, self.memories, self._after, "then")

    def stepped(self) -> Code:
        code = self.code
        for one in self.netlist.fields:
            self._set(one.name, self.now.of(one.next))
        written = [self._sram_access(cell) for cell in self.netlist.outside if cell.kind == SRAM]
        rows = [(cell, *self.now.row(cell), *self._data(cell)) for one in self.netlist.memories for cell in one.writes]
        for number, row in enumerate(rows):
            self._write_row(*row, f"write {number}")
        self._put_out(self.then)
        for number, (writes, at, value) in enumerate(written):
            code.do(f"br i1 {writes}, label %write{number}, label %go{number}")
            code.lines.append(f"write{number}:")
            code.do(f"store i32 {value}, ptr {at}")
            code.do(f"br label %go{number}")
            code.lines.append(f"go{number}:")
        return code

    def shown(self) -> Code:
        self._put_out(self.now)
        return self.code

    def _put_out(self, values: Values) -> None:
        for name, bits in self.outputs.items():
            self.code.store("%out", self.layout.outputs.places[name][0], width_of(bits), values.of(bits))

    def _set(self, name: str, value: str) -> None:
        """Store at once what a field becomes: later, and it would hold a register of the processor until then."""
        self.next[name] = value
        self.code.store("%next", *self.layout.state.places[name], value)

    def _before(self, source: Source) -> str:
        if isinstance(source, Field) and source.name in self.known:
            return str(self.known[source.name])
        return self.before(self.code, source)

    def _after(self, source: Source) -> str:
        """Return a value that is known after the edge."""
        if isinstance(source, Field):
            return self.next[source.name]
        if isinstance(source, Port):
            return self.code.load("%in", *self.layout.inputs.places[source.name])
        assert isinstance(source, Outside)
        return self.next[rdata(source.cell)] if source.cell.kind == SRAM else self._before(source)

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
        before = code.load("%state", *self.layout.state.places[rdata(cell)])
        self._set(rdata(cell), code.select(reads, 32, old, before))
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
