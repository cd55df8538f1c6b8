"""Expressions: syntax tree in, `Value`, `View` or `Entity` out. Evaluation order is Python's."""

import ast
import builtins
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..lang.machine import Register
from ..lang.types import ArrayType, PtrType, field_of, is_struct, name_of, sizeof
from ..lang.views import ArrayView, Struct, symbol_of
from . import operators, refusals
from .body import Body
from .calls import call
from .source import CompileError
from .values import BIT, Entity, Method, Reference, Value, View, constant, describe


def expression(body: Body, node: ast.expr) -> Any:
    """The value of any expression."""
    handler = HANDLERS.get(type(node))
    if handler is None:
        what, instead = refusals.EXPRESSIONS.get(
            type(node), (type(node).__name__, "integers, pointers, structs and arrays")
        )
        body.source.fail(node, f"{what} not in the language; use {instead}")
    return handler(body, node)


def value(body: Body, node: ast.expr) -> Value:
    """An expression that must be a value: no struct, type or module."""
    result = expression(body, node)
    if not isinstance(result, Value) or result.kind is None:
        body.source.fail(node, f"{describe(result)} is no value here; use one of its members, or address_of(x)")
    return result


def literal(body: Body, node: ast.Constant) -> Value:
    if isinstance(node.value, int):
        return constant(node.value)
    if isinstance(node.value, float):
        body.source.fail(node, f"the float {node.value!r} is not in the language; scale to an integer")
    if node.value is None:
        body.source.fail(node, "None is not in the language; write null(T) for a pointer")
    body.source.fail(node, f"{node.value!r} is not in the language; use integers (text is for trap() and assert only)")


def name(body: Body, node: ast.Name) -> Any:
    variable = body.variables.get(node.id)
    if variable is not None or node.id in body.program.locals_of(body.source):
        if node.id not in body.assigned or variable is None:
            body.source.fail(node, f"{node.id!r} may have no value here; assign it on every way that leads here")
        held = body.builder.load(variable.slot, typ=body.program.ir_type(variable.kind))
        if isinstance(variable.kind, Reference):
            return View(variable.kind.kind, held)
        return Value(variable.kind, held)
    if node.id in body.namespace:
        return python_object(body, node, body.namespace[node.id], node.id)
    if hasattr(builtins, node.id):
        return Entity(getattr(builtins, node.id))
    body.program.bind(body.namespace)
    if node.id in body.namespace:
        return python_object(body, node, body.namespace[node.id], node.id)
    body.source.fail(node, f"{node.id!r} is not known here; define or import it")


def python_object(body: Body, node: ast.expr, thing: Any, what: str) -> Any:
    """What a Python object of the surrounding modules is to firmware."""
    if isinstance(thing, int):
        return constant(thing)
    if isinstance(thing, float):
        body.source.fail(node, f"{what} is the float {thing!r}, which is not in the language; scale to an integer")
    if isinstance(thing, dict | list | set | str | bytes):
        if isinstance(thing, list) or type(thing) is dict:
            body.source.fail(node, f"{what} is a {type(thing).__name__}, not in the language; use Global[Array[T, n]]")
        body.source.fail(node, f"{what} is a {type(thing).__name__}, not in the language; use integers")
    if isinstance(thing, Struct | ArrayView):
        found = symbol_of(thing)
        if found is None:
            body.source.fail(node, f"{what} is a place in some machine; declare {what}: Global[...]")
        return body.program.global_view(*found)
    return Entity(thing)


def attribute(body: Body, node: ast.Attribute) -> Any:
    owner = expression(body, node.value)
    if isinstance(owner, Entity):
        return member_of_entity(body, node, owner.python)
    if isinstance(owner, Value) and owner.kind is int and node.attr == "value":
        return constant(int(owner.python))
    return load(body, *member_place(body, node, owner))


def member_of_entity(body: Body, node: ast.Attribute, owner: Any) -> Any:
    if isinstance(owner, Register):
        if node.attr not in ("load", "store"):
            body.source.fail(node, f"a register has no {node.attr!r}; write .load() or .store(value)")
        return Method(owner, node.attr)
    try:
        thing = getattr(owner, node.attr)
    except (AttributeError, CompileError):
        kind = "module" if isinstance(owner, ModuleType) else name_of(owner) if isinstance(owner, type) else repr(owner)
        body.source.fail(node, f"{kind} has no {node.attr!r}; look for its name where it is defined")
    return python_object(body, node, thing, node.attr)


