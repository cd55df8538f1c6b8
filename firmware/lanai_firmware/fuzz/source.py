"""Random firmware sources, for holding the ways of running firmware to one behaviour.

A batch is one module: types and globals, then programs `program_0`, `program_1`, ... with helpers
of their own, and a main() that runs each on a fresh state and keeps its result in `results`. Every
construct of the language occurs. Programs always end, never divide by zero and never leave their
arrays, and so have one right answer.
"""

import random

from .expressions import Expressions
from .template import HEADER, MAIN


class Writer(Expressions):
    """One program's text, statement by statement. Nesting bounds its running time."""

    def __init__(self, rng: random.Random, helpers: list[tuple[str, str]]) -> None:
        super().__init__(rng)
        self.helpers = helpers
        self.lines: list[str] = []
        self.indent = 1
        self.fresh = 0
        self.calls_left = 2

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def name(self, prefix: str) -> str:
        self.fresh += 1
        return f"{prefix}{self.fresh}"

    def assignment(self) -> None:
        target = self.rng.random()
        if target < 0.2:
            self.line(f"{self.settable(self.unsigned)} = {self.u()}")
        elif target < 0.3:
            self.line(f"{self.settable(self.signed)} = {self.i()}")
        elif target < 0.4:
            self.line(f"{self.settable(self.unsigned)} {self.rng.choice(['+', '-', '*', '^', '|', '&'])}= {self.u(2)}")
        elif target < 0.5:
            self.line(f"{self.settable(self.signed)} {self.rng.choice(['+', '-', '*', '^'])}= {self.i(2)}")
        elif target < 0.65:
            self.line(f"state.{self.rng.choice(['byte', 'half', 'word', 'inner.low', 'inner.high'])} = {self.u()}")
        elif target < 0.75:
            place = self.rng.choice(["byte", "half", "word", f"words[{self.u(1)} & 7]", f"bytes[{self.u(1)} & 7]"])
            self.line(f"state.{place} {self.rng.choice(['+', '-', '^'])}= {self.u(2)}")
        elif target < 0.85:
            self.line(f"state.{self.rng.choice(['sign', 'inner.sign', f'signs[{self.u(1)} & 7]'])} = {self.i()}")
        else:
            array = self.rng.choice(["words", "bytes", "halves"])
            self.line(f"state.{array}[{self.u(1)} & 7] = {self.u(2)}")

    def declaration(self) -> None:
        if self.indent > 1:
            self.assignment()  # what is first assigned in a block may have no value after it
            return
        if self.rng.random() < 0.6:
            text, name = self.u(), self.name("x")
            self.line(f"{name} = {text}")
            self.unsigned.append(name)
        else:
            text, name = self.i(), self.name("y")
            self.line(f"{name} = {text}")
            self.signed.append(name)

    def block(self, statements: int, nesting: int) -> None:
        self.indent += 1
        for _ in range(statements):
            self.statement(nesting - 1)
        self.indent -= 1

    def branch(self, nesting: int) -> None:
        self.line(f"if {self.c()}:")
        self.block(self.rng.randint(1, 3), nesting)
        if self.rng.random() < 0.3:
            self.line(f"elif {self.c()}:")
            self.block(1, nesting)
        if self.rng.random() < 0.5:
            self.line("else:")
            self.block(self.rng.randint(1, 2), nesting)

    def counted_loop(self, nesting: int) -> None:
        index = self.name("i")
        bounds, signed = self.rng.choice(
            [
                ("4", False),
                ("1, 5", False),
                ("6, 0, -2", True),
                ("0, 9, 4", False),
                (f"{self.u(1)} & 3", False),
                (f"{self.u(1)} & 7, 1, -2", False),
                (f"4, {self.u(1)} & 3, -1", False),
                (f"{self.i(1)} & 3, -2, -1", True),
                ("i32(-2), i32(3)", True),
            ]
        )
        self.line(f"for {index} in range({bounds}):")
        (self.signed if signed else self.unsigned).append(index)
        self.fixed.add(index)
        self.indent += 1
        if self.rng.random() < 0.3:
            self.line(f"if {self.c(1)}:")
            self.line(f"    {self.rng.choice(['break', 'continue'])}")
        self.indent -= 1
        self.block(self.rng.randint(1, 3), nesting)
        (self.signed if signed else self.unsigned).remove(index)

    def conditional_loop(self, nesting: int) -> None:
        count = self.name("n")
        self.line(f"{count} = u32({self.rng.randint(1, 5)})")
        self.line(f"while {count} != 0 and {self.c(1)}:")
        self.line(f"    {count} -= 1")
        self.block(self.rng.randint(1, 2), nesting)

    def walk(self) -> None:
        node = self.name("p")
        step = self.rng.choice([f"{node}.value", f"{node}.key", f"u32({node}.flag)"])
        target = self.settable(self.unsigned)
        self.line(f"{node} = {self.rng.choice(['state.head', f'find({self.u(1)} & 15)', 'address_of(nodes[3])'])}")
        self.line(f"while {node}:")
        self.line(f"    {target} = mix({target}, {step})")
        if self.rng.random() < 0.5:
            self.line(f"    {node}.value ^= {self.u(1)}")
        self.line(f"    {node} = {node}.next")

    def pointers(self) -> None:
        name = self.name("q")
        target = self.settable(self.unsigned)
        kind = self.rng.randrange(5)
        if kind == 0:
            self.line(f"{name} = address_of(state.words) + 4")
            self.line(f"{name}[{self.rng.choice([-4, -1, 0, 3])}] = {self.u(2)}")
            self.line(f"{target} ^= {name}[{self.rng.choice([-3, -2, 1])}] + (({name} - 1)[0])")
        elif kind == 1:
            self.line(f"{name} = at(Ptr[u16], u32(address_of(state)) + offset_of(State, 'halves'))")
            self.line(f"{target} += {name}[{self.u(1)} & 7]")
        elif kind == 2:
            self.line(f"copy(address_of(state.words), address_of(state.signs), {self.rng.choice([4, 8, 32])})")
            array, (to, source) = self.rng.choice(["bytes", "halves", "words"]), self.rng.choices(range(5), k=2)
            count = f"{self.rng.randint(1, 3)} * {self.rng.choice([1, 'sizeof(u32)'])}"
            self.line(f"copy(address_of(state.{array}) + {to}, address_of(state.{array}) + {source}, {count})")
        elif kind == 3:
            self.line(
                f"fill(address_of(state.{self.rng.choice(['words', 'bytes', 'halves'])}), {self.u(1)}, "
                f"{self.rng.randint(0, 8)})"
            )
        else:
            self.line(f"SCRATCH.store({self.u(1)})")
            self.line(f"STATUS.store({self.i(1)})")
            self.line(f"{target} += SCRATCH.load() ^ u32(STATUS.load())")

    def scratch(self) -> None:
        if self.indent > 1:
            self.assignment()
            return
        name = self.name("s")
        kind, count = self.rng.choice([("u8", 16), ("u16", 8), ("u32", 8), ("u32", 16)])
        index = self.name("j")
        self.line(f"{name} = local(Array[{kind}, {count}]{self.rng.choice(['', ', align=16', ', align=64'])})")
        self.line(f"for {index} in range({count}):")
        self.line(f"    {name}[{index}] = {index} * {self.u(1)}")
        target = self.settable(self.unsigned)
        self.line(f"{target} = mix({target}, u32({name}[{self.u(1)} & {count - 1}]))")

    def call(self) -> None:
        if not self.helpers or not self.calls_left or self.indent > 2:
            target = self.settable(self.unsigned)
            self.line(f"{target} = descend({self.u(1)} & 7, {self.u(1)})")
            return
        self.calls_left -= 1
        name, result = self.rng.choice(self.helpers)
        pool = self.unsigned if result == "u32" else self.signed
        self.line(f"{self.settable(pool)} = {name}({self.u(2)}, {self.i(2)})")

    def statement(self, nesting: int) -> None:
        pick = self.rng.random()
        if pick < 0.45 or nesting <= 0:
            self.assignment()
        elif pick < 0.55:
            self.declaration()
        elif pick < 0.68:
            self.branch(nesting)
        elif pick < 0.76:
            self.counted_loop(nesting)
        elif pick < 0.82:
            self.conditional_loop(nesting)
        elif pick < 0.86:
            self.walk()
        elif pick < 0.92:
            self.pointers()
        elif pick < 0.96:
            self.scratch()
        else:
            self.call()


