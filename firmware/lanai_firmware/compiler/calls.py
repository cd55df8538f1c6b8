"""Calls: firmware functions, conversions, registers, and the operations of `lang.intrinsics`."""

import ast
import sys
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from ..errors import UserError
from ..lang import functions, intrinsics, types, views
from ..lang.functions import Function
from ..lang.integers import i32, u32
from ..lang.machine import Register
from ..lang.types import ArrayType, PtrType, alignof, is_integer, is_struct, name_of, sizeof
from . import operators
from .body import Body
from .values import BIT, NOTHING, WORD, Entity, Method, Value, View, constant, describe, is_word, word_constant

Evaluate = Callable[[Body, ast.expr], Any]


def call(body: Body, node: ast.Call, evaluate: Evaluate) -> Any:
    if isinstance(node.func, ast.Name) and node.func.id == "super":
        body.source.fail(node, "super() is not in the language; firmware has functions and structs only")
    callee = evaluate(body, node.func)
    if isinstance(callee, Method):
        return register_access(body, node, callee, evaluate)
    if not isinstance(callee, Entity):
        body.source.fail(node, f"{describe(callee)} is not called; only firmware functions and types are")
    target = callee.python
    if target in KEYWORDS:
        return KEYWORDS[target](body, node, evaluate)
    if any(isinstance(argument, ast.Starred) for argument in node.args) or any(k.arg is None for k in node.keywords):
        body.source.fail(node, "`*` and `**` are not in the language; write each argument")
    if isinstance(target, Function):
        return call_function(body, node, target, evaluate)
    if node.keywords:
        body.source.fail(node, f"{ast.unparse(node.func)} takes its arguments by position")
    if is_integer(target):
        (given,) = arguments(body, node, evaluate, 1)
        return operators.convert(body, node, target, given)
    if is_struct(target):
        body.source.fail(node, f"{target.__name__}() makes no object; use a Global, local({target.__name__}) or at()")
    handler = INTRINSICS.get(target) if hasattr(target, "__hash__") and target.__hash__ else None
    if handler is None:
        hint = HINTS.get(getattr(target, "__name__", ""), "decorate it with @firmware")
        body.source.fail(node, f"{getattr(target, '__name__', target)!r} is not a firmware function; {hint}")
    return handler(body, node, *arguments(body, node, evaluate, None))


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


def arguments(body: Body, node: ast.Call, evaluate: Evaluate, count: int | None) -> list[Any]:
    if count is not None and len(node.args) != count:
        body.source.fail(node, f"{ast.unparse(node.func)} takes {count} argument, not {len(node.args)}")
    return [evaluate(body, argument) for argument in node.args]


def call_function(body: Body, node: ast.Call, target: Function, evaluate: Evaluate) -> Value:
    callee = body.program.declare(target, body.source, node)
    kinds, result = target.signature
    named = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
    try:
        bound = target.bind(node.args, named)
    except UserError as error:
        body.source.fail(node, str(error))
    given = {}
    for name, argument in sorted(bound.items(), key=lambda one: _place(one[1])):  # evaluated as they are written
        value = evaluate(body, argument) if isinstance(argument, ast.expr) else constant(argument)
        where = argument if isinstance(argument, ast.expr) else node
        given[name] = operators.accept(body, where, kinds[name], value, f"{name!r} of {target.python.__name__}")
    body.mark(node)
    returned = body.builder.call(callee, [given[name] for name in kinds], cconv="fastcc")
    if result is None:
        return NOTHING
    return Value(result.wide if is_integer(result) else result, returned)


def _place(argument: Any) -> tuple[int, int]:
    """Where in the source an argument stands; defaults come last."""
    return (argument.lineno, argument.col_offset) if isinstance(argument, ast.expr) else (sys.maxsize, 0)


