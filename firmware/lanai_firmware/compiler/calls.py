"""Calls: firmware functions, conversions, registers, and the operations of `lang.intrinsics`."""

import ast
import sys
from collections.abc import Callable
from typing import Any

from lanai_hdl.errors import UserError

from ..lang import functions, intrinsics, types, views
from ..lang.functions import Function
from ..lang.integers import u32
from ..lang.machine import Register
from ..lang.types import ArrayType, PtrType, alignof, is_integer, is_struct, name_of, sizeof
from . import operators, tree
from .scope import Scope
from .tree import Value, constant
from .values import Entity, Method, Result, View, describe, is_word

PURE = (tree.Variable, tree.Global, tree.Offset, tree.Index, tree.Load, tree.Cast, tree.FromWord, tree.Constant)


def call(scope: Scope, node: ast.Call) -> Result:
    if isinstance(node.func, ast.Name) and node.func.id == "super":
        scope.fail(node, "super() is not in the language; firmware has functions and structs only")
    callee = scope.expression(node.func)
    if isinstance(callee, Method):
        return register_access(scope, node, callee)
    if not isinstance(callee, Entity):
        scope.fail(node, f"{describe(callee)} is not called; only firmware functions and types are")
    target = callee.python
    if target in KEYWORDS:
        found: Result = KEYWORDS[target](scope, node)
        return found
    if any(isinstance(argument, ast.Starred) for argument in node.args) or any(k.arg is None for k in node.keywords):
        scope.fail(node, "`*` and `**` are not in the language; write each argument")
    if isinstance(target, Function):
        return call_function(scope, node, target)
    if node.keywords:
        scope.fail(node, f"{ast.unparse(node.func)} takes its arguments by position")
    if is_integer(target):
        (given,) = arguments(scope, node, 1)
        return operators.convert(scope, node, target, given)
    if is_struct(target):
        scope.fail(node, f"{target.__name__}() makes no object; use a Global, local({target.__name__}) or at()")
    handler = INTRINSICS.get(target) if hasattr(target, "__hash__") and target.__hash__ else None
    if handler is None:
        hint = HINTS.get(getattr(target, "__name__", ""), "decorate it with @firmware")
        scope.fail(node, f"{getattr(target, '__name__', target)!r} is not a firmware function; {hint}")
    made: Result = handler(scope, node, *arguments(scope, node, None))
    return made


HINTS = {
    "print": "write to a register or to SRAM, and look from outside",
    "min": "write minimum(a, b)",
    "max": "write maximum(a, b)",
    "abs": "write x if x >= 0 else -x",
    "int": "write u32(x) or i32(x)",
    "float": "there are no floats; scale to an integer",
    "range": "it stands in `for i in range(...)` only",
    "divmod": "write // and %",
    "isinstance": "types are fixed when compiling",
    "dict": "use an Array indexed by a number",
    "list": "use Global[Array[T, n]]",
}


def arguments(scope: Scope, node: ast.Call, count: int | None) -> list[Any]:
    if count is not None and len(node.args) != count:
        scope.fail(node, f"{ast.unparse(node.func)} takes {count} argument, not {len(node.args)}")
    return [scope.expression(argument) for argument in node.args]


def call_function(scope: Scope, node: ast.Call, target: Function) -> Value:
    symbol = scope.unit.declare(target, scope.source)
    kinds, result = target.signature
    named = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
    try:
        bound = target.bind(node.args, named)
    except UserError as error:
        scope.fail(node, str(error))
    given = {}
    for name, argument in sorted(bound.items(), key=lambda one: _place(one[1])):  # evaluated as they are written
        value = scope.expression(argument) if isinstance(argument, ast.expr) else constant(argument)
        where = argument if isinstance(argument, ast.expr) else node
        given[name] = operators.accept(scope, where, kinds[name], value, f"{name!r} of {target.python.__name__}")
    ordered = [(list(kinds).index(name), value) for name, value in given.items()]
    kind = result.wide if is_integer(result) else result
    return tree.Call(kind, symbol, ordered, scope.line(node))


def _place(argument: Any) -> tuple[int, int]:
    """Return the line and column of an argument in the source; defaults come last."""
    return (argument.lineno, argument.col_offset) if isinstance(argument, ast.expr) else (sys.maxsize, 0)


