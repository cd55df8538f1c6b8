"""The typed tree's statements, whose values and conditions are `tree`'s."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .tree import Test, Value


@dataclass(frozen=True)
class Assign:
    line: int
    name: str
    kind: Any
    value: Value


@dataclass(frozen=True)
class Store:
    """`address` has memory of `kind`; `value` may have more bits than that."""

    line: int
    kind: Any
    address: Value
    value: Value


@dataclass(frozen=True)
class Evaluate:
    line: int
    value: Value


@dataclass(frozen=True)
class If:
    line: int
    test: Test
    then: Sequence["Statement"]
    otherwise: Sequence["Statement"]


@dataclass(frozen=True)
class While:
    """`ends`: control may come behind it."""

    line: int
    test: Test
    body: Sequence["Statement"]
    ends: bool


@dataclass(frozen=True)
class For:
    line: int
    name: str
    kind: Any
    start: Value
    stop: Value
    step: int
    body: Sequence["Statement"]


@dataclass(frozen=True)
class Break:
    line: int


@dataclass(frozen=True)
class Continue:
    line: int


@dataclass(frozen=True)
class Return:
    line: int
    value: Value | None


@dataclass(frozen=True)
class Check:
    """assert"""

    line: int
    test: Test
    reason: str


Statement = Assign | Store | Evaluate | If | While | For | Break | Continue | Return | Check


@dataclass(frozen=True)
class Body:
    """One function's statements. `locals`: it has `local()`."""

    statements: Sequence[Statement] = field(default_factory=tuple)
    locals: bool = False