def member_place(body: Body, node: ast.Attribute, owner: Any) -> tuple[Any, Any]:
    """Kind and address of `owner.member`."""
    if isinstance(owner, Value) and isinstance(owner.kind, PtrType):
        struct, pointer = owner.kind.target, owner.ir
    elif isinstance(owner, View):
        struct, pointer = owner.kind, owner.pointer
    else:
        struct, pointer = None, None
    if not is_struct(struct):
        body.source.fail(
            node, f"{describe(owner)} has no members; only structs and pointers to them have {node.attr!r}"
        )
    try:
        field = field_of(struct, node.attr)
    except CompileError:
        raise
    except Exception as error:
        body.source.fail(node, str(error))
    return field.kind, body.target.offset(body.builder, pointer, field.offset)


def subscript(body: Body, node: ast.Subscript) -> Any:
    owner = expression(body, node.value)
    if isinstance(owner, Entity):
        return table_entry(body, node, owner.python)
    return load(body, *element_place(body, node, owner))


def table_entry(body: Body, node: ast.Subscript, table: Any) -> Any:
    """An element of a module's tuple, at compile time; or a type such as Ptr[T] written as an argument."""
    if isinstance(table, tuple):
        index = value(body, node.slice)
        if not index.constant or not 0 <= int(index.python) < len(table):
            body.source.fail(node, "a tuple is indexed by a constant within its length; use Global[Array[T, n]]")
        return python_object(body, node, table[int(index.python)], "the tuple's element")
    if isinstance(table, type):
        try:
            written = compile(ast.Expression(node), body.source.file, "eval")
            return Entity(eval(written, body.namespace))
        except Exception as error:
            body.source.fail(node, f"{ast.unparse(node)} is no type: {error}")
    body.source.fail(node, f"{type(table).__name__} is not indexed in firmware; use Global[Array[T, n]]")


def element_place(body: Body, node: ast.Subscript, owner: Any) -> tuple[Any, Any]:
    """Kind and address of `owner[index]`."""
    if isinstance(node.slice, ast.Slice):
        body.source.fail(node, "a slice is not in the language; use copy(target, source, size)")
    if isinstance(owner, View) and isinstance(owner.kind, ArrayType):
        element, pointer, count = owner.kind.element, owner.pointer, owner.kind.count
    elif isinstance(owner, Value) and isinstance(owner.kind, PtrType):
        element, pointer, count = owner.kind.target, owner.ir, None
    else:
        body.source.fail(node, f"{describe(owner)} is not indexed; only arrays and pointers are")
    index = operators.index_of(body, node, value(body, node.slice))
    if isinstance(index, int) and count is not None and not 0 <= index < count:
        body.source.fail(node, f"index {index} is outside {describe(owner)}")
    return element, body.target.index(body.builder, pointer, index, sizeof(element))


def load(body: Body, kind: Any, pointer: Any) -> Any:
    """What lies at `pointer`. u8 and u16 arrive as u32, as in a register."""
    if is_struct(kind) or isinstance(kind, ArrayType):
        return View(kind, pointer)
    if isinstance(kind, PtrType):
        return Value(kind, body.target.load_pointer(body.builder, pointer))
    loaded = body.target.load(body.builder, pointer, kind.bits)
    if kind.bits < 32:
        loaded = body.builder.zext(loaded, body.program.ir_type(kind.wide))
    return Value(kind.wide, loaded)


def store(body: Body, node: ast.AST, kind: Any, pointer: Any, given: Any) -> None:
    if is_struct(kind) or isinstance(kind, ArrayType):
        body.source.fail(node, f"a whole {name_of(kind)} is not assigned; write copy(target, source, sizeof(...))")
    accepted = operators.accept(body, node, kind, given, "a member or element")
    if isinstance(kind, PtrType):
        body.target.store_pointer(body.builder, pointer, accepted)
        return
    if kind.bits < 32:
        raw = given.ir if given.ir is not None else accepted
        accepted = body.builder.trunc(raw, operators.integer_type(kind.bits))
    body.target.store(body.builder, pointer, accepted, kind.bits)


