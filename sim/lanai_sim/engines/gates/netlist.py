"""A design as one flat netlist: wires, and for each run of a wire's bits the one source that drives it.

Nothing is evaluated here. Registers are cut into fields where their next values are made of different things, for then
each field is worked out, stored and compared on its own.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Any

from lanai_hdl.errors import UserError

from . import rtlil
from .rtlil import plain
from .sources import (
    WORD,
    Alias,
    Assigned,
    Assignment,
    Bits,
    Cell,
    Choice,
    Field,
    Memory,
    Output,
    Outside,
    Port,
    Row,
    Runs,
    Source,
    Wire,
    bits_of,
    cut,
    join,
    unknown,
)

CLOCK = "clk"
CLOCKED = ("$dff", "$memrd_v2", "$memwr_v2")
# Modules that are not in the text: their outputs. Those of NUMBERS are all of its ports.
SRAM, NUMBERS = "lanai_sram", "lanai_numbers"
OUTSIDE = {SRAM: ("rdata",), NUMBERS: None}


class Netlist:
    """The design of an RTLIL text. `ports` are the top's by name; `fields` those of all registers; `outside` cells of
    modules that are not in the text. Raises UserError for what no model can be made of, with its name."""

    def __init__(self, text: str) -> None:
        self.modules, top = rtlil.read(text)
        self.fields: list[Field] = []
        self.memories: list[Memory] = []
        self.outside: list[Cell] = []
        self.wires: list[Wire] = []
        self._clocked: list[Cell] = []
        self._registers: list[tuple[Wire, int, int, Bits]] = []  # bits of a wire, and what they become
        wires = self._instance(top, plain(top))
        directions = self.modules[top].ports
        for name, way in directions.items():
            if way == "inout":
                raise UserError(f"{plain(name)!r} is an inout, which a model by LLVM cannot have; take two ports")
        self.inputs = {plain(name): wires[name] for name, way in directions.items() if way == "input"}
        self.outputs = {plain(name): wires[name] for name, way in directions.items() if way == "output"}
        for name, wire in self.inputs.items():
            wire.sources.append(Port(0, wire.width, name))
        for wire in self.wires:
            wire.sources.sort(key=lambda source: source.at)
        for cell in self._clocked:
            self._check_clock(cell)
        for register in self._registers:
            self._cut(*register)

    def resolved(self, bits: Bits) -> Runs:
        """Return what drives these bits, through all aliases. None with a value stands for a constant."""
        found: Runs = []
        for wire, low, width in bits:
            if wire is None:
                join(found, (None, low, width))
                continue
            while width:
                index = bisect_right(wire.sources, low, key=lambda source: source.at) - 1
                source = wire.sources[index] if index >= 0 else None
                if source is None or source.at + source.width <= low:  # not driven: stays as it began
                    after = wire.sources[index + 1].at if index + 1 < len(wire.sources) else wire.width
                    some = min(width, after - low)
                    join(found, (None, wire.init >> low & (1 << some) - 1, some))
                else:
                    some = min(width, source.at + source.width - low)
                    if isinstance(source, Alias):
                        for one in self.resolved(cut(source.bits, low - source.at, some)):
                            join(found, one)
                    else:
                        join(found, (source, low - source.at, some))
                low, width = low + some, width - some
        return found

    def scopes(self) -> dict[str, dict[str, Any]]:
        """Return for each module the names of its wires' values, and the modules of its instances."""
        return {
            plain(name): {
                "enums": {plain(wire): values for wire, values in one.enums.items()},
                "inside": {plain(cell.name): plain(cell.kind) for cell in one.cells if cell.kind in self.modules},
            }
            for name, one in self.modules.items()
        }

    def wires_of(self, module: str) -> dict[str, Wire]:
        """Return the wires of one module by name. Its path ends in a dot."""
        found = ((wire.name.removeprefix(module), wire) for wire in self.wires if wire.name.startswith(module))
        return {name: wire for name, wire in found if "." not in name}

    def named(self) -> dict[str, Bits]:
        """Return the signals to which the gateware gives names, but clocks, by their path."""
        names = ((wire, wire.name.rpartition(".")[2]) for wire in self.wires if wire.width)
        return {wire.name: [(wire, 0, wire.width)] for wire, name in names if name[0] != "$" and name != CLOCK}

    def name_of(self, sources: Collection[Source]) -> str:
        """Return the name that the gateware gives to a signal that some of these sources drive, for messages."""
        for wire in self.wires:
            if "$" not in wire.name and any(one in sources for one, _, _ in self.resolved([(wire, 0, wire.width)])):
                return wire.name
        return "a signal without a name"

    def _instance(self, module: str, path: str) -> dict[str, Wire]:
        text = self.modules[module]
        wires = {name: Wire(f"{path}.{plain(name)}", *shape) for name, shape in text.wires.items()}
        self.wires += wires.values()
        memories = {}
        for name, (width, depth) in text.memories.items():
            memories[name] = Memory(f"{path}.{plain(name)}", width, depth, [0] * depth)
        self.memories += memories.values()
        for left, right in text.connects:
            self._alias(bits_of(left, wires), bits_of(right, wires))
        for process in text.processes:
            self._process(process, wires)
        for one in text.cells:
            ports = {port: bits_of(spec, wires) for port, spec in one.ports.items()}
            cell = Cell(plain(one.kind), f"{path}.{plain(one.name)}", one, ports)
            if one.kind in self.modules:
                inner = self._instance(one.kind, cell.name)
                for port, outer in ports.items():
                    whole: Bits = [(inner[f"\\{port}"], 0, inner[f"\\{port}"].width)]
                    is_input = self.modules[one.kind].ports[f"\\{port}"] == "input"
                    self._alias(*((whole, outer) if is_input else (outer, whole)))
            else:
                self._cell(cell, memories)
        return wires

    def _cell(self, cell: Cell, memories: dict[str, Memory]) -> None:
        if cell.kind in CLOCKED and (cell.kind != "$memrd_v2" or cell.text.number("CLK_ENABLE")):
            self._clocked.append(cell)
        if cell.kind.startswith("$mem"):
            cell.memory = memories[cell.text.parameters["MEMID"].strip('"').replace("\\\\", "\\")]
        if cell.kind == "$dff":
            self._register(cell.ports["Q"], cell.ports["D"])
        elif cell.kind == "$memwr_v2" and cell.memory:
            cell.memory.writes.append(cell)
        elif cell.kind == "$memrd_v2":
            self._read_port(cell)
        elif cell.kind == "$meminit_v2" and cell.memory:
            [(_, data, _)] = cell.ports["DATA"]
            width = cell.memory.width
            cell.memory.init = [data >> width * row & (1 << width) - 1 for row in range(cell.memory.depth)]
        elif cell.kind in OUTSIDE:
            self.outside.append(cell)
            for port in OUTSIDE[cell.kind] or cell.ports:
                [(wire, low, width)] = cell.ports[port]
                _wire(wire).sources.append(Outside(low, width, cell, port))
        elif "Y" in cell.ports:
            [(wire, low, width)] = cell.ports["Y"]
            _wire(wire).sources.append(Output(low, width, cell))
        else:
            raise unknown(cell)

    def _register(self, bits: Bits, after: Bits) -> None:
        [(wire, low, width)] = bits
        self._registers.append((_wire(wire), low, width, after))
        # Stands there while fields are not cut: what resolves to it is made of the register.
        _wire(wire).sources.append(Field(low, width, _wire(wire).name, _wire(wire).name, after, 0))

    def _read_port(self, cell: Cell) -> None:
        """The row, or if the port has a clock, a register that takes the row while the port is enabled."""
        [(wire, low, width)] = cell.ports["DATA"]
        row = _wire(wire)
        if cell.text.number("CLK_ENABLE"):
            if cell.text.number("TRANSPARENCY_MASK"):
                raise UserError(
                    f"{row.name!r} is read by a transparent port, which a model by LLVM cannot have; choose between "
                    "the row and what is written by logic of your own"
                )
            row, after = Wire(f"{row.name}$row", width), Wire(f"{row.name}$next", width)
            self.wires += [row, after]
            ports: dict[str, Bits] = {"S": cell.ports["EN"], "A": [(wire, low, width)], "B": [(row, 0, width)]}
            after.sources.append(Output(0, width, Cell("$mux", after.name, rtlil.Cell("$mux", ""), ports)))
            self._register([(wire, low, width)], [(after, 0, width)])
            low = 0
        for first in range(0, width, WORD):
            row.sources.append(Row(low + first, min(WORD, width - first), cell, first // WORD))

    def _alias(self, left: Bits, right: Bits) -> None:
        at = 0
        for wire, low, width in left:
            _wire(wire).sources.append(Alias(low, width, cut(right, at, width)))
            at += width

    def _process(self, statements: list[rtlil.Assign | rtlil.Switch], wires: dict[str, Wire]) -> None:
        """One source for each run of bits that are assigned in the same places."""
        targets: dict[Wire, list[tuple[int, int, int]]] = {}  # (from bit, to bit, number of the body)
        bodies = 0

        def read(statements: list[rtlil.Assign | rtlil.Switch]) -> list[Assignment | Choice]:
            nonlocal bodies
            bodies += 1
            mine, body = bodies, list[Assignment | Choice]()
            for one in statements:
                if isinstance(one, rtlil.Switch):
                    cases = [(patterns, read(inner)) for patterns, inner in one.cases]
                    assigned = {wire for _, inner in cases for each in inner for wire in _assigned_by(each)}
                    body.append(Choice(bits_of(one.test, wires), cases, assigned))
                else:
                    at, right = 0, bits_of(one.right, wires)
                    for left, low, width in bits_of(one.left, wires):
                        wire = _wire(left)
                        targets.setdefault(wire, []).append((low, low + width, mine))
                        body.append(Assignment(wire, low, width, cut(right, at, width)))
                        at += width
            return body

        body = read(statements)
        for wire, assigned in targets.items():
            points = sorted({point for low, high, _ in assigned for point in (low, high)})
            runs = []
            for low, high in pairwise(points):
                if where := {number for at, end, number in assigned if at <= low and high <= end}:
                    runs.append((low, high, where))
            for low, high in _merged(runs):
                wire.sources.append(Assigned(low, high - low, wire, body))

    def _check_clock(self, cell: Cell) -> None:
        clock = self.resolved(cell.ports["CLK"])
        source = clock[0][0]
        if not isinstance(source, Port) or source.name != CLOCK or not cell.text.number("CLK_POLARITY"):
            place = cell.ports.get("Q", cell.ports.get("DATA", []))
            name = place[0][0].name if place and place[0][0] else cell.name
            raise UserError(
                f"{name!r} has another clock than the rising edges of {CLOCK!r}; a model by LLVM has this one"
            )

    def _cut(self, wire: Wire, low: int, width: int, after: Bits) -> None:
        points, at = {0, width}, 0
        for _, _, size in self.resolved(after):
            at += size
            points.add(at)
        starts = sorted(points)
        pieces = [point for begin, end in pairwise(starts) for point in range(begin, end, WORD)] + [width]
        wire.sources = [one for one in wire.sources if not (isinstance(one, Field) and one.at == low)]
        for begin, end in pairwise(pieces):
            bit, size = low + begin, end - begin
            name = wire.name if size == wire.width else f"{wire.name}[{bit + size - 1}:{bit}]"
            init = wire.init >> bit & (1 << size) - 1
            made = Field(bit, size, name, wire.name, cut(after, begin, size), init)
            self.fields.append(made)
            wire.sources.append(made)
        wire.sources.sort(key=lambda source: source.at)


def _wire(wire: Wire | None) -> Wire:
    assert wire is not None  # a constant is never driven
    return wire


def _assigned_by(one: Assignment | Choice) -> set[Wire]:
    return one.wires if isinstance(one, Choice) else {one.wire}


def _merged(runs: list[tuple[int, int, set[int]]]) -> Iterator[tuple[int, int]]:
    """Eight or more single bits in a row that are assigned in the same places, those of a checksum, become one run."""
    at = 0
    while at < len(runs):
        low, high, where = runs[at]
        end = at + 1
        while high == low + end - at and end < len(runs) and runs[end] == (high, high + 1, where):
            end, high = end + 1, high + 1
        if end - at < 8:
            end, high = at + 1, runs[at][1]
        yield from ((first, min(first + WORD, high)) for first in range(low, high, WORD))
        at = end
