"""Integers that wrap as the Lanai's do.

u8 and u16 are for storage: arithmetic on them is done in 32 bits and gives u32, as a load into a
register does. u32 and i32 do not mix: `u32 + i32` is refused here and by the compiler, so that no
comparison depends on a silent conversion. Python's own ints are literals: they take the other
operand's type, which must hold them. `rules` has the table.

`//` and `%` round down, as Python does. Shift amounts count modulo 32. Both hold in all ways of
running firmware.
"""

import operator
from collections.abc import Callable
from typing import Any, ClassVar, Self

from . import rules
from .rules import FirmwareError

HELD_BY_ALL = 0x7FFFFFFF  # the largest number that u32 and i32 both hold


class Word(int):
    """Base of the integer types. Each subclass says `bits`, `signed` and `wide`, the type its
    arithmetic gives."""

    bits: ClassVar[int]
    signed: ClassVar[bool] = False
    size: ClassVar[int]
    wide: ClassVar[type["Word"]]
    mask: ClassVar[int]
    highest: ClassVar[int]  # number that it holds

    def __init_subclass__(cls) -> None:
        cls.mask = (1 << cls.bits) - 1
        cls.highest = cls.mask >> cls.signed

    def __new__(cls, value: Any = 0) -> Self:
        if isinstance(value, float):
            raise FirmwareError(f"{cls.__name__}({value!r}): firmware has no floats; scale to an integer")
        bits = int(value) & cls.mask
        return int.__new__(cls, bits if bits <= cls.highest else bits - cls.mask - 1)

    @classmethod
    def wrap(cls, value: int) -> int:
        return int(cls(value))

    @classmethod
    def holds(cls, value: int) -> bool:
        return cls.wrap(value) == value

    def refuse(self, *_: Any) -> Any:
        raise FirmwareError("firmware has no `/` and no `**`; write `//`, shifts or a loop")

    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = __divmod__ = __rdivmod__ = refuse
    __hash__ = int.__hash__


def operand(value: Any, what: str) -> Any:
    """`value` as `rules` wants it: its kind, or the literal itself."""
    if isinstance(value, Word):
        return type(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise FirmwareError(f"`{what}` of {value!r}, which is not an integer; convert it: u32(x)")
    return int(value)


def check_peer(self: Word, other: Any, what: str) -> None:
    """Refuse `other` if it does not go with `self`."""
    if type(other) is type(self) or (type(other) is int and 0 <= other <= HELD_BY_ALL):
        return  # nearly every operation ends here
    rules.result_kind(what, type(self), operand(other, what))


def place(kind: type[Word], value: Any, what: str) -> int:
    """`value`, if a parameter, result, member or element of `kind` takes it; the caller keeps the
    bits that fit."""
    if isinstance(value, Word):
        if value.signed != kind.signed:
            rules.check_place(kind, type(value), what)
    elif isinstance(value, int) and not isinstance(value, bool):
        rules.check_place(kind, int(value), what)
    else:
        raise FirmwareError(f"{value!r} given for {what}, which is {kind.__name__}; convert it: {kind.__name__}(x)")
    return int(value)


def arithmetic(rule: rules.Operator) -> tuple[Callable[..., Any], Callable[..., Any]]:
    symbol, function = rule.symbol, rule.compute

    def forward(self: Word, other: Any) -> Word:
        if type(other) is not type(self):
            check_peer(self, other, symbol)
        return self.wide(function(int(self), int(other)))

    def reverse(self: Word, other: Any) -> Word:
        check_peer(self, other, symbol)
        return self.wide(function(int(other), int(self)))

    return forward, reverse


def comparison(function: Callable[[int, int], bool], symbol: str) -> Callable[[Word, Any], bool]:
    def compare(self: Word, other: Any) -> bool:
        if type(other) is not type(self):
            check_peer(self, other, symbol)
        return function(int(self), int(other))

    return compare


for _name, _rule in rules.ARITHMETIC.items():
    _forward, _reverse = arithmetic(_rule)
    setattr(Word, f"__{_name}__", _forward)
    setattr(Word, f"__r{_name}__", _reverse)
for _name, (_symbol, _predicate) in rules.COMPARISONS.items():
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
