"""Random expressions of the firmware language, by type."""

import random
from collections.abc import Callable


class Expressions:
    """Writes expressions over the state of `template` and over its variables. Depth bounds their
    size.

    `fixed` are variables that are read only: those of loops.
    """

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.unsigned = ["a"]
        self.signed = ["b"]
        self.fixed: set[str] = set()

    def settable(self, variables: list[str]) -> str:
        return self.rng.choice([variable for variable in variables if variable not in self.fixed])

    def literal(self) -> int:
        return self.rng.choice(
            [0, 1, 2, 3, 5, 7, 31, 32, 255, 256, 4096, 65535, 65536, 0x7FFFFFFF, self.rng.getrandbits(31)]
        )

    def u(self, depth: int = 3) -> str:
        """An expression of type u32."""
        if depth <= 0:
            return self.rng.choice(
                [
                    self.rng.choice(self.unsigned),
                    f"u32({self.literal()})",
                    "state.word",
                    "u32(state.byte)",
                    "u32(state.half)",
                    "u32(state.inner.high)",
                    f"state.words[{self.rng.randrange(8)}]",
                ]
            )
        a = self.u(depth - 1)
        choices: list[Callable[[], str]] = [
            lambda: f"({a} {self.rng.choice('+-*&|^')} {self.u(depth - 1)})",
            lambda: f"({a} {self.rng.choice('+-*&|^')} {self.literal()})",
            lambda: f"({self.literal()} {self.rng.choice('+-&|^')} {a})",
            lambda: f"({a} {self.rng.choice('&|^')} ~{self.literal()})",
            lambda: f"({self.literal()} {self.rng.choice(['<<', '>>'])} {a})",
            lambda: f"({a} {self.rng.choice(['<<', '>>'])} {self.rng.randrange(32)})",
            lambda: f"({a} {self.rng.choice(['<<', '>>'])} {self.u(depth - 2)})",
            lambda: f"({a} {self.rng.choice(['//', '%'])} {self.rng.choice([1, 2, 3, 7, 8, 10, 255, 1000, 65536])})",
            lambda: f"({a} {self.rng.choice(['//', '%'])} ({self.u(depth - 2)} | 1))",
            lambda: f"{self.rng.choice('-~')}{a}",
            lambda: f"u32({self.i(depth - 1)})",
            lambda: f"{self.rng.choice(['u8', 'u16', 'u32'])}({a})",
            lambda: f"u32({self.c(depth - 1)})",
            lambda: f"({a} if {self.c(depth - 2)} else {self.u(depth - 2)})",
            lambda: f"{self.rng.choice(['minimum', 'maximum'])}({a}, {self.u(depth - 2)})",
            lambda: f"{self.rng.choice(['popcount', 'leading_zeros', 'trailing_zeros'])}({a})",
            lambda: f"state.{self.rng.choice(['words', 'bytes', 'halves'])}[{a} & 7]",
            lambda: f"nodes[{a} & 7].{self.rng.choice(['value', 'key', 'flag'])}",
            lambda: f"mix({a}, {self.u(depth - 2)})",
        ]
        text = self.rng.choice(choices)()
        return f"u32({text})" if text.startswith(("state.bytes", "state.halves", "nodes", "u8", "u16")) else text

    def i(self, depth: int = 3) -> str:
        """An expression of type i32."""
        if depth <= 0:
            return self.rng.choice(
                [
                    self.rng.choice(self.signed),
                    f"i32({self.rng.choice(['', '-'])}{self.literal()})",
                    "state.sign",
                    "state.inner.sign",
                    f"state.signs[{self.rng.randrange(8)}]",
                ]
            )
        a = self.i(depth - 1)
        choices: list[Callable[[], str]] = [
            lambda: f"({a} {self.rng.choice('+-*&|^')} {self.i(depth - 1)})",
            lambda: f"({a} {self.rng.choice('+-*')} {self.rng.choice(['', '-'])}{self.literal()})",
            lambda: f"({self.rng.choice(['', '-'])}{self.literal()} {self.rng.choice(['<<', '>>'])} {a})",
            lambda: f"({a} {self.rng.choice(['<<', '>>'])} {self.rng.randrange(32)})",
            lambda: f"({a} {self.rng.choice(['//', '%'])} {self.rng.choice([1, 2, 3, -3, 7, -8, 8, 10, 1000])})",
            lambda: f"({a} {self.rng.choice(['//', '%'])} ({self.i(depth - 2)} | 1))",
            lambda: f"{self.rng.choice('-~')}{a}",
            lambda: f"i32({self.u(depth - 1)})",
            lambda: f"({a} if {self.c(depth - 2)} else {self.i(depth - 2)})",
            lambda: f"{self.rng.choice(['minimum', 'maximum'])}({a}, {self.i(depth - 2)})",
            lambda: f"state.signs[{self.u(depth - 2)} & 7]",
        ]
        return self.rng.choice(choices)()

    def c(self, depth: int = 2) -> str:
        """A condition, of type bool."""
        compare = self.rng.choice(["==", "!=", "<", "<=", ">", ">="])
        if depth <= 0 or self.rng.random() < 0.6:
            side = self.u if self.rng.random() < 0.6 else self.i
            return f"({side(max(0, depth - 1))} {compare} {side(max(0, depth - 1))})"
        return self.rng.choice(
            [
                f"({self.c(depth - 1)} and {self.c(depth - 1)})",
                f"({self.c(depth - 1)} or {self.c(depth - 1)})",
                f"(not {self.c(depth - 1)})",
            ]
        )