def register_access(scope: Scope, node: ast.Call, method: Method) -> Value:
    target: Register = method.owner
    if method.name == "load":
        arguments(scope, node, 0)
        return tree.RegisterLoad(target.kind, target.address)
    (given,) = arguments(scope, node, 1)
    typed = isinstance(given, Value) and is_word(given.kind)
    kind = given.kind if typed else target.kind  # a register takes the bits of either sign
    accepted = operators.accept(scope, node, kind, given, "the register")
    return tree.RegisterStore(None, target.address, accepted)


def kind_argument(scope: Scope, node: ast.Call, position: int) -> Any:
    """A type written as an argument: T, Ptr[T], Array[T, n], or its name as a string."""
    if position >= len(node.args):
        scope.fail(node, f"{ast.unparse(node.func)} lacks an argument; see docs/firmware-language.md")
    argument = node.args[position]
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        written: Any = argument.value
    else:
        written = scope.expression(argument)
        written = written.python if isinstance(written, Entity) else written.kind if isinstance(written, View) else None
    try:
        return types.resolve(written, scope.namespace, "this type")
    except Exception as error:
        scope.fail(argument, str(error))


def size_of(scope: Scope, node: ast.Call) -> Value:
    return constant(sizeof(kind_argument(scope, node, 0)))


def offset_of(scope: Scope, node: ast.Call) -> Value:
    struct = kind_argument(scope, node, 0)
    member = node.args[1] if len(node.args) > 1 else None
    if not (is_struct(struct) and isinstance(member, ast.Constant) and isinstance(member.value, str)):
        scope.fail(node, 'offset_of takes a struct and a member\'s name: offset_of(Envelope, "tag")')
    try:
        return constant(types.offset_of(struct, member.value))
    except Exception as error:
        scope.fail(node, str(error))


def pointer_kind(scope: Scope, node: ast.Call) -> PtrType:
    kind = kind_argument(scope, node, 0)
    return kind if isinstance(kind, PtrType) else PtrType(kind)


def null(scope: Scope, node: ast.Call) -> Value:
    return tree.FromWord(pointer_kind(scope, node), constant(0))


def at(scope: Scope, node: ast.Call) -> Value:
    kind = pointer_kind(scope, node)
    if len(node.args) != 2:
        scope.fail(node, "at takes a type and an address: at(Ptr[T], address)")
    address = scope.expression(node.args[1])
    return tree.FromWord(kind, operators.accept(scope, node, u32, address, "the address"))


def cast(scope: Scope, node: ast.Call) -> Value:
    kind = pointer_kind(scope, node)
    given = scope.expression(node.args[1]) if len(node.args) == 2 else None
    if not (isinstance(given, Value) and isinstance(given.kind, PtrType)):
        scope.fail(node, "cast takes a type and a pointer: cast(T, p); from a number: at(Ptr[T], address)")
    return tree.Cast(kind, given)


def local(scope: Scope, node: ast.Call) -> View:
    kind = kind_argument(scope, node, 0)
    if not (is_struct(kind) or isinstance(kind, ArrayType)):
        scope.fail(node, f"local({name_of(kind)}): a plain variable does; local() is for structs and arrays")
    if scope.loops:
        scope.fail(node, "local() in a loop; make it once before the loop")
    align = max(4, alignof(kind))
    for keyword in node.keywords:
        given = scope.expression(keyword.value)
        power = isinstance(given, Value) and given.constant and int(given.python).bit_count() == 1
        if keyword.arg != "align" or not isinstance(given, Value) or not power:
            scope.fail(node, "local() takes a type, and align= with a power of two")
        align = max(align, int(given.python))
    scope.has_local = True
    return View(kind, tree.Local(None, sizeof(kind), align, scope.unit.helper("fill_bytes")))


def trap(scope: Scope, node: ast.Call) -> Value:
    reason = node.args[0] if node.args else ast.Constant("trap")
    if len(node.args) > 1 or not (isinstance(reason, ast.Constant) and isinstance(reason.value, str)):
        scope.fail(node, 'trap takes one literal text: trap("list is broken")')
    scope.dead = True
    return tree.Trap(None, scope.line(node), reason.value)