def register_access(body: Body, node: ast.Call, method: Method, evaluate: Evaluate) -> Value:
    target: Register = method.owner
    if method.name == "load":
        arguments(body, node, evaluate, 0)
        return Value(target.kind, body.target.load_register(body.builder, target.address))
    (given,) = arguments(body, node, evaluate, 1)
    typed = isinstance(given, Value) and is_word(given.kind)
    kind = given.kind if typed else target.kind  # a register takes the bits of either sign
    accepted = operators.accept(body, node, kind, given, "the register")
    body.target.store_register(body.builder, target.address, accepted)
    return NOTHING


def kind_argument(body: Body, node: ast.Call, position: int, evaluate: Evaluate) -> Any:
    """A type written as an argument: T, Ptr[T], Array[T, n], or its name as a string."""
    if position >= len(node.args):
        body.source.fail(node, f"{ast.unparse(node.func)} lacks an argument; see docs/firmware-language.md")
    argument = node.args[position]
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        written: Any = argument.value
    else:
        written = evaluate(body, argument)
        written = written.python if isinstance(written, Entity) else written.kind if isinstance(written, View) else None
    try:
        return types.resolve(written, body.namespace, "this type")
    except Exception as error:
        body.source.fail(argument, str(error))


def size_of(body: Body, node: ast.Call, evaluate: Evaluate) -> Value:
    return constant(sizeof(kind_argument(body, node, 0, evaluate)))


def offset_of(body: Body, node: ast.Call, evaluate: Evaluate) -> Value:
    struct = kind_argument(body, node, 0, evaluate)
    member = node.args[1] if len(node.args) > 1 else None
    if not (is_struct(struct) and isinstance(member, ast.Constant) and isinstance(member.value, str)):
        body.source.fail(node, 'offset_of takes a struct and a member\'s name: offset_of(Envelope, "tag")')
    try:
        return constant(types.offset_of(struct, member.value))
    except Exception as error:
        body.source.fail(node, str(error))


def pointer_kind(body: Body, node: ast.Call, evaluate: Evaluate) -> PtrType:
    kind = kind_argument(body, node, 0, evaluate)
    return kind if isinstance(kind, PtrType) else PtrType(kind)


def null(body: Body, node: ast.Call, evaluate: Evaluate) -> Value:
    return Value(pointer_kind(body, node, evaluate), body.target.null())


def at(body: Body, node: ast.Call, evaluate: Evaluate) -> Value:
    kind = pointer_kind(body, node, evaluate)
    if len(node.args) != 2:
        body.source.fail(node, "at takes a type and an address: at(Ptr[T], address)")
    address = evaluate(body, node.args[1])
    word = operators.accept(body, node, u32, address, "the address")
    if address.constant:
        return Value(kind, body.target.from_word_constant(int(address.python)))
    return Value(kind, body.target.from_word(body.builder, word))


def cast(body: Body, node: ast.Call, evaluate: Evaluate) -> Value:
    kind = pointer_kind(body, node, evaluate)
    given = evaluate(body, node.args[1]) if len(node.args) == 2 else None
    if not (isinstance(given, Value) and isinstance(given.kind, PtrType)):
        body.source.fail(node, "cast takes a type and a pointer: cast(T, p); from a number: at(Ptr[T], address)")
    return Value(kind, given.ir)


def local(body: Body, node: ast.Call, evaluate: Evaluate) -> View:
    kind = kind_argument(body, node, 0, evaluate)
    if not (is_struct(kind) or isinstance(kind, ArrayType)):
        body.source.fail(node, f"local({name_of(kind)}): a plain variable does; local() is for structs and arrays")
    if body.loops:
        body.source.fail(node, "local() in a loop; make it once before the loop")
    align = max(4, alignof(kind))
    for keyword in node.keywords:
        given = evaluate(body, keyword.value)
        if keyword.arg != "align" or not given.constant or int(given.python).bit_count() != 1:
            body.source.fail(node, "local() takes a type, and align= with a power of two")
        align = max(align, int(given.python))
    slot = body.target.local(body, sizeof(kind), align)
    fill = body.program.helper("fill_bytes")
    size = word_constant(sizeof(kind))
    body.builder.call(fill, [slot, word_constant(0), size], cconv="fastcc")
    return View(kind, slot)


