"""Statements. Control flow is structured, so assignment-before-use is decided on the way."""

import ast
from collections.abc import Callable, Sequence
from typing import Any

from ..lang import rules
from ..lang.functions import typed_range, value_kind
from ..lang.integers import i32, u32
from ..lang.types import is_integer, name_of
from . import operators, refusals, statement_tree
from .expressions import condition, element_place, expression, load, member_place, store, value
from .scope import Loop, Scope, Unit
from .source import Source
from .tree import Value, constant
from .values import Entity, Reference, View, describe


def check_function(unit: Unit, source: Source) -> statement_tree.Body:
    """The typed tree of a function. Raises `CompileError` at the first thing that is not
    allowed."""
    scope = Scope(unit, source, expression)
    kinds, result = source.function.signature
    for parameter, kind in kinds.items():
        scope.declare(source.tree, parameter, kind.wide if is_integer(kind) else kind)
    found = statements(scope, source.tree.body)
    if result is not None and not scope.dead:
        scope.fail(source.tree, f"{source.tree.name} may end without a value; add a return")
    return statement_tree.Body(found, scope.has_local)


def statements(scope: Scope, nodes: Sequence[ast.stmt]) -> list[statement_tree.Statement]:
    found: list[statement_tree.Statement] = []
    for node in nodes:
        if scope.dead:
            break  # never reached; Python does not look at it either
        handler = HANDLERS.get(type(node))
        if handler is None:
            what, instead = refusals.STATEMENTS.get(
                type(node), (type(node).__name__, "assignments, if, while, for, return")
            )
            scope.fail(node, f"{what} not in the language; use {instead}")
        made = handler(scope, node)
        if made is not None:
            found.append(made)
    return found


def assign_name(scope: Scope, node: ast.AST, name: str, given: Any) -> statement_tree.Assign:
    if isinstance(given, View):
        kind: Any = Reference(given.kind)
        held: Value = given.pointer
    elif isinstance(given, Value) and given.kind is not None:
        if given.kind is int:
            hint = name_of(scope.variables[name]) if name in scope.variables else "u32"
            scope.fail(
                node, f"{name!r} is given {describe(given)}, which would not wrap; write {hint}({given.python!r})"
            )
        kind, held = given.kind, given
    else:
        scope.fail(node, f"{name!r} is given {describe(given)}; variables hold integers, bools and pointers")
    scope.declare(node, name, kind)
    return statement_tree.Assign(scope.line(node), name, kind, held)


def place_of(scope: Scope, node: ast.expr) -> tuple[Any, Value]:
    """Kind and address of a member or element that is assigned to."""
    if isinstance(node, ast.Attribute):
        owner = expression(scope, node.value)
        if isinstance(owner, Entity):
            scope.fail(node, f"{ast.unparse(node)} is not in SRAM; assign to members of Globals and pointers")
        return member_place(scope, node, owner)
    if isinstance(node, ast.Subscript):
        owner = expression(scope, node.value)
        if isinstance(owner, Entity):
            scope.fail(node, f"{ast.unparse(node.value)} is not in SRAM; declare it Global[Array[T, n]]")
        return element_place(scope, node, owner)
    scope.fail(node, f"`{ast.unparse(node)}` is not assigned to; assign to a name, a member or an element")


def assign(scope: Scope, node: ast.Assign) -> statement_tree.Statement:
    if len(node.targets) > 1:
        scope.fail(node, "several targets of one `=` are not in the language; write one statement for each")
    target = node.targets[0]
    if isinstance(target, ast.Tuple | ast.List):
        scope.fail(node, "unpacking is not in the language; write one statement for each name")
    given = expression(scope, node.value)
    if isinstance(target, ast.Name):
        return assign_name(scope, node, target.id, given)
    return store(scope, node, *place_of(scope, target), given)


def annotated(scope: Scope, node: ast.AnnAssign) -> statement_tree.Statement:
    if node.value is None or not isinstance(node.target, ast.Name):
        scope.fail(node, f"a type without a value; write {ast.unparse(node.target)} = u32(0)")
    kind = value_kind(eval_annotation(scope, node), scope.namespace, node.target.id)
    given = expression(scope, node.value)
    if isinstance(given, Value) and given.kind is int:
        scope.fail(node, f"{node.target.id!r} is given {describe(given)}; write {name_of(kind)}({given.python!r})")
    if not isinstance(given, Value) or given.kind != (kind.wide if is_integer(kind) else kind):
        scope.fail(node, f"{node.target.id!r} is declared {name_of(kind)} and given {describe(given)}; convert it")
    return assign_name(scope, node, node.target.id, given)


def eval_annotation(scope: Scope, node: ast.AnnAssign) -> Any:
    try:
        return eval(ast.unparse(node.annotation), scope.namespace)
    except Exception as error:
        scope.fail(node, f"{ast.unparse(node.annotation)} is not a type: {error}")


def augmented(scope: Scope, node: ast.AugAssign) -> statement_tree.Statement:
    if isinstance(node.target, ast.Name):
        reading = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        old = expression(scope, reading)
        given = operators.binary(scope, node, node.op, old, value(scope, node.value))
        return assign_name(scope, node, node.target.id, given)
    kind, address = place_of(scope, node.target)
    before = load(kind, address)
    given = operators.binary(scope, node, node.op, before, value(scope, node.value))
    return store(scope, node, kind, address, given)


