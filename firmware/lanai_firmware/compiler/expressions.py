"""Expressions: syntax in, a value of the typed tree out, or a `View` or `Entity`. Evaluation order
is Python's."""

import ast
import builtins
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..lang.machine import Register
from ..lang.types import ArrayType, PtrType, field_of, is_struct, name_of, sizeof
from ..lang.views import ArrayView, Struct, symbol_of
from ..lang.views import bind_globals as bind
from . import operators, refusals, statement_tree, tree
from .calls import call
from .scope import Scope
from .source import CompileError
from .tree import Value, constant
from .values import Entity, Method, Reference, Result, View, describe


def expression(scope: Scope, node: ast.expr) -> Result:
    """The value of any expression."""
    handler = HANDLERS.get(type(node))
    if handler is None:
        what, instead = refusals.EXPRESSIONS.get(
            type(node), (type(node).__name__, "integers, pointers, structs and arrays")
        )
        scope.fail(node, f"{what} not in the language; use {instead}")
    found: Result = handler(scope, node)
    return found


def value(scope: Scope, node: ast.expr) -> Value:
    """An expression that must be a value: no struct, type or module."""
    result = expression(scope, node)
    if not isinstance(result, Value) or result.kind is None:
        scope.fail(node, f"{describe(result)} is not a value here; use one of its members, or address_of(x)")
    return result


def literal(scope: Scope, node: ast.Constant) -> Value:
    if isinstance(node.value, int):
        return constant(node.value)
    if isinstance(node.value, float):
        scope.fail(node, f"the float {node.value!r} is not in the language; scale to an integer")
    if node.value is None:
        scope.fail(node, "None is not in the language; write null(T) for a pointer")
    scope.fail(node, f"{node.value!r} is not in the language; use integers (text is for trap() and assert only)")


def name(scope: Scope, node: ast.Name) -> Any:
    kind = scope.variables.get(node.id)
    if kind is not None or node.id in scope.stored:
        if node.id not in scope.assigned or kind is None:
            scope.fail(node, f"{node.id!r} may have no value here; assign it on every way that leads here")
        held = tree.Variable(kind, node.id)
        return View(kind.kind, held) if isinstance(kind, Reference) else held
    if node.id in scope.namespace:
        return python_object(scope, node, scope.unit.constant(node.id, scope.namespace[node.id]), node.id)
    if hasattr(builtins, node.id):
        return Entity(getattr(builtins, node.id))
    bind(scope.namespace)
    if node.id in scope.namespace:
        return python_object(scope, node, scope.namespace[node.id], node.id)
    scope.fail(node, f"{node.id!r} is not known here; define or import it")


def python_object(scope: Scope, node: ast.expr, thing: Any, what: str) -> Any:
    """Return what a Python object of the surrounding modules is to firmware."""
    if isinstance(thing, int):
        return constant(thing)
    if isinstance(thing, float):
        scope.fail(node, f"{what} is the float {thing!r}, which is not in the language; scale to an integer")
    if isinstance(thing, dict | list | set | str | bytes):
        if isinstance(thing, list) or type(thing) is dict:
            scope.fail(node, f"{what} is a {type(thing).__name__}, not in the language; use Global[Array[T, n]]")
        scope.fail(node, f"{what} is a {type(thing).__name__}, not in the language; use integers")
    if isinstance(thing, Struct | ArrayView):
        found = symbol_of(thing)
        if found is None:
            scope.fail(node, f"{what} is a place in some machine; declare {what}: Global[...]")
        symbol, kind = found
        scope.unit.use_global(symbol, kind)
        return View(kind, tree.Global(None, symbol))
    return Entity(thing)


def attribute(scope: Scope, node: ast.Attribute) -> Any:
    owner = expression(scope, node.value)
    if isinstance(owner, Entity):
        return member_of_entity(scope, node, owner.python)
    if isinstance(owner, Value) and owner.kind is int and node.attr == "value":
        return constant(int(owner.python))
    return load(*member_place(scope, node, owner))


def member_of_entity(scope: Scope, node: ast.Attribute, owner: Any) -> Any:
    if isinstance(owner, Register):
        if node.attr not in ("load", "store"):
            scope.fail(node, f"a register has no {node.attr!r}; write .load() or .store(value)")
        return Method(owner, node.attr)
    try:
        thing = getattr(owner, node.attr)
    except (AttributeError, CompileError):
        kind = "module" if isinstance(owner, ModuleType) else name_of(owner) if isinstance(owner, type) else repr(owner)
        scope.fail(node, f"{kind} has no {node.attr!r}; look for its name where it is defined")
    return python_object(scope, node, thing, node.attr)


def member_place(scope: Scope, node: ast.Attribute, owner: Any) -> tuple[Any, Value]:
    """Kind and address of `owner.member`."""
    pointer: Value
    if isinstance(owner, Value) and isinstance(owner.kind, PtrType):
        struct, pointer = owner.kind.target, owner
    elif isinstance(owner, View):
        struct, pointer = owner.kind, owner.pointer
    else:
        struct = None
    if not is_struct(struct):
        scope.fail(node, f"{describe(owner)} has no members; only structs and pointers to them have {node.attr!r}")
    try:
        field = field_of(struct, node.attr)
    except CompileError:
        raise
    except Exception as error:
        scope.fail(node, str(error))
    return field.kind, tree.Offset(None, pointer, field.offset)


def subscript(scope: Scope, node: ast.Subscript) -> Any:
    owner = expression(scope, node.value)
    if isinstance(owner, Entity):
        return table_entry(scope, node, owner.python)
    return load(*element_place(scope, node, owner))


