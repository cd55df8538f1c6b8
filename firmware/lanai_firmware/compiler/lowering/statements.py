"""Statements of the typed tree as IR. Control flow is structured."""

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from ...lang.integers import i32
from ...lang.types import PtrType
from .. import statement_tree
from .emitter import Emitter, Loop
from .expressions import branch, evaluate
from .words import WORD, word_constant


def statements(emitter: Emitter, nodes: Sequence[statement_tree.Statement]) -> None:
    for node in nodes:
        emitter.mark(node.line)
        HANDLERS[type(node)](emitter, node)


def assign(emitter: Emitter, node: statement_tree.Assign) -> None:
    given = evaluate(emitter, node.value)
    emitter.builder.store(given, emitter.slot(node.name, node.kind))


def store(emitter: Emitter, node: statement_tree.Store) -> None:
    """The value is evaluated before the address, but for `+=`, whose value refers to what lies
    there.
    """
    given = evaluate(emitter, node.value)
    address = evaluate(emitter, node.address)
    if isinstance(node.kind, PtrType):
        emitter.target.store_pointer(emitter.builder, address, given)
        return
    if node.kind.bits < 32:
        given = emitter.builder.trunc(given, ir.IntType(node.kind.bits))
    emitter.target.store(emitter.builder, address, given, node.kind.bits)


def evaluated(emitter: Emitter, node: statement_tree.Evaluate) -> None:
    evaluate(emitter, node.value)


def alternative(emitter: Emitter, node: statement_tree.If) -> None:
    yes, no = emitter.block("then"), emitter.block("else")
    end = None
    branch(emitter, node.test, yes, no)
    for block, part in ((yes, node.then), (no, node.otherwise)):
        emitter.enter(block)
        statements(emitter, part)
        if not emitter.dead:
            end = end or emitter.block("after_if")
            emitter.jump(end)
    if end is None:
        emitter.dead = True
        return
    emitter.enter(end)


def while_loop(emitter: Emitter, node: statement_tree.While) -> None:
    head, inner, after = emitter.block("while"), emitter.block("do"), emitter.block("after_while")
    emitter.jump(head)
    emitter.enter(head)
    branch(emitter, node.test, inner, after)
    run_loop(emitter, Loop(after, head), inner, node.body)
    emitter.jump(head)
    emitter.enter(after)
    emitter.dead = not node.ends


def run_loop(emitter: Emitter, loop: Loop, inner: Any, nodes: Sequence[statement_tree.Statement]) -> None:
    emitter.loops.append(loop)
    emitter.enter(inner)
    statements(emitter, nodes)
    emitter.loops.pop()


def for_loop(emitter: Emitter, node: statement_tree.For) -> None:
    """Rotated by hand: one compare and branch a turn, and no step past the end that could wrap."""
    start, stop = evaluate(emitter, node.start), evaluate(emitter, node.stop)
    b, step = emitter.builder, node.step
    compare: Any = b.icmp_signed if node.kind is i32 else b.icmp_unsigned
    counter = emitter.entry.alloca(WORD)
    turn, again, after = emitter.block("turn"), emitter.block("again"), emitter.block("after_for")
    b.store(start, counter)
    b.cbranch(compare("<" if step > 0 else ">", start, stop), turn, after)
    emitter.enter(turn)
    now = b.load(counter, typ=WORD)
    b.store(now, emitter.slot(node.name, node.kind))
    run_loop(emitter, Loop(after, again), turn, node.body)
    emitter.jump(again)
    emitter.enter(again)
    emitter.mark(node.line)
    now = b.load(counter, typ=WORD)
    following = b.add(now, word_constant(step))
    b.store(following, counter)
    if abs(step) == 1:
        more = b.icmp_unsigned("!=", following, stop)
    else:
        left = b.sub(stop, now) if step > 0 else b.sub(now, stop)
        more = b.icmp_unsigned(">", left, word_constant(abs(step)))
    b.cbranch(more, turn, after)
    emitter.enter(after)


def leave_loop(emitter: Emitter, node: statement_tree.Break) -> None:
    emitter.jump(emitter.loops[-1].after)


def next_turn(emitter: Emitter, node: statement_tree.Continue) -> None:
    emitter.jump(emitter.loops[-1].again)


def give_back(emitter: Emitter, node: statement_tree.Return) -> None:
    returned = None if node.value is None else evaluate(emitter, node.value)
    emitter.leave()
    if returned is None:
        emitter.builder.ret_void()
    else:
        emitter.builder.ret(returned)
    emitter.dead = True


def check(emitter: Emitter, node: statement_tree.Check) -> None:
    good, bad = emitter.block("holds"), emitter.block("fails")
    branch(emitter, node.test, good, bad)
    emitter.enter(bad)
    emitter.trap(node.line, node.reason)
    emitter.enter(good)


HANDLERS: dict[type[Any], Callable[[Emitter, Any], None]] = {
    statement_tree.Assign: assign,
    statement_tree.Store: store,
    statement_tree.Evaluate: evaluated,
    statement_tree.If: alternative,
    statement_tree.While: while_loop,
    statement_tree.For: for_loop,
    statement_tree.Break: leave_loop,
    statement_tree.Continue: next_turn,
    statement_tree.Return: give_back,
    statement_tree.Check: check,
}
