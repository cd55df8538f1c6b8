"""Operators: arithmetic, comparison, conversion. Python decides what they mean, so constants fold with Python's objects."""

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from ..errors import UserError
from ..lang import rules
from ..lang.integers import Word, i32
from ..lang.types import PtrType, is_integer, name_of, sizeof
from .values import WORD, Entity, Value, View, constant, describe, is_word, word_constant

if TYPE_CHECKING:
    from .body import Body

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


def fold(body: "Body", node: ast.AST, function: Callable[..., Any], *values: Any) -> Value:
    try:
        return constant(function(*values))
    except (UserError, ArithmeticError, TypeError, ValueError) as error:
        body.source.fail(node, str(error))


def operand(body: "Body", node: ast.AST, value: Any, what: str) -> Any:
    """`value` as `lang.rules` wants it: its kind, or the literal itself."""
    if isinstance(value, Value):
        if value.kind is int:
            return int(value.python)
        if is_word(value.kind):
            return value.kind
    body.source.fail(node, f"`{what}` of {describe(value)}, which is no integer; convert it: u32(x)")


def ruled(body: "Body", node: ast.AST, rule: Callable[..., Any], *given: Any) -> Any:
    """What a rule of the language gives; its refusal is an error at `node`."""
    try:
        return rule(*given)
    except rules.FirmwareError as error:
        body.source.fail(node, str(error))


def word(value: Value) -> Any:
    """The IR of an operand that the rules have accepted; literals take the type of the operation."""
    return word_constant(int(value.python)) if value.kind is int else value.ir


def alike(body: "Body", node: ast.AST, what: str, left: Any, right: Any) -> tuple[Any, Any, Any]:
    """Kind of the operation `what`, and the IR of both operands."""
    given = (operand(body, node, value, what) for value in (left, right))
    return ruled(body, node, rules.result_kind, what, *given), word(left), word(right)


def binary(body: "Body", node: ast.AST, operation: ast.operator, left: Any, right: Any) -> Value:
    if type(operation) not in BINARY:
        body.source.fail(
            node, f"`{type(operation).__name__}` is not in the language; write `//`, `*`, shifts or a loop"
        )
    symbol, function = BINARY[type(operation)]
    if isinstance(left, Value) and isinstance(right, Value):
        if left.constant and right.constant:
            return fold(body, node, function, left.python, right.python)
        if isinstance(left.kind, PtrType):
            return move(body, node, symbol, left, right)
    kind, a, b = alike(body, node, symbol, left, right)
    if symbol in PLAIN:
        return Value(kind, getattr(body.builder, PLAIN[symbol])(a, b))
    if symbol in ("<<", ">>"):
        return Value(kind, shift(body, symbol, kind, a, b, right))
    return divide(body, node, symbol, kind, a, b, right)


def move(body: "Body", node: ast.AST, symbol: str, pointer: Value, count: Any) -> Value:
    if symbol not in ("+", "-"):
        body.source.fail(node, f"`{symbol}` on {describe(pointer)}; convert it: u32(p)")
    if isinstance(count, Value) and isinstance(count.kind, PtrType):
        body.source.fail(node, "pointers are not subtracted; write (u32(p) - u32(q)) // sizeof(T)")
    size = sizeof(pointer.kind.target)
    index = index_of(body, node, count)
    if symbol == "-":
        index = -index if isinstance(index, int) else body.builder.neg(index)
    return Value(pointer.kind, body.target.index(body.builder, pointer.ir, index, size))


def index_of(body: "Body", node: ast.AST, value: Any) -> Any:
    """An index as a Python int if it is constant, else as IR."""
    if isinstance(value, Value):
        if value.constant and value.kind is not bool:
            return int(value.python)
        if is_word(value.kind):
            return value.ir
    body.source.fail(node, f"{describe(value)} is no index; use u32 or i32")


def shift(body: "Body", symbol: str, kind: Any, a: Any, b: Any, amount: Any) -> Any:
    """Amounts count modulo 32; LLVM leaves larger ones undefined."""
    limit = word_constant(31)
    b = word_constant(int(amount.python) & 31) if amount.constant else body.builder.and_(b, limit)
    if symbol == "<<":
        return body.builder.shl(a, b)
    return body.builder.ashr(a, b) if kind is i32 else body.builder.lshr(a, b)


def divide(body: "Body", node: ast.AST, symbol: str, kind: Any, a: Any, b: Any, divisor: Any) -> Value:
    """Rounds down. A constant power of two is a shift or a mask for both signs; i32 otherwise is a run-time helper."""
    if divisor.constant:
        known = int(divisor.python)
        if known == 0:
            body.source.fail(node, f"`{symbol}` by zero")
        if known > 0 and known & (known - 1) == 0:
            if symbol == "%":
                return Value(kind, body.builder.and_(a, word_constant(known - 1)))
            return Value(kind, shift(body, ">>", kind, a, None, constant(known.bit_length() - 1)))
    else:
        body.trap_if(body.builder.icmp_unsigned("==", b, word_constant(0)), node, "division by zero")
    if kind is i32:
        helper = body.program.helper("divide_floor" if symbol == "//" else "modulo_floor")
        return Value(kind, body.builder.call(helper, [a, b], cconv="fastcc"))
    return Value(kind, body.builder.udiv(a, b) if symbol == "//" else body.builder.urem(a, b))


