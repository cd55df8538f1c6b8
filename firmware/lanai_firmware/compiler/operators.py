"""Operators: arithmetic, comparison, conversion. Python decides what they mean, so constants fold
with Python's objects."""

import ast
import operator
from collections.abc import Callable
from typing import Any

from lanai_hdl.errors import UserError

from ..lang import rules
from ..lang.integers import Word, i32
from ..lang.types import PtrType, is_integer, name_of, sizeof
from . import tree
from .scope import Scope
from .tree import Value, constant
from .values import Entity, View, describe, is_word

BINARY: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.BitAnd: ("&", operator.and_),
    ast.BitOr: ("|", operator.or_),
    ast.BitXor: ("^", operator.xor),
    ast.LShift: ("<<", operator.lshift),
    ast.RShift: (">>", operator.rshift),
}
PLAIN = {"+": "add", "-": "sub", "*": "mul", "&": "and_", "|": "or_", "^": "xor"}
COMPARE: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Eq: rules.COMPARISONS["eq"],
    ast.NotEq: rules.COMPARISONS["ne"],
    ast.Lt: rules.COMPARISONS["lt"],
    ast.LtE: rules.COMPARISONS["le"],
    ast.Gt: rules.COMPARISONS["gt"],
    ast.GtE: rules.COMPARISONS["ge"],
}


def fold(scope: Scope, node: ast.AST, function: Callable[..., Any], *values: Any) -> Value:
    try:
        return constant(function(*values))
    except (UserError, ArithmeticError, TypeError, ValueError) as error:
        scope.fail(node, str(error))


def operand(scope: Scope, node: ast.AST, value: Any, what: str) -> Any:
    """`value` as `lang.rules` wants it: its kind, or the literal itself."""
    if isinstance(value, Value):
        if value.kind is int:
            return int(value.python)
        if is_word(value.kind):
            return value.kind
    scope.fail(node, f"`{what}` of {describe(value)}, which is not an integer; convert it: u32(x)")


def ruled(scope: Scope, node: ast.AST, rule: Callable[..., Any], *given: Any) -> Any:
    """Return what a rule of the language gives; its refusal is an error at `node`."""
    try:
        return rule(*given)
    except rules.FirmwareError as error:
        scope.fail(node, str(error))


def alike(scope: Scope, node: ast.AST, what: str, left: Any, right: Any) -> Any:
    """Kind of the operation `what`."""
    given = (operand(scope, node, value, what) for value in (left, right))
    return ruled(scope, node, rules.result_kind, what, *given)


def binary(scope: Scope, node: ast.AST, operation: ast.operator, left: Any, right: Any) -> Value:
    if type(operation) not in BINARY:
        scope.fail(node, f"`{type(operation).__name__}` is not in the language; write `//`, `*`, shifts or a loop")
    symbol, function = BINARY[type(operation)]
    if isinstance(left, Value) and isinstance(right, Value):
        if left.constant and right.constant:
            return fold(scope, node, function, left.python, right.python)
        if isinstance(left.kind, PtrType):
            return move(scope, node, symbol, left, right)
    kind = alike(scope, node, symbol, left, right)
    if symbol in PLAIN:
        return tree.Binary(kind, PLAIN[symbol], left, right)
    if symbol in ("<<", ">>"):
        return tree.Shift(kind, symbol, left, right)
    return divide(scope, node, symbol, kind, left, right)


def move(scope: Scope, node: ast.AST, symbol: str, pointer: Value, count: Any) -> Value:
    if symbol not in ("+", "-"):
        scope.fail(node, f"`{symbol}` on {describe(pointer)}; convert it: u32(p)")
    if isinstance(count, Value) and isinstance(count.kind, PtrType):
        scope.fail(node, "pointers are not subtracted; write (u32(p) - u32(q)) // sizeof(T)")
    size = sizeof(pointer.kind.target)
    return tree.Index(pointer.kind, pointer, index_of(scope, node, count), size, negative=symbol == "-")


def index_of(scope: Scope, node: ast.AST, value: Any) -> Any:
    """An index as a Python int if it is constant."""
    if isinstance(value, Value):
        if value.constant and value.kind is not bool:
            return int(value.python)
        if is_word(value.kind):
            return value
    scope.fail(node, f"{describe(value)} is not an index; use u32 or i32")


def divide(scope: Scope, node: ast.AST, symbol: str, kind: Any, left: Value, right: Value) -> Value:
    """Rounds down. For i32 it is a run-time helper, but for constant powers of two."""
    helper = ""
    known = int(right.python) if right.constant else None
    if known == 0:
        scope.fail(node, f"`{symbol}` by zero")
    if kind is i32 and not (known is not None and is_power(known)):
        helper = scope.unit.helper("divide_floor" if symbol == "//" else "modulo_floor")
    return tree.Divide(kind, symbol, left, right, helper, scope.line(node))