def binary(body: Body, node: ast.BinOp) -> Value:
    left = value(body, node.left)
    right = value(body, node.right)
    return operators.binary(body, node, node.op, left, right)


def unary(body: Body, node: ast.UnaryOp) -> Value:
    if isinstance(node.op, ast.Not):
        return from_condition(body, node)
    return operators.unary(body, node, node.op, value(body, node.operand))


def comparison(body: Body, node: ast.Compare) -> Value:
    if len(node.ops) > 1:
        body.source.fail(node, "chained comparison is not in the language; write `a < b and b < c`")
    left = value(body, node.left)
    return operators.compare(body, node, node.ops[0], left, value(body, node.comparators[0]))


def logical(body: Body, node: ast.BoolOp) -> Value:
    """`a and b` as a value: the operands must be bools, since Python would give back an operand."""
    return from_condition(body, node, strict=True)


def from_condition(body: Body, node: ast.expr, strict: bool = False) -> Value:
    yes, no, end = body.block("yes"), body.block("no"), body.block("end")
    condition(body, node, yes, no, strict)
    for block in (yes, no):
        body.enter(block)
        body.builder.branch(end)
    body.enter(end)
    phi = body.builder.phi(BIT)
    phi.add_incoming(constant(True).ir, yes)
    phi.add_incoming(constant(False).ir, no)
    return Value(bool, phi)


def condition(body: Body, node: ast.expr, yes: Any, no: Any, strict: bool = False) -> None:
    """Branch to `yes` or `no`, evaluating no more of `and` and `or` than needed. Leaves `body` dead.

    `strict`: operands of `and` and `or` must be bool.
    """
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        condition(body, node.operand, no, yes)
        return
    if isinstance(node, ast.BoolOp):
        for operand in node.values[:-1]:
            go_on = body.block("and" if isinstance(node.op, ast.And) else "or")
            ways = (go_on, no) if isinstance(node.op, ast.And) else (yes, go_on)
            condition(body, operand, *ways, strict)
            body.enter(go_on)
        condition(body, node.values[-1], yes, no, strict)
        return
    body.mark(node)
    result = value(body, node)
    if strict and result.kind is not bool:
        body.source.fail(node, f"{describe(result)} in `and`/`or` whose value is used; write x != 0")
    if result.constant:
        body.jump(yes if result.python else no)
        return
    body.builder.cbranch(operators.truth(body, node, result), yes, no)
    body.dead = True


def choice(body: Body, node: ast.IfExp) -> Value:
    yes, no, end = body.block("then"), body.block("else"), body.block("chosen")
    condition(body, node.test, yes, no)
    ways = []
    for block, part in ((yes, node.body), (no, node.orelse)):
        body.enter(block)
        ways.append((value(body, part), body.builder.block))
    kinds = {way.kind for way, _ in ways} - {int}
    if len(kinds) != 1:
        body.source.fail(node, f"{describe(ways[0][0])} or {describe(ways[1][0])}: give both one type, as in u32(1)")
    kind = kinds.pop()
    if any(way.kind is int for way, _ in ways):
        body.source.fail(node, f"one branch is a literal without a type; write {name_of(kind)}(...) in both")
    for _, block in ways:
        body.builder.position_at_end(block)
        body.builder.branch(end)
    body.enter(end)
    phi = body.builder.phi(body.program.ir_type(kind))
    for way, block in ways:
        phi.add_incoming(way.ir, block)
    return Value(kind, phi)


def call_expression(body: Body, node: ast.Call) -> Any:
    return call(body, node, expression)


HANDLERS: dict[type[ast.AST], Callable[[Body, Any], Any]] = {
    ast.Constant: literal,
    ast.Name: name,
    ast.Attribute: attribute,
    ast.Subscript: subscript,
    ast.BinOp: binary,
    ast.UnaryOp: unary,
    ast.Compare: comparison,
    ast.BoolOp: logical,
    ast.IfExp: choice,
    ast.Call: call_expression,
}
