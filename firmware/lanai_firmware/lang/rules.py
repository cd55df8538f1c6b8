"""The types of integer operations: what goes together and what it gives. One table for the CPython semantics and the
compiler.

An operand is a kind (u8, u16, u32, i32) or a *literal*: a Python int, which has no kind yet. Every
rule either gives the kind of the result or raises `FirmwareError`, whose text is the same in all
ways of running firmware.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lanai_hdl.errors import UserError

Operand = Any  # a kind (a subclass of `integers.Word`), or an int


class FirmwareError(UserError):
    """Firmware did what the language does not define: mixed signs, null pointer, index out of
    bounds."""


@dataclass(frozen=True)
class Operator:
    """One arithmetic operator. `mask`: a literal is a pattern of 32 bits, so that `x & ~3` needs no
    conversion.

    Everywhere else a literal is a number that the other operand's kind must hold.
    """

    symbol: str
    compute: Callable[[int, int], int]
    mask: bool = False


def shift_left(value: int, amount: int) -> int:
    return value << (amount & 31)


def shift_right(value: int, amount: int) -> int:
    return value >> (amount & 31)


ARITHMETIC = {
    "add": Operator("+", operator.add),
    "sub": Operator("-", operator.sub),
    "mul": Operator("*", operator.mul),
    "floordiv": Operator("//", operator.floordiv),
    "mod": Operator("%", operator.mod),
    "and": Operator("&", operator.and_, mask=True),
    "or": Operator("|", operator.or_, mask=True),
    "xor": Operator("^", operator.xor, mask=True),
    "lshift": Operator("<<", shift_left),
    "rshift": Operator(">>", shift_right),
}
COMPARISONS: dict[str, tuple[str, Callable[[int, int], bool]]] = {
    "eq": ("==", operator.eq),
    "ne": ("!=", operator.ne),
    "lt": ("<", operator.lt),
    "le": ("<=", operator.le),
    "gt": (">", operator.gt),
    "ge": (">=", operator.ge),
}
MASKS = {rule.symbol for rule in ARITHMETIC.values() if rule.mask}


def result_kind(what: str, left: Operand, right: Operand) -> Any:
    """The kind, u32 or i32, in which `what` is computed. `what` is an operator's symbol or a
    function's name."""
    if not isinstance(left, type):
        left, right = right, left
    if not isinstance(left, type):
        raise FirmwareError(f"`{what}` of two literals, {left!r} and {right!r}; give one a type: u32({left!r})")
    if isinstance(right, type):
        if left.signed != right.signed:  # type: ignore[attr-defined]
            raise mixed(what)
    else:
        check_literal(what, left, right)
    return left.wide  # type: ignore[attr-defined]


def mixed(what: str) -> FirmwareError:
    return FirmwareError(f"`{what}` mixes u32 and i32; convert one: u32(x) or i32(x)")


def check_literal(what: str, kind: Any, literal: int) -> None:
    """Refuse a literal that the other operand's kind does not hold."""
    wide = kind.wide
    if wide.holds(literal) or (what in MASKS and -(1 << 31) <= literal < 1 << 32):
        return
    raise FirmwareError(
        f"`{what}` of {wide.__name__} and {literal}, which {wide.__name__} does not hold; "
        f"write {wide.__name__}({literal}) if the low 32 bits are meant"
    )


def check_place(kind: Any, given: Operand, what: str) -> None:
    """Refuse what a parameter, result, member or element of `kind` does not take. Wider words lose
    their upper bits there."""
    if isinstance(given, type):
        if given.signed != kind.signed:  # type: ignore[attr-defined]
            raise FirmwareError(
                f"{given.wide.__name__} given for {what}, which is {kind.__name__}; "  # type: ignore[attr-defined]
                f"convert it: {kind.__name__}(x)"
            )
    elif not kind.holds(given):
        raise FirmwareError(
            f"{given} given for {what} does not fit {kind.__name__}; write {kind.__name__}({given}) "
            "if the low bits are meant"
        )


def bind_arguments(
    name: str, parameters: Sequence[str], defaults: Mapping[str, Any], given: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the value of each parameter of the function `name`, in the order of the parameters; a
    default where a call gives nothing."""
    if len(given) > len(parameters):
        raise FirmwareError(f"{name} takes {len(parameters)} arguments, not {len(given) + len(named)}")
    bound = dict(zip(parameters, given, strict=False))
    for keyword, value in named.items():
        if keyword not in parameters:
            raise FirmwareError(f"{name} has no parameter {keyword!r}; it has {', '.join(parameters)}")
        if keyword in bound:
            raise FirmwareError(f"{name} is given {keyword!r} twice; leave one out")
        bound[keyword] = value
    missing = [parameter for parameter in parameters if parameter not in bound and parameter not in defaults]
    if missing:
        raise FirmwareError(f"{name} lacks the argument {missing[0]!r}; it takes {', '.join(parameters)}")
    return {parameter: bound[parameter] if parameter in bound else defaults[parameter] for parameter in parameters}


def range_kind(start: Operand, stop: Operand, step: int, unsigned: Any, signed: Any) -> Any:
    """The kind of a range's numbers: that of its bounds; `signed` for literals alone of which one,
    or the step, is negative."""
    if step == 0 or abs(step) >= 1 << 31:
        raise FirmwareError(f"range with a step of {step}; it must be other than 0 and less than 2**31")
    typed = [bound for bound in (start, stop) if isinstance(bound, type)]
    if typed:
        return result_kind("range", start, stop)
    kind = signed if min(start, stop, step) < 0 else unsigned
    for bound in (start, stop):
        check_literal("range", kind, bound)
    return kind
