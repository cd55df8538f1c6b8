"""A whole program: every function reachable from its roots, the globals they touch, the places
where they may stop.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir

from lanai_hdl.errors import UserError

from ..graph import components
from ..image import Site
from ..lang.functions import Function
from ..lang.types import alignof, names_in, sizeof
from ..package_images import llvm_version
from .debug import DebugInfo
from .lowering.emitter import ir_type
from .lowering.function import lower_function
from .source import Source, label_of, source_of, stable_path
from .statement_tree import Body
from .statements import check_function
from .targets import Effort, Guards, LanaiTarget, Target

COUNTER_SIZE = 4  # bytes of the global that counts the open calls of a function that calls itself


@dataclass(frozen=True)
class GlobalObject:
    """A global's kind; None for a counter of open calls."""

    symbol: str
    kind: Any
    size: int
    align: int


@dataclass
class Program:
    """Firmware as one LLVM module. `roots` are called from outside, by their names as symbols,
    arguments in registers.

    `check` is the front end's part: it finds every error. `lower` makes the IR of what was found.
    """

    roots: Sequence[Function]
    target_class: type[Target] = LanaiTarget
    guards: Guards = field(default_factory=Guards)
    names: dict[Function, str] = field(default_factory=dict)  # symbols that are not "module.function"
    constants: Mapping[str, int] = field(default_factory=dict)  # by name: values other than those in the source
    effort: Effort = Effort.FULL

    def __post_init__(self) -> None:
        self.module = ir.Module("firmware")
        self.target = self.target_class(self.module, self.guards)
        self.debug = DebugInfo(self.module)
        self.sources: dict[str, Source] = {}  # in the order in which they were met
        self.bodies: dict[str, Body] = {}
        self.globals: dict[str, GlobalObject] = {}
        self.functions: dict[str, Any] = {}
        self.pointers: dict[str, Any] = {}
        self.sites: list[Site] = [Site("", 0, "", "no trap")]
        self.calls: dict[str, set[str]] = {}
        self.changed: set[str] = set()  # of `constants`, those that were met

    def check(self) -> None:
        """Check every function reachable from the roots. Raises `CompileError` at the first thing
        not allowed.
        """
        for root in self.roots:
            self.declare(root, None)
        while len(self.bodies) < len(self.sources):
            name, source = list(self.sources.items())[len(self.bodies)]
            if source.function.depth > 1:
                counter = self.depth_symbol(source)
                self.globals[counter] = GlobalObject(counter, None, COUNTER_SIZE, COUNTER_SIZE)
            self.bodies[name] = check_function(self, source)
        if unknown := sorted(set(self.constants) - self.changed):
            raise UserError(f"the firmware uses no constant {', '.join(unknown)}")

    def lower(self) -> ir.Module:
        """The IR of the program."""
        llvm_version()  # an llvmlite that is too old builds other types
        self.check()
        for name, source in self.sources.items():
            self.functions[name] = self.ir_function(name, source.function)
        for symbol, item in self.globals.items():
            self.pointers[symbol] = self.target.declare_global(symbol, item.size, item.align)
        for name, source in self.sources.items():
            counter = self.depth_symbol(source) if source.function.depth > 1 else ""
            lower_function(self, source, self.functions[name], self.bodies[name], counter)
        return self.module

    # What the front end asks.

    def declare(self, function: Function, caller: Source | None) -> str:
        name = self.symbol(function)
        if caller is not None:
            self.calls.setdefault(self.symbol(caller.function), set()).add(name)
        if name not in self.sources:
            source = source_of(function)
            check_signature(source)
            self.sources[name] = source
        return name

    def helper(self, name: str) -> str:
        from ..runtime import blocks, division

        return self.declare(getattr(blocks, name, None) or getattr(division, name), None)

    def use_global(self, symbol: str, kind: Any) -> None:
        self.globals.setdefault(symbol, GlobalObject(symbol, kind, sizeof(kind), alignof(kind)))
        self.changed |= names_in(kind) & self.constants.keys()

    def constant(self, name: str, value: Any) -> Any:
        if name not in self.constants:
            return value
        self.changed.add(name)
        return self.constants[name]

    # What the lowering asks.

    def global_pointer(self, symbol: str) -> Any:
        return self.pointers[symbol]

    def site(self, source: Source, line: int, reason: str) -> int:
        file = stable_path(source.function.python.__module__, source.file)
        self.sites.append(Site(file, line, source.name, reason))
        return len(self.sites) - 1

    def ir_function(self, name: str, function: Function) -> Any:
        kinds, result = function.signature
        parameters = [ir_type(self.target, kind) for kind in kinds.values()]
        made = ir.Function(self.module, ir.FunctionType(ir_type(self.target, result), parameters), name)
        made.attributes.add("nounwind")
        # Address 0 is memory like any other; else LLVM would drop code that it finds to use a null
        # pointer. llvmlite knows no such attribute, hence the detour.
        set.add(made.attributes, "null_pointer_is_valid")
        if function in self.roots:
            for argument in made.args:
                argument.add_attribute("inreg")
            made.attributes.add("noinline")
        else:
            made.linkage = "internal"
            made.calling_convention = "fastcc"
            if self.effort < Effort.FULL:
                made.attributes.add("noinline")
            elif function.inline is not None:
                made.attributes.add("alwaysinline" if function.inline else "noinline")
        if self.effort is Effort.WRITTEN:
            made.attributes.add("optnone")
        return made

    # What others ask.

    def symbol(self, function: Function) -> str:
        return self.names.get(function) or label_of(function.python)

    def depth_symbol(self, source: Source) -> str:
        """The global that counts the open calls of a function that calls itself."""
        return f"{source.name}.depth"

    def recursion(self) -> list[list[str]]:
        """Groups of functions that call each other in a circle."""
        return [group for group in components(self.calls) if len(group) > 1 or group[0] in self.calls.get(group[0], ())]


def check_signature(source: Source) -> None:
    """Refuse parameters that the language does not have."""
    tree = source.tree.args
    if tree.vararg or tree.kwarg or tree.kwonlyargs or tree.posonlyargs:
        source.fail(source.tree, "`*` and `/` are not in the language; name each parameter")
    try:
        _ = source.function.signature, source.function.defaults
    except Exception as error:
        source.fail(source.tree, str(error))
