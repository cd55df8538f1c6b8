"""Reads RTLIL, the text of `amaranth.back.rtlil.convert`: modules with their wires, cells and processes.

Read is what Amaranth writes, and no more. The format: https://yosyshq.readthedocs.io, "RTLIL text representation".
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from lanai_hdl.errors import UserError

ENUM = "\\enum_value_"  # how attributes begin that name a wire's values


@dataclass(frozen=True)
class Assign:
    """`left` takes the value of `right`. Both are sigspecs: texts that name bits."""

    left: str
    right: str


@dataclass(frozen=True)
class Switch:
    """The first case that fits `test` acts. A case without patterns fits always."""

    test: str
    cases: "list[tuple[tuple[str, ...], list[Assign | Switch]]]"


@dataclass
class Cell:
    """An operation, or an instance of the module `kind`. `ports` are sigspecs."""

    kind: str
    name: str
    parameters: dict[str, str] = field(default_factory=dict)
    ports: dict[str, str] = field(default_factory=dict)

    def number(self, parameter: str) -> int:
        """Return a parameter's value; 0 if the cell has no such parameter. Undefined bits are 0."""
        return number(self.parameters.get(parameter, "0"))


@dataclass
class Module:
    """One module. `wires` have a width and an initial value, `ports` a direction, `memories` a width and a depth.
    `enums`: names of values of wires."""

    wires: dict[str, tuple[int, int]] = field(default_factory=dict)
    ports: dict[str, str] = field(default_factory=dict)
    memories: dict[str, tuple[int, int]] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)
    processes: "list[list[Assign | Switch]]" = field(default_factory=list)
    connects: list[tuple[str, str]] = field(default_factory=list)
    enums: dict[str, dict[int, str]] = field(default_factory=dict)


def number(text: str) -> int:
    """Return the value of a constant. Undefined bits are 0."""
    _, apostrophe, bits = text.partition("'")
    return int(bits.replace("x", "0") or "0", 2) if apostrophe else int(text)


def plain(name: str) -> str:
    """Return a name without the backslash that marks those which the source has chosen."""
    return name.removeprefix("\\")


def read(text: str) -> tuple[dict[str, Module], str]:
    """Return the modules by name, and the name of the top."""
    modules: dict[str, Module] = {}
    lines = _lines(text)
    top, is_top = "", False
    for head, rest in lines:
        if head == "attribute":
            is_top |= rest.startswith("\\top ")
        elif head == "module":
            modules[rest] = _module(lines)
            top = rest if is_top else top
            is_top = False
        else:
            _refuse(head, rest)
    if not top:
        raise UserError("the RTLIL names no top module; `amaranth.back.rtlil.convert` writes one")
    return modules, top


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        head, _, rest = line.strip().partition(" ")
        if head:
            yield head, rest


def _module(lines: Iterator[tuple[str, str]]) -> Module:
    module, init, names = Module(), 0, dict[int, str]()
    for head, rest in lines:
        if head == "attribute":
            name, _, value = rest.partition(" ")
            init = number(value) if name == "\\init" else init
            if name.startswith(ENUM):
                names[int(name.removeprefix(ENUM), 2)] = value.strip('"')
        elif head == "wire":
            words = rest.split()
            _wire(module, words, init)
            if names:
                module.enums[words[-1]] = names
            init, names = 0, {}
        elif head == "memory":
            words = rest.split()
            module.memories[words[-1]] = (_after(words, "width", 1), _after(words, "size", 0))
        elif head == "cell":
            kind, name = rest.split()
            module.cells.append(_cell(Cell(kind, name), lines))
        elif head == "process":
            module.processes.append(_body(lines)[0])
        elif head == "connect":
            module.connects.append(_pair(rest))
        elif head == "end":
            return module
        else:
            _refuse(head, rest)
    raise UserError("the RTLIL ends within a module; write it again")


def _wire(module: Module, words: list[str], init: int) -> None:
    module.wires[words[-1]] = (_after(words, "width", 1), init)
    for direction in ("input", "output", "inout"):
        if direction in words[:-1]:
            module.ports[words[-1]] = direction


def _after(words: list[str], name: str, default: int) -> int:
    return int(words[words.index(name) + 1]) if name in words else default


def _cell(cell: Cell, lines: Iterator[tuple[str, str]]) -> Cell:
    for head, rest in lines:
        if head == "end":
            break
        name, _, value = rest.removeprefix("signed ").partition(" ")
        (cell.parameters if head == "parameter" else cell.ports)[plain(name)] = value
    return cell


def _body(lines: Iterator[tuple[str, str]]) -> tuple[list[Assign | Switch], str]:
    """Return the statements up to the end or the next case, and the patterns of that case, or "end"."""
    body: list[Assign | Switch] = []
    for head, rest in lines:
        if head == "assign":
            body.append(Assign(*_pair(rest)))
        elif head == "switch":
            body.append(Switch(rest, _cases(lines)))
        elif head in ("case", "end"):
            return body, rest if head == "case" else head
        else:
            _refuse(head, rest)
    raise UserError("the RTLIL ends within a process; write it again")


def _cases(lines: Iterator[tuple[str, str]]) -> list[tuple[tuple[str, ...], list[Assign | Switch]]]:
    cases = []
    _, after = _body(lines)
    while after != "end":
        patterns = tuple(one.strip().partition("'")[2] for one in after.split(",")) if after else ()
        body, after = _body(lines)
        cases.append((patterns, body))
    return cases


def _pair(text: str) -> tuple[str, str]:
    """Split two sigspecs, of which the first may be a concatenation or a slice."""
    if text.startswith("{"):
        left, _, right = text.partition("}")
        return f"{left}}}", right.strip()
    name, _, rest = text.partition(" ")
    if rest.startswith("["):
        slice_, _, rest = rest.partition(" ")
        name = f"{name} {slice_}"
    return name, rest


def _refuse(head: str, rest: str) -> None:
    raise UserError(
        f"RTLIL with {f'{head} {rest}'.strip()!r} is not what Amaranth 0.5 writes; install amaranth>=0.5,<0.6"
    )
