"""Random small programs at the edges of the language, where the ways of running firmware could
part.

Literals that may not fit the other operand, ranges of every direction, blocks that overlap,
pointers into the on-chip registers. Many are refused: then every way must refuse them, for the same
reason.
"""

import random
from collections.abc import Callable

from .template import HEADER

LITERALS = (
    *(0, 1, -1, 2, 3, -3, 7, 10, -16, 40, 255, 256, 65535, 65536),
    *(0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF, 1 << 32, -0x7FFFFFFF, -0x80000000, -0x80000001),
)  # fmt: skip
ARGUMENTS = (0, 1, 5, 9, 10, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF7, 0xFFFFFFFF)
TURNS = 20  # at most so many turns of a generated loop


class Edges:
    """Bodies of functions of `a: u32` and `b: i32` that return a u32."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def literal(self, variable: str = "") -> int:
        """A round number or any; one in three is of 32 bits and yet none that `variable` holds."""
        if variable and self.rng.random() < 0.33:
            return (
                self.rng.choice([-1, -3, -16, -0x7FFFFFFF]) if variable == "a" else self.rng.randrange(1 << 31, 1 << 32)
            )
        return self.rng.choice([*LITERALS, self.rng.randrange(-(1 << 33), 1 << 33)])

    def arithmetic(self) -> list[str]:
        operator = self.rng.choice(["+", "-", "*", "&", "|", "^", "<<", *[">>"] * 5])
        variable = self.rng.choice("ab")
        left, right = self.rng.choice([(variable, self.literal(variable)), (self.literal(variable), variable)])
        return [f"return u32({left} {operator} {right})"]

    def division(self) -> list[str]:
        operator, variable = self.rng.choice(["//", "%"]), self.rng.choice("ab")
        literal = self.literal(variable)
        if self.rng.random() < 0.2:
            return [f"return u32({literal} {operator} ({variable} | 1))"]
        return [f"return u32({variable} {operator} {literal or 1})"]

    def comparison(self) -> list[str]:
        operator, variable = self.rng.choice(["==", "!=", "<", "<=", ">", ">="]), self.rng.choice("ab")
        return [f"return u32({variable} {operator} {self.literal(variable)})"]

    def operation(self) -> list[str]:
        variable = self.rng.choice("ab")
        return self.rng.choice(
            [
                [f"return u32({self.rng.choice(['minimum', 'maximum'])}({variable}, {self.literal(variable)}))"],
                [f"return {self.rng.choice(['popcount', 'leading_zeros', 'trailing_zeros'])}({self.literal()})"],
                [f"return descend(0, {self.literal()})"],
                [f"state.{self.rng.choice(['byte', 'half', 'word', 'sign'])} = {self.literal()}", "return digest()"],
                [f"fill(address_of(state.bytes), {self.literal()}, 3)", "return digest()"],
            ]
        )

    def loop(self) -> list[str]:
        bound = self.rng.choice(["a", "b", "a & 7", "b & 7", "u32(a & 3)", "i32(5)", "u32(6)"])
        other = self.rng.choice([str(self.literal()), "0", "-1", "9", "a & 7", "b & 7"])
        first, last = self.rng.choice([(bound, other), (other, bound), (other, str(self.literal()))])
        step = self.rng.choice(["", ", 1", ", -1", ", 2", ", -2", ", -3", ", 7", ", -0x7FFFFFFF"])
        return [
            "total = u32(1)",
            f"for k in range({first}, {last}{step}):",
            "    total = mix(total, u32(k))",
            "    if k - 3 > 0:",  # tells the kind of k
            "        total += 1",
            f"    if popcount(total) == {self.rng.randrange(33)}:",
            "        total = mix(total, 5)",
            "    state.word += 1",
            f"    if state.word == {TURNS}:",
            "        break",
            "return total",
        ]

    def blocks(self) -> list[str]:
        array, mask = self.rng.choice([("words", 3), ("bytes", 3), ("halves", 3), ("bytes", 7)])
        target, source = (f"address_of(state.{array}) + {self.rng.randrange(mask + 1)}" for _ in range(2))
        unit = {"words": 4, "halves": 2, "bytes": 1}[array]
        if self.rng.random() < 0.3:
            target = f"cast(u8, {target}) + {self.rng.randrange(4)}"
        size = self.rng.randrange(0, 5 * unit) if self.rng.random() < 0.5 else self.rng.randrange(5) * unit
        return [f"copy({target}, {source}, {size})", "return digest()"]

    def register(self) -> list[str]:
        kind = self.rng.choice(["u8", "u16", "u32"])
        offset = self.rng.randrange(4)
        access = self.rng.choice(["return u32(p[0])", "p[0] = 5\n    return SCRATCH.load()"])
        return ["SCRATCH.store(0x11223344)", f"p = at(Ptr[{kind}], u32(0xFF040) + {offset})", access]

    def body(self) -> list[str]:
        shapes: dict[Callable[[], list[str]], int] = {
            self.arithmetic: 3,
            self.division: 4,
            self.comparison: 1,
            self.operation: 2,
            self.loop: 3,
            self.blocks: 3,
        }
        return self.rng.choices(list(shapes), list(shapes.values()))[0]()


def function(name: str, body: list[str]) -> str:
    return f"\n@firmware\ndef {name}(a: u32, b: i32) -> u32:\n" + "".join(f"    {line}\n" for line in body)


def main_of(cases: list[tuple[str, tuple[int, int]]]) -> str:
    """`main()`: the result of each named function with its arguments, on a fresh state."""
    lines = [
        f"    start({a ^ b})\n    state.word = 0\n    results[{index}] = {name}({a}, i32({b}))\n"
        for index, (name, (a, b)) in enumerate(cases)
    ]
    return "\n@firmware\ndef main() -> u32:\n" + "".join(lines) + "    return results[0]\n"


def generate_edges(seed: int, count: int) -> tuple[str, dict[str, tuple[str, tuple[int, int]]]]:
    """The module's head, and by name the text of `count` functions, each with the arguments to call
    it with."""
    rng = random.Random(seed)
    edges = Edges(rng)
    cases = {}
    for index in range(count):
        name = f"edge_{index}"
        cases[name] = (function(name, edges.body()), (rng.choice(ARGUMENTS), rng.choice(ARGUMENTS)))
    return HEADER.format(seed=seed, count=count), cases


def generate_register_access(seed: int) -> str:
    """A program of one access to a register through a pointer, of any size and alignment; it may
    stop the processor."""
    return (
        HEADER.format(seed=seed, count=1)
        + function("edge", Edges(random.Random(seed)).register())
        + ("\n@firmware\ndef main() -> u32:\n    return edge(0, i32(0))\n")
    )