def compare(body: "Body", node: ast.AST, operation: ast.cmpop, left: Any, right: Any) -> Value:
    if type(operation) not in COMPARE:
        body.source.fail(
            node, f"`{type(operation).__name__}` is not in the language; compare with ==, !=, <, <=, >, >="
        )
    symbol, function = COMPARE[type(operation)]
    if isinstance(left, Value) and isinstance(right, Value):
        if left.constant and right.constant:
            return fold(body, node, function, left.python, right.python)
        if isinstance(left.kind, PtrType) or isinstance(right.kind, PtrType):
            if left.kind != right.kind or symbol not in ("==", "!="):
                body.source.fail(
                    node,
                    f"`{symbol}` between {describe(left)} and {describe(right)}; use == or != on one type: cast(T, p)",
                )
            return Value(bool, body.builder.icmp_unsigned(symbol, left.ir, right.ir))
        if left.kind is bool and right.kind is bool and symbol in ("==", "!="):
            return Value(bool, body.builder.icmp_unsigned(symbol, left.ir, right.ir))
    kind, a, b = alike(body, node, symbol, left, right)
    builder: Any = body.builder.icmp_signed if kind is i32 else body.builder.icmp_unsigned
    return Value(bool, builder(symbol, a, b))


def unary(body: "Body", node: ast.AST, operation: ast.unaryop, value: Any) -> Value:
    table: dict[type[ast.unaryop], tuple[str, Callable[[Any], Any]]] = {
        ast.USub: ("-", operator.neg),
        ast.Invert: ("~", operator.invert),
        ast.UAdd: ("+", operator.pos),
    }
    symbol, function = table[type(operation)]
    if isinstance(value, Value) and value.constant and value.kind is not bool:
        return fold(body, node, function, value.python)
    kind = operand(body, node, value, symbol)
    if symbol == "-":
        return Value(kind, body.builder.neg(value.ir))
    return Value(kind, body.builder.not_(value.ir)) if symbol == "~" else value


def truth(body: "Body", node: ast.AST, value: Any) -> Any:
    """The i1 that says whether `value` counts as true in a condition."""
    if isinstance(value, Value):
        if value.kind is bool:
            return value.ir
        if value.kind is int:
            return ir_bool(bool(value.python))
        if is_word(value.kind):
            return body.builder.icmp_unsigned("!=", value.ir, word_constant(0))
        if isinstance(value.kind, PtrType):
            return body.builder.icmp_unsigned("!=", value.ir, body.target.null())
    body.source.fail(node, f"{describe(value)} has no truth value; compare it with something")


def ir_bool(value: bool) -> Any:
    return constant(value).ir


def convert(body: "Body", node: ast.AST, kind: type[Word], value: Any) -> Value:
    """`u32(x)` and its like: from integers, bools and pointers. The result computes as u32 or i32."""
    if isinstance(value, Value):
        if value.constant:
            return fold(body, node, kind, value.python)
        if value.kind is bool:
            return Value(kind.wide, body.builder.zext(value.ir, WORD))
        if isinstance(value.kind, PtrType):
            if kind.bits != 32:
                body.source.fail(node, f"{name_of(kind)}(pointer) loses bits; write u32(p)")
            return Value(kind, body.target.to_word(body.builder, value.ir))
        if is_word(value.kind):
            return Value(kind.wide, narrow(body, value.ir, kind))
    body.source.fail(
        node, f"{describe(value)} cannot become {name_of(kind)}; convert integers, bools and pointers only"
    )


def narrow(body: "Body", word: Any, kind: type[Word]) -> Any:
    """A word with the bits that a narrower kind would lose cleared."""
    if kind.bits == 32:
        return word
    return body.builder.and_(word, word_constant((1 << kind.bits) - 1))


def accept(body: "Body", node: ast.AST, kind: Any, value: Any, what: str) -> Any:
    """The IR of `value` where `kind` is wanted (an argument, a result, a store); the rules of `lang.functions.coerce`."""
    if isinstance(value, View | Entity) or not isinstance(value, Value) or value.kind is None:
        hint = "pass address_of(x)" if isinstance(value, View) else "give a value"
        body.source.fail(node, f"{describe(value)} given for {what}, which is {name_of(kind)}; {hint}")
    if kind is bool:
        if value.kind is not bool:
            body.source.fail(node, f"{describe(value)} given for {what}, which is bool; write x != 0")
        return value.ir
    if isinstance(kind, PtrType):
        if value.kind != kind:
            body.source.fail(
                node,
                f"{describe(value)} given for {what}, which is {kind}; convert it: cast({name_of(kind.target)}, x)",
            )
        return value.ir
    if is_integer(kind) and (value.kind is int or is_word(value.kind)):
        ruled(body, node, rules.check_place, kind, int(value.python) if value.kind is int else value.kind, what)
        return word(value) if value.kind is int else narrow(body, value.ir, kind)
    body.source.fail(
        node, f"{describe(value)} given for {what}, which is {name_of(kind)}; convert it: {name_of(kind)}(x)"
    )


def integer_type(bits: int) -> Any:
    return ir.IntType(bits)
