"""Wires, what drives their bits, and lists of bits."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from lanai_hdl.errors import UserError

from . import rtlil

WORD = 64  # bits: wider fields, rows and assigned runs are cut, for LLVM is slow with masks of wide integers
Bits = list[tuple["Wire | None", int, int]]  # lowest first: (wire, from bit, width), or (None, value, width)


@dataclass(eq=False)
class Source:
    """Drives `width` bits of a wire from bit `at` on."""

    at: int
    width: int


Runs = list[tuple[Source | None, int, int]]  # as Bits, with what drives them: (source, from its bit, width)


@dataclass(eq=False)
class Alias(Source):
    bits: Bits


@dataclass(eq=False)
class Port(Source):
    """An input of the design."""

    name: str


@dataclass(eq=False)
class Output(Source):
    """The result of a cell."""

    cell: "Cell"


@dataclass(eq=False)
class Row(Source):
    """A word of the row that a memory's read port names."""

    cell: "Cell"
    word: int


@dataclass(eq=False)
class Outside(Source):
    """An output of a module that is not in the text."""

    cell: "Cell"
    port: str


@dataclass(eq=False)
class Assigned(Source):
    """Bits that a process assigns, all in the same places."""

    wire: "Wire"
    body: "list[Assignment | Choice]"


@dataclass(eq=False)
class Field(Source):
    """Bits of a register: its name, what they are after the next edge, and at the beginning. `wire`: all its bits."""

    name: str
    wire: str
    next: Bits
    init: int


@dataclass(eq=False)
class Wire:
    name: str
    width: int
    init: int = 0
    sources: list[Source] = field(default_factory=list)  # sorted by `at` once the netlist is whole


@dataclass(eq=False)
class Memory:
    name: str
    width: int
    depth: int
    init: list[int]
    writes: "list[Cell]" = field(default_factory=list)


@dataclass(eq=False)
class Cell:
    """A cell as the text has it, with the bits of its ports."""

    kind: str
    name: str
    text: rtlil.Cell
    ports: dict[str, Bits]
    memory: Memory | None = None

    def signed(self, port: str) -> bool:
        return bool(self.text.number(f"{port}_SIGNED"))


@dataclass(eq=False)
class Assignment:
    wire: Wire
    at: int
    width: int
    right: Bits


@dataclass(eq=False)
class Choice:
    """A switch. `wires` are those that some case assigns."""

    test: Bits
    cases: "list[tuple[tuple[str, ...], list[Assignment | Choice]]]"
    wires: set[Wire]


def unknown(cell: Cell) -> UserError:
    """The error about a cell that no model can be made of."""
    return UserError(f"{cell.name!r} is a cell {cell.kind!r}, which a model by LLVM cannot have")


def bits_of(spec: str, wires: dict[str, Wire]) -> Bits:
    """Return the bits that a sigspec names."""
    found: Bits = []
    for word in spec.split():
        if word in "{}":
            continue
        if word[0] == "[":
            high, _, low = word[1:-1].partition(":")
            found[-1] = (found[-1][0], int(low or high), int(high) - int(low or high) + 1)
        elif word[0].isdigit():
            found.append((None, rtlil.number(word), int(word.partition("'")[0])))
        else:
            found.append((wires[word], 0, wires[word].width))
    return found[::-1]


def cut(bits: Bits, at: int, width: int) -> Bits:
    """Return `width` of the bits, from bit `at` on."""
    found: Bits = []
    for wire, low, size in bits:
        if at < size and width:
            some = min(size - at, width)
            found.append((wire, low >> at & (1 << some) - 1 if wire is None else low + at, some))
            width, at = width - some, 0
        else:
            at = max(0, at - size)
    return found


def width_of(bits: Iterable[tuple[object, int, int]]) -> int:
    return sum(width for _, _, width in bits)


def join(found: Runs, run: tuple[Source | None, int, int]) -> None:
    """Append a run, as a part of the last one if it goes on there."""
    source, low, width = run
    if found and found[-1][0] is source:
        _, before, size = found[-1]
        if source is None:
            found[-1] = (None, before | low << size, size + width)
            return
        if before + size == low:
            found[-1] = (source, before, size + width)
            return
    found.append(run)