def is_power(number: int) -> bool:
    """Is it a power of two?"""
    return number > 0 and number & (number - 1) == 0


def compare(scope: Scope, node: ast.AST, operation: ast.cmpop, left: Any, right: Any) -> Value:
    if type(operation) not in COMPARE:
        scope.fail(node, f"`{type(operation).__name__}` is not in the language; compare with ==, !=, <, <=, >, >=")
    symbol, function = COMPARE[type(operation)]
    if isinstance(left, Value) and isinstance(right, Value):
        if left.constant and right.constant:
            return fold(scope, node, function, left.python, right.python)
        if isinstance(left.kind, PtrType) or isinstance(right.kind, PtrType):
            if left.kind != right.kind or symbol not in ("==", "!="):
                scope.fail(
                    node,
                    f"`{symbol}` between {describe(left)} and {describe(right)}; use == or != on one type: cast(T, p)",
                )
            return tree.Compare(bool, symbol, left, right, False)
        if left.kind is bool and right.kind is bool and symbol in ("==", "!="):
            return tree.Compare(bool, symbol, left, right, False)
    kind = alike(scope, node, symbol, left, right)
    return tree.Compare(bool, symbol, left, right, kind is i32)


def unary(scope: Scope, node: ast.AST, operation: ast.unaryop, value: Value) -> Value:
    table: dict[type[ast.unaryop], tuple[str, Callable[[Any], Any]]] = {
        ast.USub: ("-", operator.neg),
        ast.Invert: ("~", operator.invert),
        ast.UAdd: ("+", operator.pos),
    }
    symbol, function = table[type(operation)]
    if value.constant and value.kind is not bool:
        return fold(scope, node, function, value.python)
    kind = operand(scope, node, value, symbol)
    if symbol == "+":
        return value
    return tree.Unary(kind, "neg" if symbol == "-" else "not_", value)


def truth(scope: Scope, node: ast.AST, value: Any) -> Value:
    """Return the test that `value` counts as true in a condition."""
    if isinstance(value, Value) and (
        value.kind in (bool, int) or is_word(value.kind) or isinstance(value.kind, PtrType)
    ):
        return value if value.kind is bool else tree.Truth(bool, value)
    scope.fail(node, f"{describe(value)} has no truth value; compare it with something")


def convert(scope: Scope, node: ast.AST, kind: type[Word], value: Any) -> Value:
    """`u32(x)` and its like: from integers, bools and pointers. The result computes as u32 or
    i32."""
    if isinstance(value, Value):
        if value.constant:
            return fold(scope, node, kind, value.python)
        if value.kind is bool:
            return tree.Widen(kind.wide, value)
        if isinstance(value.kind, PtrType):
            if kind.bits != 32:
                scope.fail(node, f"{name_of(kind)}(pointer) loses bits; write u32(p)")
            return tree.ToWord(kind, value)
        if is_word(value.kind):
            return narrow(kind.wide, value, kind)
    scope.fail(node, f"{describe(value)} cannot become {name_of(kind)}; convert integers, bools and pointers only")


def narrow(result: Any, value: Value, kind: type[Word]) -> Value:
    """A word with the bits that a narrower kind would lose cleared."""
    return value if kind.bits == 32 and value.kind is result else tree.Narrow(result, value, kind.bits)


def accept(scope: Scope, node: ast.AST, kind: Any, value: Any, what: str) -> Value:
    """`value` where `kind` is wanted (an argument, a result, a store); the rules of
    `lang.functions.coerce`."""
    if isinstance(value, View | Entity) or not isinstance(value, Value) or value.kind is None:
        hint = "pass address_of(x)" if isinstance(value, View) else "give a value"
        scope.fail(node, f"{describe(value)} given for {what}, which is {name_of(kind)}; {hint}")
    if kind is bool:
        if value.kind is not bool:
            scope.fail(node, f"{describe(value)} given for {what}, which is bool; write x != 0")
        return value
    if isinstance(kind, PtrType):
        if value.kind != kind:
            scope.fail(
                node,
                f"{describe(value)} given for {what}, which is {kind}; convert it: cast({name_of(kind.target)}, x)",
            )
        return value
    if is_integer(kind) and (value.kind is int or is_word(value.kind)):
        ruled(scope, node, rules.check_place, kind, int(value.python) if value.kind is int else value.kind, what)
        return value if value.kind is int else narrow(kind.wide, value, kind)
    scope.fail(node, f"{describe(value)} given for {what}, which is {name_of(kind)}; convert it: {name_of(kind)}(x)")