def trap(body: Body, node: ast.Call, evaluate: Evaluate) -> Value:
    reason = node.args[0] if node.args else ast.Constant("trap")
    if len(node.args) > 1 or not (isinstance(reason, ast.Constant) and isinstance(reason.value, str)):
        body.source.fail(node, 'trap takes one literal text: trap("list is broken")')
    body.trap(node, reason.value)
    body.builder.position_at_end(
        body.block("after_trap")
    )  # nobody comes here; the rest of an expression lands somewhere
    return NOTHING


def address_of(body: Body, node: ast.Call, thing: Any = None) -> Value:
    if not isinstance(thing, View):
        body.source.fail(
            node,
            f"address_of({describe(thing) if thing else ''}): a value has no address; "
            "write address_of(array) + i, or at(Ptr[T], u32(p) + offset_of(...))",
        )
    kind = thing.kind.element if isinstance(thing.kind, ArrayType) else thing.kind
    return Value(PtrType(kind), thing.pointer)


def length(body: Body, node: ast.Call, thing: Any = None) -> Value:
    if isinstance(thing, Entity) and isinstance(thing.python, tuple):
        return constant(len(thing.python))
    if not (isinstance(thing, View) and isinstance(thing.kind, ArrayType)):
        body.source.fail(node, "len() is of arrays; sizeof() is of types")
    return constant(thing.kind.count)


def block_helper(name: str, parameters: int) -> Callable[..., Value]:
    """`copy` and `fill`: byte pointers to a helper of the run-time, whatever they point to."""

    def emit(body: Body, node: ast.Call, *given: Any) -> Value:
        if len(given) != 3:
            body.source.fail(node, f"{name} takes 3 arguments, not {len(given)}")
        values = []
        for index, value in enumerate(given):
            if index < parameters:
                if not (isinstance(value, Value) and isinstance(value.kind, PtrType)):
                    body.source.fail(node, f"{name}: {describe(value)} is no pointer; write address_of(x)")
                values.append(value.ir)
            else:
                values.append(operators.accept(body, node, u32, value, f"{name}'s argument {index + 1}"))
        helper = body.program.helper("copy_bytes" if name == "copy" else "fill_bytes")
        body.builder.call(helper, values, cconv="fastcc")
        return NOTHING

    return emit


def bit_count(intrinsic: str, python: Callable[[int], Any], flagged: bool) -> Callable[..., Value]:
    def emit(body: Body, node: ast.Call, given: Any = None) -> Value:
        word = operators.accept(body, node, u32, given, "a count of bits")
        if given.constant:
            return constant(python(given.python))
        kinds = [WORD, BIT] if flagged else [WORD]
        function = body.program.module.declare_intrinsic(f"llvm.{intrinsic}", [WORD], ir.FunctionType(WORD, kinds))
        return Value(u32, body.builder.call(function, [word, constant(False).ir] if flagged else [word]))

    return emit


def extreme(name: str) -> Callable[..., Value]:
    def emit(body: Body, node: ast.Call, *given: Any) -> Value:
        if len(given) != 2:
            body.source.fail(node, f"minimum and maximum take 2 arguments, not {len(given)}")
        kind, first, second = operators.alike(body, node, name, *given)
        compare: Any = body.builder.icmp_signed if kind is i32 else body.builder.icmp_unsigned
        return Value(
            kind, body.builder.select(compare("<" if name == "minimum" else ">", second, first), second, first)
        )

    return emit


def barrier(body: Body, node: ast.Call) -> Value:
    body.target.barrier(body.builder)
    return NOTHING


def truth_value(body: Body, node: ast.Call, given: Any = None) -> Value:
    return Value(bool, operators.truth(body, node, given))


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
