"""Statements. Control flow is structured, so assignment-before-use is decided on the way."""

import ast
from collections.abc import Callable, Sequence
from typing import Any

from ..lang import rules
from ..lang.functions import typed_range, value_kind
from ..lang.integers import i32, u32
from ..lang.types import is_integer, name_of
from . import operators, refusals
from .body import Body, Loop
from .expressions import condition, element_place, expression, load, member_place, store, value
from .values import Entity, Reference, Value, View, constant, describe, word_constant


def statements(body: Body, nodes: Sequence[ast.stmt]) -> None:
    for node in nodes:
        if body.dead:
            return  # never reached; Python does not look at it either
        body.mark(node)
        handler = HANDLERS.get(type(node))
        if handler is None:
            what, instead = refusals.STATEMENTS.get(
                type(node), (type(node).__name__, "assignments, if, while, for, return")
            )
            body.source.fail(node, f"{what} not in the language; use {instead}")
        handler(body, node)


def assign_name(body: Body, node: ast.AST, name: str, given: Any) -> None:
    if isinstance(given, View):
        kind: Any = Reference(given.kind)
        held = given.pointer
    elif isinstance(given, Value) and given.kind is not None:
        if given.kind is int:
            hint = name_of(body.variables[name].kind) if name in body.variables else "u32"
            body.source.fail(
                node, f"{name!r} is given {describe(given)}, which would not wrap; write {hint}({given.python!r})"
            )
        kind, held = given.kind, given.ir
    else:
        body.source.fail(node, f"{name!r} is given {describe(given)}; variables hold integers, bools and pointers")
    variable = body.declare(node, name, kind)
    body.builder.store(held, variable.slot)
    body.assigned.add(name)


def place_of(body: Body, node: ast.expr) -> tuple[Any, Any]:
    """Kind and address of a member or element that is assigned to."""
    if isinstance(node, ast.Attribute):
        owner = expression(body, node.value)
        if isinstance(owner, Entity):
            body.source.fail(node, f"{ast.unparse(node)} is not in SRAM; assign to members of Globals and pointers")
        return member_place(body, node, owner)
    if isinstance(node, ast.Subscript):
        owner = expression(body, node.value)
        if isinstance(owner, Entity):
            body.source.fail(node, f"{ast.unparse(node.value)} is not in SRAM; declare it Global[Array[T, n]]")
        return element_place(body, node, owner)
    body.source.fail(node, f"`{ast.unparse(node)}` is not assigned to; assign to a name, a member or an element")


def assign(body: Body, node: ast.Assign) -> None:
    if len(node.targets) > 1:
        body.source.fail(node, "several targets of one `=` are not in the language; write one statement for each")
    target = node.targets[0]
    if isinstance(target, ast.Tuple | ast.List):
        body.source.fail(node, "unpacking is not in the language; write one statement for each name")
    given = expression(body, node.value)
    if isinstance(target, ast.Name):
        assign_name(body, node, target.id, given)
    else:
        store(body, node, *place_of(body, target), given)


def annotated(body: Body, node: ast.AnnAssign) -> None:
    if node.value is None or not isinstance(node.target, ast.Name):
        body.source.fail(node, f"a type without a value; write {ast.unparse(node.target)} = u32(0)")
    kind = value_kind(eval_annotation(body, node), body.namespace, node.target.id)
    given = expression(body, node.value)
    if isinstance(given, Value) and given.kind is int:
        body.source.fail(
            node, f"{node.target.id!r} is given {describe(given)}; write {name_of(kind)}({given.python!r})"
        )
    if not isinstance(given, Value) or given.kind != (kind.wide if is_integer(kind) else kind):
        body.source.fail(
            node, f"{node.target.id!r} is declared {name_of(kind)} and given {describe(given)}; convert it"
        )
    assign_name(body, node, node.target.id, given)


def eval_annotation(body: Body, node: ast.AnnAssign) -> Any:
    try:
        return eval(ast.unparse(node.annotation), body.namespace)
    except Exception as error:
        body.source.fail(node, f"{ast.unparse(node.annotation)} is no type: {error}")


def augmented(body: Body, node: ast.AugAssign) -> None:
    if isinstance(node.target, ast.Name):
        reading = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        old = expression(body, reading)
        given = operators.binary(body, node, node.op, old, value(body, node.value))
        assign_name(body, node, node.target.id, given)
        return
    kind, pointer = place_of(body, node.target)
    old = load(body, kind, pointer)
    store(body, node, kind, pointer, operators.binary(body, node, node.op, old, value(body, node.value)))


def alternative(body: Body, node: ast.If) -> None:
    yes, no = body.block("then"), body.block("else")
    end = None
    condition(body, node.test, yes, no)
    before = set(body.assigned)
    falling: list[set[str]] = []
    for block, part in ((yes, node.body), (no, node.orelse)):
        body.enter(block)
        body.assigned = set(before)
        statements(body, part)
        if not body.dead:
            falling.append(body.assigned)
            end = end or body.block("after_if")
            body.jump(end)
    if end is None:
        body.dead = True
        return
    body.enter(end)
    body.assigned = set.intersection(*falling)