def table_entry(scope: Scope, node: ast.Subscript, table: Any) -> Any:
    """An element of a module's tuple, at compile time; or a type such as Ptr[T] written as an
    argument."""
    if isinstance(table, tuple):
        index = value(scope, node.slice)
        if not index.constant or not 0 <= int(index.python) < len(table):
            scope.fail(node, "a tuple is indexed by a constant within its length; use Global[Array[T, n]]")
        return python_object(scope, node, table[int(index.python)], "the tuple's element")
    if isinstance(table, type):
        try:
            written = compile(ast.Expression(node), scope.source.file, "eval")
            return Entity(eval(written, scope.namespace))
        except Exception as error:
            scope.fail(node, f"{ast.unparse(node)} is not a type: {error}")
    scope.fail(node, f"{type(table).__name__} is not indexed in firmware; use Global[Array[T, n]]")


def element_place(scope: Scope, node: ast.Subscript, owner: Any) -> tuple[Any, Value]:
    """Kind and address of `owner[index]`."""
    if isinstance(node.slice, ast.Slice):
        scope.fail(node, "a slice is not in the language; use copy(target, source, size)")
    if isinstance(owner, View) and isinstance(owner.kind, ArrayType):
        element, pointer, count = owner.kind.element, owner.pointer, owner.kind.count
    elif isinstance(owner, Value) and isinstance(owner.kind, PtrType):
        element, pointer, count = owner.kind.target, owner, None
    else:
        scope.fail(node, f"{describe(owner)} is not indexed; only arrays and pointers are")
    index = operators.index_of(scope, node, value(scope, node.slice))
    if isinstance(index, int) and count is not None and not 0 <= index < count:
        scope.fail(node, f"index {index} is outside {describe(owner)}")
    return element, tree.Index(None, pointer, index, sizeof(element))


def load(kind: Any, address: Value) -> Value | View:
    """Return the value at `address`. u8 and u16 arrive as u32, as in a register."""
    if is_struct(kind) or isinstance(kind, ArrayType):
        return View(kind, address)
    return tree.Load(kind if isinstance(kind, PtrType) else kind.wide, address, kind)


def store(scope: Scope, node: ast.AST, kind: Any, address: Value, given: Any) -> statement_tree.Store:
    if is_struct(kind) or isinstance(kind, ArrayType):
        scope.fail(node, f"a whole {name_of(kind)} is not assigned; write copy(target, source, sizeof(...))")
    accepted = operators.accept(scope, node, kind, given, "a member or element")
    narrow = not isinstance(kind, PtrType) and kind.bits < 32
    return statement_tree.Store(scope.line(node), kind, address, given if narrow else accepted)


def binary(scope: Scope, node: ast.BinOp) -> Value:
    left = value(scope, node.left)
    right = value(scope, node.right)
    return operators.binary(scope, node, node.op, left, right)


def unary(scope: Scope, node: ast.UnaryOp) -> Value:
    if isinstance(node.op, ast.Not):
        return from_condition(scope, node)
    return operators.unary(scope, node, node.op, value(scope, node.operand))


def comparison(scope: Scope, node: ast.Compare) -> Value:
    if len(node.ops) > 1:
        scope.fail(node, "chained comparison is not in the language; write `a < b and b < c`")
    left = value(scope, node.left)
    return operators.compare(scope, node, node.ops[0], left, value(scope, node.comparators[0]))


def logical(scope: Scope, node: ast.BoolOp) -> Value:
    """`a and b` as a value: the operands must be bools, since Python would give back an operand."""
    return from_condition(scope, node, strict=True)


def from_condition(scope: Scope, node: ast.expr, strict: bool = False) -> Value:
    return tree.Logical(bool, condition(scope, node, strict))


def condition(scope: Scope, node: ast.expr, strict: bool = False) -> tree.Test:
    """Return an expression as a decision. `strict`: operands of `and` and `or` must be bool."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return tree.Not(condition(scope, node.operand))
    if isinstance(node, ast.BoolOp):
        tests = [condition(scope, operand, strict) for operand in node.values]
        return tree.Several(tests, isinstance(node.op, ast.And))
    result = value(scope, node)
    if strict and result.kind is not bool:
        scope.fail(node, f"{describe(result)} in `and`/`or` whose value is used; write x != 0")
    tested = result if result.constant else operators.truth(scope, node, result)
    return tree.Leaf(tested, scope.line(node))


def choice(scope: Scope, node: ast.IfExp) -> Value:
    test = condition(scope, node.test)
    yes, no = value(scope, node.body), value(scope, node.orelse)
    kinds = {yes.kind, no.kind} - {int}
    if len(kinds) != 1:
        scope.fail(node, f"{describe(yes)} or {describe(no)}: give both one type, as in u32(1)")
    kind = kinds.pop()
    if int in (yes.kind, no.kind):
        scope.fail(node, f"one branch is a literal without a type; write {name_of(kind)}(...) in both")
    return tree.Choice(kind, test, yes, no)


HANDLERS: dict[type[ast.AST], Callable[[Scope, Any], Any]] = {
    ast.Constant: literal,
    ast.Name: name,
    ast.Attribute: attribute,
    ast.Subscript: subscript,
    ast.BinOp: binary,
    ast.UnaryOp: unary,
    ast.Compare: comparison,
    ast.BoolOp: logical,
    ast.IfExp: choice,
    ast.Call: call,
}