def alternative(scope: Scope, node: ast.If) -> statement_tree.If:
    test = condition(scope, node.test)
    before = set(scope.assigned)
    falling: list[set[str]] = []
    parts = []
    for part in (node.body, node.orelse):
        scope.dead = False
        scope.assigned = set(before)
        parts.append(statements(scope, part))
        if not scope.dead:
            falling.append(scope.assigned)
    scope.dead = not falling
    if falling:
        scope.assigned = set.intersection(*falling)
    return statement_tree.If(scope.line(node), test, *parts)


def while_loop(scope: Scope, node: ast.While) -> statement_tree.While:
    if node.orelse:
        scope.fail(node, "`else` of a loop is not in the language; use a bool variable")
    test = condition(scope, node.test)
    endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
    loop = Loop()
    before = set(scope.assigned)
    body = run_loop(scope, loop, node.body)
    ends = loop.leaving if endless else [before, *loop.leaving]
    if ends:
        scope.assigned = set.intersection(*ends)
    scope.dead = not ends
    return statement_tree.While(scope.line(node), test, body, bool(ends))


def run_loop(scope: Scope, loop: Loop, nodes: Sequence[ast.stmt]) -> list[statement_tree.Statement]:
    scope.loops.append(loop)
    scope.dead = False
    found = statements(scope, nodes)
    scope.loops.pop()
    return found


def for_loop(scope: Scope, node: ast.For) -> statement_tree.For:
    """`for i in range(...)`: the count is fixed at the start, and i may be changed without effect
    on it, as in Python."""
    if node.orelse:
        scope.fail(node, "`else` of a loop is not in the language; use a bool variable")
    if not isinstance(node.target, ast.Name):
        scope.fail(node, "a for loop has one variable; write for i in range(...)")
    start, stop, step, kind = range_bounds(scope, node)
    before = set(scope.assigned)
    scope.declare(node, node.target.id, kind)
    body = run_loop(scope, Loop(), node.body)
    scope.assigned = before
    scope.dead = False
    return statement_tree.For(scope.line(node), node.target.id, kind, start, stop, step, body)


def range_bounds(scope: Scope, node: ast.For) -> tuple[Value, Value, int, Any]:
    call = node.iter
    callee = expression(scope, call.func) if isinstance(call, ast.Call) else None
    if not isinstance(call, ast.Call) or not isinstance(callee, Entity) or callee.python not in (range, typed_range):
        scope.fail(node, "a for loop runs over range() only; write for i in range(len(a))")
    if call.keywords or not 1 <= len(call.args) <= 3:
        scope.fail(call, "range takes a stop, or a start and a stop, or both and a constant step")
    bounds = [value(scope, argument) for argument in call.args]
    if len(bounds) == 1:
        bounds.insert(0, constant(0))
    step = bounds[2] if len(bounds) == 3 else constant(1)
    if not step.constant or step.kind is bool:
        scope.fail(call, "the step of range must be a constant")
    given = [operators.operand(scope, call, bound, "range") for bound in bounds[:2]]
    kind = operators.ruled(scope, call, rules.range_kind, *given, int(step.python), u32, i32)
    return bounds[0], bounds[1], int(step.python), kind


def leave_loop(scope: Scope, node: ast.Break) -> statement_tree.Break:
    scope.loops[-1].leaving.append(set(scope.assigned))
    scope.dead = True
    return statement_tree.Break(scope.line(node))


def next_turn(scope: Scope, node: ast.Continue) -> statement_tree.Continue:
    scope.dead = True
    return statement_tree.Continue(scope.line(node))


def give_back(scope: Scope, node: ast.Return) -> statement_tree.Statement:
    _, result = scope.source.function.signature
    name = scope.source.tree.name
    returned: Value | None = None
    if result is None:
        if node.value is not None:
            scope.fail(node, f"{name} is declared `-> None` and returns a value; declare its type")
    else:
        if node.value is None:
            scope.fail(node, f"{name} returns nothing where {name_of(result)} was declared")
        returned = operators.accept(scope, node, result, expression(scope, node.value), f"the result of {name}")
    scope.dead = True
    return statement_tree.Return(scope.line(node), returned)


def evaluate(scope: Scope, node: ast.Expr) -> statement_tree.Evaluate | None:
    if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return None  # a docstring
    result = expression(scope, node.value)
    if not isinstance(result, Value):
        scope.fail(node, f"{describe(result)} does nothing here; call it, or remove the line")
    return statement_tree.Evaluate(scope.line(node), result)


def check(scope: Scope, node: ast.Assert) -> statement_tree.Check:
    message = node.msg
    if message is not None and not (isinstance(message, ast.Constant) and isinstance(message.value, str)):
        scope.fail(node, "the message of assert is a literal text")
    reason = message.value if isinstance(message, ast.Constant) else f"assert {ast.unparse(node.test)}"
    test = condition(scope, node.test)
    scope.dead = False
    return statement_tree.Check(scope.line(node), test, str(reason))


def nothing(scope: Scope, node: ast.Pass) -> None:
    pass


HANDLERS: dict[type[ast.AST], Callable[[Scope, Any], statement_tree.Statement | None]] = {
    ast.Assign: assign,
    ast.AnnAssign: annotated,
    ast.AugAssign: augmented,
    ast.If: alternative,
    ast.While: while_loop,
    ast.For: for_loop,
    ast.Break: leave_loop,
    ast.Continue: next_turn,
    ast.Return: give_back,
    ast.Expr: evaluate,
    ast.Assert: check,
    ast.Pass: nothing,
}
