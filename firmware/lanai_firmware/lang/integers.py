"""Integers that wrap as the Lanai's do.

u8 and u16 are for storage: arithmetic on them is done in 32 bits and gives u32, as a load into a register does. u32 and
i32 do not mix: `u32 + i32` is refused here and by the compiler, so that no comparison depends on a silent conversion.
Python's own ints stand for literals: they take the other operand's type.

`//` and `%` round down, as Python does. Shift amounts count modulo 32. Both hold in all ways of running firmware.
"""

import operator
from collections.abc import Callable
from typing import Any, ClassVar, Self

from ..errors import UserError


class FirmwareError(UserError):
    """Firmware did what the language does not define: mixed signs, null pointer, index out of bounds."""


class Word(int):
    """Base of the integer types. Each subclass says `bits`, `signed` and `wide`, the type its arithmetic gives."""

    bits: ClassVar[int]
    signed: ClassVar[bool] = False
    size: ClassVar[int]
    wide: ClassVar[type["Word"]]

    def __new__(cls, value: Any = 0) -> Self:
        if isinstance(value, float):
            raise FirmwareError(f"{cls.__name__}({value!r}): firmware has no floats; scale to an integer")
        return int.__new__(cls, cls.wrap(int(value)))

    @classmethod
    def wrap(cls, value: int) -> int:
        value &= (1 << cls.bits) - 1
        return value - (1 << cls.bits) if cls.signed and value >> (cls.bits - 1) else value

    @classmethod
    def holds(cls, value: int) -> bool:
        return cls.wrap(value) == value

    def refuse(self, *_: Any) -> Any:
        raise FirmwareError("firmware has no `/` and no `**`; write `//`, shifts or a loop")

    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = __divmod__ = __rdivmod__ = refuse
    __hash__ = int.__hash__


def peer(self: Word, other: Any, symbol: str) -> int:
    """The other operand as an int, or an error if it does not go with `self`."""
    if isinstance(other, Word):
        if other.signed != self.signed:
            raise FirmwareError(
                f"`{symbol}` mixes {type(self).__name__} and {type(other).__name__}; convert one: u32(x) or i32(x)"
            )
    elif isinstance(other, bool) or not isinstance(other, int):
        raise FirmwareError(f"`{symbol}` between {type(self).__name__} and {other!r}; convert it first: u32(x)")
    return int(other)


def arithmetic(function: Callable[[int, int], int], symbol: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def forward(self: Word, other: Any) -> Word:
        return self.wide(function(int(self), peer(self, other, symbol)))

    def reverse(self: Word, other: Any) -> Word:
        return self.wide(function(peer(self, other, symbol), int(self)))

    return forward, reverse


def comparison(function: Callable[[int, int], bool], symbol: str) -> Callable[[Word, Any], bool]:
    def compare(self: Word, other: Any) -> bool:
        value = peer(self, other, symbol)
        if not isinstance(other, Word) and not self.wide.holds(value):
            raise FirmwareError(f"`{symbol}` compares {type(self).__name__} with {value}, which it never holds")
        return function(int(self), value)

    return compare


ARITHMETIC: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "add": ("+", operator.add),
    "sub": ("-", operator.sub),
    "mul": ("*", operator.mul),
    "floordiv": ("//", operator.floordiv),
    "mod": ("%", operator.mod),
    "and": ("&", operator.and_),
    "or": ("|", operator.or_),
    "xor": ("^", operator.xor),
    "lshift": ("<<", lambda a, b: a << (b & 31)),
    "rshift": (">>", lambda a, b: a >> (b & 31)),
}
COMPARISONS: dict[str, tuple[str, Callable[[int, int], bool]]] = {
    "eq": ("==", operator.eq),
    "ne": ("!=", operator.ne),
    "lt": ("<", operator.lt),
    "le": ("<=", operator.le),
    "gt": (">", operator.gt),
    "ge": (">=", operator.ge),
}

for _name, (_symbol, _function) in ARITHMETIC.items():
    _forward, _reverse = arithmetic(_function, _symbol)
    setattr(Word, f"__{_name}__", _forward)
    setattr(Word, f"__r{_name}__", _reverse)
for _name, (_symbol, _predicate) in COMPARISONS.items():
    setattr(Word, f"__{_name}__", comparison(_predicate, _symbol))
for _name, _unary in {"neg": operator.neg, "invert": operator.invert, "pos": operator.pos}.items():
    setattr(Word, f"__{_name}__", lambda self, _unary=_unary: self.wide(_unary(int(self))))


class u32(Word):
    """Unsigned, 32 bits."""

    bits, size = 32, 4


class i32(Word):
    """Signed, 32 bits."""

    bits, size, signed = 32, 4, True


class u16(Word):
    """Unsigned, 16 bits; computes as u32."""

    bits, size = 16, 2


class u8(Word):
    """Unsigned, 8 bits; computes as u32."""

    bits, size = 8, 1


u32.wide = u16.wide = u8.wide = u32
i32.wide = i32
