"""One function on its way to IR: builder, variables, loops, and the small services that lowering
shares.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from llvmlite import ir

from ...lang.types import PtrType
from ..debug import DebugInfo
from ..source import Source
from ..targets import Target
from ..values import Reference
from .words import BIT, VOID, WORD


class Module(Protocol):
    """The program, as far as the code of one of its functions is concerned."""

    module: ir.Module
    target: Target
    debug: DebugInfo
    functions: dict[str, Any]

    def global_pointer(self, symbol: str) -> Any:
        """The address of a global."""

    def site(self, source: Source, line: int, reason: str) -> int:
        """The number of a new place where firmware stops itself."""


@dataclass(frozen=True)
class Loop:
    """The blocks to which `break` and `continue` go."""

    after: Any
    again: Any


def ir_type(target: Target, kind: Any) -> Any:
    """The type of a variable, argument or result."""
    if kind is None:
        return VOID
    if kind is bool:
        return BIT
    return target.pointer_type if isinstance(kind, PtrType | Reference) else WORD


class Emitter:
    """State of lowering one function. `dead` is set when control cannot get here. `done` has the
    results of nodes.
    """

    def __init__(self, module: Module, source: Source, function: Any) -> None:
        self.module = module
        self.target = module.target
        self.source = source
        self.function = function
        self.entry = ir.IRBuilder(function.append_basic_block("entry"))
        self.builder = ir.IRBuilder(function.append_basic_block("body"))
        self.slots: dict[str, Any] = {}
        self.done: dict[Any, Any] = {}
        self.loops: list[Loop] = []
        self.dead = False
        self.leavers: list[Callable[[], object]] = []  # each emits what must happen before a return
        self.scope = module.debug.scope(source)
        function.set_metadata("dbg", self.scope)
        self.mark(source.tree.lineno)

    def mark(self, line: int) -> None:
        """Let everything that is emitted from here on belong to this line."""
        self.builder.debug_metadata = self.module.debug.location(self.scope, line)
        self.entry.debug_metadata = self.module.debug.location(self.scope, self.source.first_line)

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

    def slot(self, name: str, kind: Any) -> Any:
        """Return the stack slot of the variable `name`; made at its first assignment."""
        if name not in self.slots:
            self.slots[name] = self.entry.alloca(ir_type(self.target, kind), name=name)
        return self.slots[name]

    def trap(self, line: int, reason: str) -> None:
        """Stop the processor here for good."""
        self.target.trap(self.builder, self.module.site(self.source, line, reason))
        self.dead = True

    def trap_if(self, condition: Any, line: int, reason: str) -> None:
        stop, go = self.block("trap"), self.block("go")
        self.builder.cbranch(condition, stop, go)
        self.builder.position_at_end(stop)
        self.trap(line, reason)
        self.enter(go)

    def leave(self) -> None:
        for leaver in reversed(self.leavers):
            leaver()

    def finish(self) -> None:
        """Joins entry and body; ends a function that may run off its end."""
        if not self.dead:
            self.leave()
            self.builder.ret_void()
        self.entry.branch(self.function.blocks[1])
        for block in self.function.blocks:
            if not block.is_terminated:
                ir.IRBuilder(block).unreachable()
