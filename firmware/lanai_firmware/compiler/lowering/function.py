"""One function: its arguments, the count of its open calls, its statements."""

from typing import Any

from ...lang.types import is_integer
from .. import statement_tree
from ..source import Source
from .emitter import Emitter, Module
from .statements import statements
from .words import word_constant


def lower_function(module: Module, source: Source, function: Any, body: statement_tree.Body, depth_symbol: str) -> None:
    """Emit the function's body. `depth_symbol`: the global that counts its open calls; empty if it
    does not call itself.
    """
    emitter = Emitter(module, source, function)
    module.target.begin(emitter, body.locals)
    kinds, _ = source.function.signature
    for argument, (parameter, kind) in zip(function.args, kinds.items(), strict=True):
        slot = emitter.slot(parameter, kind.wide if is_integer(kind) else kind)
        emitter.builder.store(argument, slot)
    if depth_symbol:
        count_depth(emitter, module.global_pointer(depth_symbol))
    statements(emitter, body.statements)
    emitter.finish()


def count_depth(emitter: Emitter, counter: Any) -> None:
    """A function that calls itself counts its open calls, so that the stack never grows past what
    was reserved.
    """
    target, source, b = emitter.target, emitter.source, emitter.builder
    depth, name = source.function.depth, source.tree.name
    opened = target.load(b, counter, 32)
    reason = f"{name} calls itself deeper than the {depth} declared"
    emitter.trap_if(b.icmp_unsigned(">=", opened, word_constant(depth)), source.tree.lineno, reason)
    target.store(b, counter, b.add(opened, word_constant(1)), 32)

    def close() -> None:
        again = target.load(b, counter, 32)
        target.store(b, counter, b.sub(again, word_constant(1)), 32)

    emitter.leavers.append(close)
