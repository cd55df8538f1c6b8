"""Results of expressions in the front end: a value of the typed tree, a view of memory, or a Python
object.
"""

from dataclasses import dataclass
from typing import Any

from ..lang.integers import i32, u32
from ..lang.types import name_of
from .tree import Value


@dataclass(frozen=True)
class View:
    """A struct or array in memory, at `pointer`."""

    kind: Any
    pointer: Value


@dataclass(frozen=True)
class Reference:
    """Kind of a variable that names a struct or array: `e = pool[3]`. The variable holds its
    address.
    """

    kind: Any

    def __str__(self) -> str:
        return name_of(self.kind)


@dataclass(frozen=True)
class Entity:
    """A Python object that firmware names: a function, a type, a module, a register, an enum."""

    python: Any


@dataclass(frozen=True)
class Method:
    """`register.load` or `register.store`, on its way to be called."""

    owner: Any
    name: str


Result = Value | View | Entity | Method


def is_word(kind: Any) -> bool:
    return kind is u32 or kind is i32


def describe(thing: Result) -> str:
    """A value's type as an error names it."""
    if isinstance(thing, Value):
        if thing.kind is int:
            return f"the literal {thing.python!r}"
        return "nothing" if thing.kind is None else name_of(thing.kind)
    if isinstance(thing, View):
        return name_of(thing.kind)
    if isinstance(thing, Method):
        return f"the method {thing.name!r}"
    python = thing.python
    return f"{type(python).__name__} {getattr(python, '__name__', python)!r}"