def while_loop(body: Body, node: ast.While) -> None:
    if node.orelse:
        body.source.fail(node, "`else` of a loop is not in the language; use a bool variable")
    head, inner, after = body.block("while"), body.block("do"), body.block("after_while")
    body.jump(head)
    body.enter(head)
    condition(body, node.test, inner, after)
    endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
    loop = Loop(after, head)
    before = set(body.assigned)
    run_loop(body, loop, inner, node.body)
    body.jump(head)
    ends = loop.leaving if endless else [before, *loop.leaving]
    body.enter(after)
    if ends:
        body.assigned = set.intersection(*ends)
    body.dead = not ends


def run_loop(body: Body, loop: Loop, inner: Any, nodes: Sequence[ast.stmt]) -> None:
    body.loops.append(loop)
    body.enter(inner)
    statements(body, nodes)
    body.loops.pop()


def for_loop(body: Body, node: ast.For) -> None:
    """`for i in range(...)`: the count is fixed at the start, and i may be changed without effect on it, as in Python.

    Rotated by hand: one compare and branch a turn, and no step past the end that could wrap.
    """
    if node.orelse:
        body.source.fail(node, "`else` of a loop is not in the language; use a bool variable")
    if not isinstance(node.target, ast.Name):
        body.source.fail(node, "a for loop has one variable; write for i in range(...)")
    start, stop, step, kind = range_bounds(body, node)
    b = body.builder
    compare: Any = b.icmp_signed if kind is i32 else b.icmp_unsigned
    counter = body.entry.alloca(operators.integer_type(32))
    turn, again, after = body.block("turn"), body.block("again"), body.block("after_for")
    b.store(start, counter)
    b.cbranch(compare("<" if step > 0 else ">", start, stop), turn, after)
    before = set(body.assigned)
    loop = Loop(after, again)
    body.enter(turn)
    assign_name(body, node, node.target.id, Value(kind, b.load(counter, typ=operators.integer_type(32))))
    run_loop(body, loop, turn, node.body)
    body.jump(again)
    body.enter(again)
    body.mark(node)
    now = b.load(counter, typ=operators.integer_type(32))
    following = b.add(now, word_constant(step))
    b.store(following, counter)
    if abs(step) == 1:
        more = b.icmp_unsigned("!=", following, stop)
    else:
        left = b.sub(stop, now) if step > 0 else b.sub(now, stop)
        more = b.icmp_unsigned(">", left, word_constant(abs(step)))
    b.cbranch(more, turn, after)
    body.assigned = before
    body.enter(after)


def range_bounds(body: Body, node: ast.For) -> tuple[Any, Any, int, Any]:
    call = node.iter
    callee = expression(body, call.func) if isinstance(call, ast.Call) else None
    if not isinstance(call, ast.Call) or not isinstance(callee, Entity) or callee.python not in (range, typed_range):
        body.source.fail(node, "a for loop runs over range() only; write for i in range(len(a))")
    if call.keywords or not 1 <= len(call.args) <= 3:
        body.source.fail(call, "range takes a stop, or a start and a stop, or both and a constant step")
    bounds = [value(body, argument) for argument in call.args]
    if len(bounds) == 1:
        bounds.insert(0, constant(0))
    step = bounds[2] if len(bounds) == 3 else constant(1)
    if not step.constant or step.kind is bool:
        body.source.fail(call, "the step of range must be a constant")
    given = [operators.operand(body, call, bound, "range") for bound in bounds[:2]]
    kind = operators.ruled(body, call, rules.range_kind, *given, int(step.python), u32, i32)
    return operators.word(bounds[0]), operators.word(bounds[1]), int(step.python), kind


def leave_loop(body: Body, node: ast.Break) -> None:
    body.loops[-1].leaving.append(set(body.assigned))
    body.jump(body.loops[-1].after)


def next_turn(body: Body, node: ast.Continue) -> None:
    body.jump(body.loops[-1].again)


def give_back(body: Body, node: ast.Return) -> None:
    _, result = body.source.function.signature
    name = body.source.tree.name
    if result is None:
        if node.value is not None:
            body.source.fail(node, f"{name} is declared `-> None` and returns a value; declare its type")
        returned = None
    else:
        if node.value is None:
            body.source.fail(node, f"{name} returns nothing where {name_of(result)} was declared")
        returned = operators.accept(body, node, result, expression(body, node.value), f"the result of {name}")
    if body.dead:
        return
    body.leave()
    if returned is None:
        body.builder.ret_void()
    else:
        body.builder.ret(returned)
    body.dead = True


def evaluate(body: Body, node: ast.Expr) -> None:
    if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return  # a docstring
    result = expression(body, node.value)
    if not isinstance(result, Value):
        body.source.fail(node, f"{describe(result)} does nothing here; call it, or remove the line")


def check(body: Body, node: ast.Assert) -> None:
    message = node.msg
    if message is not None and not (isinstance(message, ast.Constant) and isinstance(message.value, str)):
        body.source.fail(node, "the message of assert is a literal text")
    reason = message.value if isinstance(message, ast.Constant) else f"assert {ast.unparse(node.test)}"
    good, bad = body.block("holds"), body.block("fails")
    condition(body, node.test, good, bad)
    body.enter(bad)
    body.trap(node, str(reason))
    body.enter(good)


def nothing(body: Body, node: ast.Pass) -> None:
    pass


HANDLERS: dict[type[ast.AST], Callable[[Body, Any], None]] = {
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