def write_function(rng: random.Random, name: str, result: str, helpers: list[tuple[str, str]], statements: int) -> str:
    writer = Writer(rng, helpers)
    for _ in range(statements):
        writer.statement(2)
    value = " ^ ".join(f"u32({v})" for v in writer.signed) + " ^ " + " ^ ".join(writer.unsigned)
    writer.line(f"return {value}" if result == "u32" else f"return i32({value})")
    decorator = rng.choice(["@firmware", "@firmware(inline=False)"])
    return f"\n{decorator}\ndef {name}(a: u32, b: i32) -> {result}:\n" + "\n".join(writer.lines) + "\n"


def generate(seed: int, count: int) -> str:
    """The source of `count` programs. The same seed gives the same text."""
    rng = random.Random(seed)
    parts = [HEADER.format(seed=seed, count=count)]
    main = [MAIN]
    for index in range(count):
        helpers: list[tuple[str, str]] = []
        for extra in range(rng.choice([0, 0, 1, 2])):
            result = rng.choice(["u32", "i32"])
            parts.append(write_function(rng, f"helper_{index}_{extra}", result, list(helpers), rng.randint(1, 3)))
            helpers.append((f"helper_{index}_{extra}", result))
        parts.append(write_function(rng, f"program_{index}", "u32", helpers, rng.randint(3, 7)))
        main.append(f"    start({rng.getrandbits(32)})\n")
        main.append(
            f"    results[{index}] = program_{index}({rng.getrandbits(32)}, i32({rng.getrandbits(32)})) ^ digest()\n"
        )
        main.append(f"    total = mix(total, results[{index}])\n")
    return "".join(parts) + "\n" + "".join(main) + "    return total\n"
