"""Values of the typed tree as IR, each emitted once, in the order of evaluation."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from ...lang.integers import i32
from ...lang.types import PtrType
from .. import tree
from .emitter import Emitter, ir_type
from .words import BIT, WORD, bit_constant, word_constant


def evaluate(emitter: Emitter, node: tree.Value) -> Any:
    """The IR of a value; None if it has none."""
    if node not in emitter.done:
        emitter.done[node] = HANDLERS[type(node)](emitter, node)
    return emitter.done[node]


def constant(emitter: Emitter, node: tree.Constant) -> Any:
    if isinstance(node.held, bool):
        return bit_constant(node.held)
    return word_constant(int(node.held))


def variable(emitter: Emitter, node: tree.Variable) -> Any:
    return emitter.builder.load(emitter.slots[node.name], typ=ir_type(emitter.target, node.kind))


def binary(emitter: Emitter, node: tree.Binary) -> Any:
    left, right = evaluate(emitter, node.left), evaluate(emitter, node.right)
    return getattr(emitter.builder, node.operation)(left, right)


def shift(emitter: Emitter, node: tree.Shift) -> Any:
    """Amounts count modulo 32; LLVM leaves larger ones undefined."""
    left = evaluate(emitter, node.left)
    if node.amount.constant:
        amount = word_constant(int(node.amount.python) & 31)
    else:
        amount = emitter.builder.and_(evaluate(emitter, node.amount), word_constant(31))
    if node.symbol == "<<":
        return emitter.builder.shl(left, amount)
    return emitter.builder.ashr(left, amount) if node.kind is i32 else emitter.builder.lshr(left, amount)


def divide(emitter: Emitter, node: tree.Divide) -> Any:
    """A constant power of two is a shift or a mask for both signs; i32 otherwise is a run-time
    helper.
    """
    b = emitter.builder
    left, right = evaluate(emitter, node.left), evaluate(emitter, node.right)
    if not node.right.constant:
        emitter.trap_if(b.icmp_unsigned("==", right, word_constant(0)), node.line, "division by zero")
    if node.helper:
        return b.call(emitter.module.functions[node.helper], [left, right], cconv="fastcc")
    known = int(node.right.python) if node.right.constant else 0
    if known > 0 and known & (known - 1) == 0:
        if node.symbol == "%":
            return b.and_(left, word_constant(known - 1))
        amount = word_constant(known.bit_length() - 1)
        return b.ashr(left, amount) if node.kind is i32 else b.lshr(left, amount)
    return b.udiv(left, right) if node.symbol == "//" else b.urem(left, right)


def compare(emitter: Emitter, node: tree.Compare) -> Any:
    left, right = evaluate(emitter, node.left), evaluate(emitter, node.right)
    made: Any = emitter.builder.icmp_signed if node.signed else emitter.builder.icmp_unsigned
    return made(node.symbol, left, right)


def unary(emitter: Emitter, node: tree.Unary) -> Any:
    return getattr(emitter.builder, node.operation)(evaluate(emitter, node.operand))


def narrow(emitter: Emitter, node: tree.Narrow) -> Any:
    word = evaluate(emitter, node.operand)
    return word if node.bits == 32 else emitter.builder.and_(word, word_constant((1 << node.bits) - 1))


def widen(emitter: Emitter, node: tree.Widen) -> Any:
    return emitter.builder.zext(evaluate(emitter, node.operand), WORD)


def truth(emitter: Emitter, node: tree.Truth) -> Any:
    kind = node.operand.kind
    if kind is int:
        return bit_constant(bool(node.operand.python))
    given = evaluate(emitter, node.operand)
    if kind is bool:
        return given
    zero = emitter.target.null() if isinstance(kind, PtrType) else word_constant(0)
    return emitter.builder.icmp_unsigned("!=", given, zero)


def to_word(emitter: Emitter, node: tree.ToWord) -> Any:
    return emitter.target.to_word(emitter.builder, evaluate(emitter, node.operand))


def from_word(emitter: Emitter, node: tree.FromWord) -> Any:
    if node.address.constant:
        return emitter.target.from_word_constant(int(node.address.python))
    return emitter.target.from_word(emitter.builder, evaluate(emitter, node.address))


def cast(emitter: Emitter, node: tree.Cast) -> Any:
    return evaluate(emitter, node.operand)


def global_address(emitter: Emitter, node: tree.Global) -> Any:
    return emitter.module.global_pointer(node.symbol)


def offset(emitter: Emitter, node: tree.Offset) -> Any:
    return emitter.target.offset(emitter.builder, evaluate(emitter, node.base), node.count)


def index(emitter: Emitter, node: tree.Index) -> Any:
    base = evaluate(emitter, node.base)
    if isinstance(node.index, int):
        return emitter.target.index(emitter.builder, base, -node.index if node.negative else node.index, node.size)
    count = evaluate(emitter, node.index)
    return emitter.target.index(
        emitter.builder, base, emitter.builder.neg(count) if node.negative else count, node.size
    )


def load(emitter: Emitter, node: tree.Load) -> Any:
    address = evaluate(emitter, node.address)
    if isinstance(node.stored, PtrType):
        return emitter.target.load_pointer(emitter.builder, address)
    loaded = emitter.target.load(emitter.builder, address, node.stored.bits)
    return loaded if node.stored.bits == 32 else emitter.builder.zext(loaded, WORD)


def register_load(emitter: Emitter, node: tree.RegisterLoad) -> Any:
    return emitter.target.load_register(emitter.builder, node.address)


def register_store(emitter: Emitter, node: tree.RegisterStore) -> None:
    emitter.target.store_register(emitter.builder, node.address, evaluate(emitter, node.given))


def call(emitter: Emitter, node: tree.Call) -> Any:
    given = {position: evaluate(emitter, value) for position, value in node.arguments}
    if node.line is not None:
        emitter.mark(node.line)
    callee = emitter.module.functions[node.symbol]
    return emitter.builder.call(callee, [given[position] for position in sorted(given)], cconv="fastcc")


def bit_count(emitter: Emitter, node: tree.BitCount) -> Any:
    word = evaluate(emitter, node.operand)
    kinds = [WORD, BIT] if node.flagged else [WORD]
    function = emitter.module.module.declare_intrinsic(f"llvm.{node.intrinsic}", [WORD], ir.FunctionType(WORD, kinds))
    return emitter.builder.call(function, [word, bit_constant(False)] if node.flagged else [word])


def extreme(emitter: Emitter, node: tree.Extreme) -> Any:
    b = emitter.builder
    first, second = evaluate(emitter, node.first), evaluate(emitter, node.second)
    made: Any = b.icmp_signed if node.kind is i32 else b.icmp_unsigned
    return b.select(made("<" if node.name == "minimum" else ">", second, first), second, first)


def barrier(emitter: Emitter, node: tree.Barrier) -> None:
    emitter.target.barrier(emitter.builder)


def local(emitter: Emitter, node: tree.Local) -> Any:
    slot = emitter.target.local(emitter, node.size, node.align)
    fill = emitter.module.functions[node.fill]
    emitter.builder.call(fill, [slot, word_constant(0), word_constant(node.size)], cconv="fastcc")
    return slot


def trap(emitter: Emitter, node: tree.Trap) -> None:
    """No branch leads behind it, so what follows in the expression goes to a block of its own."""
    emitter.trap(node.line, node.reason)
    emitter.builder.position_at_end(emitter.block("after_trap"))


def logical(emitter: Emitter, node: tree.Logical) -> Any:
    yes, no, end = emitter.block("yes"), emitter.block("no"), emitter.block("end")
    branch(emitter, node.test, yes, no)
    for block in (yes, no):
        emitter.enter(block)
        emitter.builder.branch(end)
    emitter.enter(end)
    phi = emitter.builder.phi(BIT)
    phi.add_incoming(bit_constant(True), yes)
    phi.add_incoming(bit_constant(False), no)
    return phi


def choice(emitter: Emitter, node: tree.Choice) -> Any:
    yes, no, end = emitter.block("then"), emitter.block("else"), emitter.block("chosen")
    branch(emitter, node.test, yes, no)
    ways = []
    for block, part in ((yes, node.yes), (no, node.no)):
        emitter.enter(block)
        ways.append((evaluate(emitter, part), emitter.builder.block))
    for _, block in ways:
        emitter.builder.position_at_end(block)
        emitter.builder.branch(end)
    emitter.enter(end)
    phi = emitter.builder.phi(ir_type(emitter.target, node.kind))
    for way, block in ways:
        phi.add_incoming(way, block)
    return phi


def branch(emitter: Emitter, test: tree.Test, yes: Any, no: Any) -> None:
    """Go to `yes` or `no`, evaluating no more of `and` and `or` than needed. Leaves the emitter
    dead.
    """
    if isinstance(test, tree.Not):
        branch(emitter, test.test, no, yes)
    elif isinstance(test, tree.Several):
        for one in test.tests[:-1]:
            go_on = emitter.block("and" if test.all else "or")
            branch(emitter, one, *((go_on, no) if test.all else (yes, go_on)))
            emitter.enter(go_on)
        branch(emitter, test.tests[-1], yes, no)
    else:
        emitter.mark(test.line)
        if test.value.constant:
            emitter.jump(yes if test.value.python else no)
            return
        emitter.builder.cbranch(evaluate(emitter, test.value), yes, no)
        emitter.dead = True


HANDLERS: dict[type[tree.Value], Callable[[Emitter, Any], Any]] = {
    tree.Constant: constant,
    tree.Variable: variable,
    tree.Binary: binary,
    tree.Shift: shift,
    tree.Divide: divide,
    tree.Compare: compare,
    tree.Unary: unary,
    tree.Narrow: narrow,
    tree.Widen: widen,
    tree.Truth: truth,
    tree.ToWord: to_word,
    tree.FromWord: from_word,
    tree.Cast: cast,
    tree.Global: global_address,
    tree.Offset: offset,
    tree.Index: index,
    tree.Load: load,
    tree.RegisterLoad: register_load,
    tree.RegisterStore: register_store,
    tree.Call: call,
    tree.BitCount: bit_count,
    tree.Extreme: extreme,
    tree.Barrier: barrier,
    tree.Local: local,
    tree.Trap: trap,
    tree.Logical: logical,
    tree.Choice: choice,
}
