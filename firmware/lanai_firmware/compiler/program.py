"""A whole program: every function reachable from its roots, the globals they touch, the places where they may stop."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir

from ..lang.functions import Function
from ..lang.types import PtrType, alignof, is_integer, sizeof
from ..lang.views import bind_globals
from .body import Body
from .debug import DebugInfo
from .source import Source, label_of, source_of, stable_path
from .statements import statements
from .targets import Guards, LanaiTarget, Target
from .values import BIT, VOID, WORD, Reference, View, word_constant


@dataclass(frozen=True)
class Site:
    """A place where firmware stops itself, and why."""

    file: str
    line: int
    function: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason} (in {self.function})"


@dataclass(frozen=True)
class GlobalObject:
    symbol: str
    kind: Any
    pointer: Any


@dataclass
class Program:
    """Firmware as one LLVM module. `roots` are called from outside, by their names as symbols, arguments in registers."""

    roots: Sequence[Function]
    target_class: type[Target] = LanaiTarget
    guards: Guards = field(default_factory=Guards)
    names: dict[Function, str] = field(default_factory=dict)  # symbols that are not "module.function"

    def __post_init__(self) -> None:
        self.module = ir.Module("firmware")
        self.target = self.target_class(self.module, self.guards)
        self.debug = DebugInfo(self.module)
        self.sources: dict[str, Source] = {}
        self.functions: dict[str, Any] = {}
        self.pending: list[Source] = []
        self.globals: dict[str, GlobalObject] = {}
        self.sites: list[Site] = [Site("", 0, "", "no trap")]
        self.calls: dict[str, set[str]] = {}
        self.stored: dict[str, frozenset[str]] = {}
        self.bodies: list[str] = []

    def lower(self) -> ir.Module:
        """Compile every function reachable from the roots. Raises `CompileError` at the first thing not allowed."""
        for root in self.roots:
            self.declare(root, None, None)
        waiting = 0
        while waiting < len(self.pending):
            self.compile(self.pending[waiting])
            waiting += 1
        return self.module

    def ir_type(self, kind: Any) -> Any:
        if kind is bool:
            return BIT
        return self.target.pointer_type if isinstance(kind, PtrType | Reference) else WORD

    def bind(self, namespace: dict[str, Any]) -> None:
        bind_globals(namespace)

    def locals_of(self, source: Source) -> frozenset[str]:
        """Names that the function assigns: these are its own, whatever the module calls so."""
        if source.name not in self.stored:
            stored = {
                node.id
                for node in ast.walk(source.tree)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            }
            self.stored[source.name] = frozenset(stored)
        return self.stored[source.name]

    def helper(self, name: str) -> Any:
        """A function of the run-time, compiled into the program."""
        from ..runtime import blocks, division

        function = getattr(blocks, name, None) or getattr(division, name)
        return self.declare(function, None, None)

    def declare(self, function: Function, caller: Source | None, node: ast.AST | None) -> Any:
        """The IR function of `function`; its body is compiled later."""
        name = self.symbol(function)
        if caller is not None:
            self.calls.setdefault(self.symbol(caller.function), set()).add(name)
        if name in self.functions:
            return self.functions[name]
        source = source_of(function)
        tree = source.tree.args
        if tree.vararg or tree.kwarg or tree.kwonlyargs or tree.posonlyargs:
            source.fail(source.tree, "`*` and `/` are not in the language; name each parameter")
        try:
            kinds, result = function.signature
            _ = function.defaults
        except Exception as error:
            source.fail(source.tree, str(error))
        returned = VOID if result is None else self.ir_type(result)
        made = ir.Function(self.module, ir.FunctionType(returned, [self.ir_type(k) for k in kinds.values()]), name)
        made.attributes.add("nounwind")
        # Address 0 is memory like any other; else LLVM would drop code that it finds to use a null pointer. llvmlite knows
        # no such attribute, hence the detour.
        set.add(made.attributes, "null_pointer_is_valid")
        if function in self.roots:
            for argument in made.args:
                argument.add_attribute("inreg")
            made.attributes.add("noinline")
        else:
            made.linkage = "internal"
            made.calling_convention = "fastcc"
            if function.inline is not None:
                made.attributes.add("alwaysinline" if function.inline else "noinline")
        self.functions[name] = made
        self.sources[name] = source
        self.pending.append(source)
        return made

    def symbol(self, function: Function) -> str:
        return self.names.get(function) or label_of(function.python)

    def compile(self, source: Source) -> None:
        name = self.symbol(source.function)
        body = Body(self, source, self.functions[name])
        self.bodies.append(name)
        self.target.begin(body)
        kinds, _ = source.function.signature
        for argument, (parameter, kind) in zip(body.function.args, kinds.items(), strict=True):
            wide = kind.wide if is_integer(kind) else kind
            variable = body.declare(source.tree, parameter, wide)
            body.builder.store(argument, variable.slot)
            body.assigned.add(parameter)
        if source.function.depth > 1:
            self.count_depth(body, source)
        statements(body, source.tree.body)
        body.finish()

    def count_depth(self, body: Body, source: Source) -> None:
        """A function that calls itself counts its open calls, so that the stack never grows past what was reserved."""
        symbol = f"{source.name}.depth"
        counter = self.global_pointer(symbol, 4, 4)
        b = body.builder
        opened = self.target.load(b, counter, 32)
        body.trap_if(
            b.icmp_unsigned(">=", opened, word_constant(source.function.depth)),
            source.tree,
            f"{source.tree.name} calls itself deeper than the {source.function.depth} declared",
        )
        self.target.store(b, counter, b.add(opened, word_constant(1)), 32)

        def close() -> None:
            again = self.target.load(b, counter, 32)
            self.target.store(b, counter, b.sub(again, word_constant(1)), 32)

        body.leavers.append(close)

    def site(self, source: Source, node: ast.AST, reason: str) -> int:
        python = source.function.python
        line = getattr(node, "lineno", source.first_line)
        self.sites.append(Site(stable_path(python.__module__, source.file), line, source.name, reason))
        return len(self.sites) - 1

    def global_pointer(self, symbol: str, size: int, align: int, kind: Any = None) -> Any:
        if symbol not in self.globals:
            self.globals[symbol] = GlobalObject(symbol, kind, self.target.declare_global(symbol, size, align))
        return self.globals[symbol].pointer

    def global_view(self, symbol: str, kind: Any) -> View:
        return View(kind, self.global_pointer(symbol, sizeof(kind), alignof(kind), kind))

    def recursion(self) -> list[list[str]]:
        """Groups of functions that call each other in a circle."""
        return [group for group in components(self.calls) if len(group) > 1 or group[0] in self.calls.get(group[0], ())]


def components(graph: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected components (Tarjan), each sorted."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(graph.get(node, ())):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            found.append(sorted(group))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found
