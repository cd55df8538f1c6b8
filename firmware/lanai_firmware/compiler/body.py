"""One function on its way to IR: builder, variables, loops, and the small services that lowering shares."""

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from ..lang.types import name_of
from .source import Source
from .values import BIT, VOID

if TYPE_CHECKING:
    from .program import Program


@dataclass(frozen=True)
class Variable:
    kind: Any
    slot: Any


@dataclass
class Loop:
    """Where `break` and `continue` go, and which variables are surely assigned at each `break`."""

    after: Any
    again: Any
    leaving: list[set[str]] = field(default_factory=list)


class Body:
    """State of lowering one function.

    `dead` is set when control cannot get here; nothing is emitted until it can again. `assigned` are the variables that
    surely have a value, so that reading an unset one is an error here as it is in Python.
    """

    def __init__(self, program: "Program", source: Source, function: Any) -> None:
        self.program = program
        self.target = program.target
        self.source = source
        self.function = function
        self.namespace: dict[str, Any] = source.function.python.__globals__
        self.entry = ir.IRBuilder(function.append_basic_block("entry"))
        self.builder = ir.IRBuilder(function.append_basic_block("body"))
        self.variables: dict[str, Variable] = {}
        self.assigned: set[str] = set()
        self.loops: list[Loop] = []
        self.dead = False
        self.leavers: list[Callable[[], object]] = []  # each emits what must happen before a return
        self.scope = program.debug.scope(source)
        function.set_metadata("dbg", self.scope)
        self.mark(source.tree)

    def mark(self, node: ast.AST) -> None:
        """What is emitted from here on belongs to this line."""
        line = getattr(node, "lineno", self.source.first_line)
        self.builder.debug_metadata = self.program.debug.location(self.scope, line)
        self.entry.debug_metadata = self.program.debug.location(self.scope, self.source.first_line)

    def block(self, name: str) -> Any:
        return self.function.append_basic_block(name)

    def enter(self, block: Any) -> None:
        self.builder.position_at_end(block)
        self.dead = False

    def jump(self, block: Any) -> None:
        """Go there, unless control does not come here at all."""
        if not self.dead:
            self.builder.branch(block)
        self.dead = True

    def declare(self, node: ast.AST, name: str, kind: Any) -> Variable:
        """The variable `name`, made at its first assignment. A variable keeps its type."""
        known = self.variables.get(name)
        if known is None:
            ir_kind = BIT if kind is bool else self.program.ir_type(kind)
            known = Variable(kind, self.entry.alloca(ir_kind, name=name))
            self.variables[name] = known
        elif known.kind != kind:
            self.source.fail(
                node,
                f"{name!r} is {name_of(known.kind)} and is given {name_of(kind)}; a variable keeps its type, take another name",
            )
        return known

    def trap(self, node: ast.AST, reason: str) -> None:
        """Stop the processor here for good."""
        self.target.trap(self.builder, self.program.site(self.source, node, reason))
        self.dead = True

    def trap_if(self, condition: Any, node: ast.AST, reason: str) -> None:
        stop, go = self.block("trap"), self.block("go")
        self.builder.cbranch(condition, stop, go)
        self.builder.position_at_end(stop)
        self.trap(node, reason)
        self.enter(go)

    def leave(self) -> None:
        for leaver in reversed(self.leavers):
            leaver()

    def finish(self) -> None:
        """Joins entry and body; ends a function that may run off its end."""
        if not self.dead:
            if self.function.function_type.return_type != VOID:
                self.source.fail(self.source.tree, f"{self.source.tree.name} may end without a value; add a return")
            self.leave()
            self.builder.ret_void()
        self.entry.branch(self.function.blocks[1])
        for block in self.function.blocks:
            if not block.is_terminated:
                ir.IRBuilder(block).unreachable()