def address_of(scope: Scope, node: ast.Call, thing: Any = None) -> Value:
    if not isinstance(thing, View):
        scope.fail(
            node,
            f"address_of({describe(thing) if thing else ''}): a value has no address; "
            "write address_of(array) + i, or at(Ptr[T], u32(p) + offset_of(...))",
        )
    kind = thing.kind.element if isinstance(thing.kind, ArrayType) else thing.kind
    return tree.Cast(PtrType(kind), thing.pointer)


def length(scope: Scope, node: ast.Call, thing: Any = None) -> Value:
    if isinstance(thing, Entity) and isinstance(thing.python, tuple):
        return constant(len(thing.python))
    if not (isinstance(thing, View) and isinstance(thing.kind, ArrayType)):
        scope.fail(node, "len() is of arrays; sizeof() is of types")
    if not is_pure(thing.pointer):
        scope.fail(node, "len() does not call what makes its array; give that a name first")
    return constant(thing.kind.count)


def is_pure(value: Value) -> bool:
    """May it be left out where its value is not needed?"""
    parts = [getattr(value, name, None) for name in ("base", "index", "address", "operand")]
    return isinstance(value, PURE) and all(is_pure(part) for part in parts if isinstance(part, Value))


def block_helper(name: str, parameters: int) -> Callable[..., Value]:
    """`copy` and `fill`: byte pointers to a helper of the run-time, whatever they point to."""

    def emit(scope: Scope, node: ast.Call, *given: Any) -> Value:
        if len(given) != 3:
            scope.fail(node, f"{name} takes 3 arguments, not {len(given)}")
        values = []
        for index, value in enumerate(given):
            if index < parameters:
                if not (isinstance(value, Value) and isinstance(value.kind, PtrType)):
                    scope.fail(node, f"{name}: {describe(value)} is not a pointer; write address_of(x)")
                values.append(value)
            else:
                values.append(operators.accept(scope, node, u32, value, f"{name}'s argument {index + 1}"))
        helper = scope.unit.helper("copy_bytes" if name == "copy" else "fill_bytes")
        return tree.Call(None, helper, list(enumerate(values)))

    return emit


def bit_count(intrinsic: str, python: Callable[[int], Any], flagged: bool) -> Callable[..., Value]:
    def emit(scope: Scope, node: ast.Call, given: Any = None) -> Value:
        word = operators.accept(scope, node, u32, given, "a count of bits")
        if given.constant:
            return constant(python(given.python))
        return tree.BitCount(u32, intrinsic, flagged, word)

    return emit


def extreme(name: str) -> Callable[..., Value]:
    def emit(scope: Scope, node: ast.Call, *given: Any) -> Value:
        if len(given) != 2:
            scope.fail(node, f"minimum and maximum take 2 arguments, not {len(given)}")
        kind = operators.alike(scope, node, name, *given)
        return tree.Extreme(kind, name, *given)

    return emit


def barrier(scope: Scope, node: ast.Call) -> Value:
    return tree.Barrier(None)


def truth_value(scope: Scope, node: ast.Call, given: Any = None) -> Value:
    return tree.Truth(bool, operators.truth(scope, node, given))


KEYWORDS: dict[Any, Callable[..., Any]] = {
    types.sizeof: size_of,
    types.offset_of: offset_of,
    views.null: null,
    views.at: at,
    views.cast: cast,
    functions.local: local,
    intrinsics.trap: trap,
}
INTRINSICS: dict[Any, Callable[..., Any]] = {
    views.address_of: address_of,
    len: length,
    bool: truth_value,
    intrinsics.copy: block_helper("copy", 2),
    intrinsics.fill: block_helper("fill", 1),
    intrinsics.barrier: barrier,
    intrinsics.popcount: bit_count("ctpop", intrinsics.popcount, False),
    intrinsics.leading_zeros: bit_count("ctlz", intrinsics.leading_zeros, True),
    intrinsics.trailing_zeros: bit_count("cttz", intrinsics.trailing_zeros, True),
    intrinsics.minimum: extreme("minimum"),
    intrinsics.maximum: extreme("maximum"),
}
