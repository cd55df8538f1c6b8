"""What an expression is while it is compiled: a value, a view of memory, or something that exists at compile time only."""

from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from ..lang.integers import Word, i32, u32
from ..lang.types import PtrType, name_of

WORD = ir.IntType(32)
BIT = ir.IntType(1)
BYTE = ir.IntType(8)
VOID = ir.VoidType()


@dataclass(frozen=True)
class Value:
    """A computed value. `kind`: u32, i32, bool, a PtrType, None (no value), or int for a literal without a type yet.

    `python` is the constant itself when it is known, so that folding computes with the very objects CPython would use.
    """

    kind: Any
    ir: Any
    python: Any = None

    @property
    def constant(self) -> bool:
        return self.python is not None


@dataclass(frozen=True)
class View:
    """A struct or array in memory, at `pointer`."""

    kind: Any
    pointer: Any


@dataclass(frozen=True)
class Reference:
    """Kind of a variable that names a struct or array: `e = pool[3]`. The variable holds its address."""

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


NOTHING = Value(None, None)


def constant(python: Any) -> Value:
    """The value of a Python int, bool or Word."""
    if isinstance(python, bool):
        return Value(bool, ir.Constant(BIT, int(python)), python)
    if isinstance(python, Word):
        return Value(python.wide, ir.Constant(WORD, int(python) & 0xFFFFFFFF), python)
    return Value(int, None, python)


def word_constant(value: int) -> Any:
    return ir.Constant(WORD, value & 0xFFFFFFFF)


def is_word(kind: Any) -> bool:
    return kind is u32 or kind is i32


def describe(thing: Any) -> str:
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


def pointer_to(kind: Any) -> PtrType:
    return PtrType(kind)
