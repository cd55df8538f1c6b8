"""One function on its way through the front end: its variables, its loops, and what it may ask of
the program.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

from ..lang.functions import Function
from ..lang.types import name_of
from .source import Source
from .values import Result


class Unit(Protocol):
    """The program, as far as one of its functions is concerned."""

    def declare(self, function: Function, caller: Source | None) -> str:
        """The symbol of a firmware function, which becomes part of the program."""

    def helper(self, name: str) -> str:
        """The symbol of a function of the run-time, likewise."""

    def use_global(self, symbol: str, kind: Any) -> None:
        """A global becomes part of the program."""

    def constant(self, name: str, value: Any) -> Any:
        """Return the value of a name of a module, which the source gives as `value`."""


@dataclass
class Loop:
    """The variables that are surely assigned at each `break`."""

    leaving: list[set[str]] = field(default_factory=list)


class Scope:
    """State of checking one function.

    `dead` is set when control cannot get here; nothing is looked at until it can again. `assigned`
    are the variables that surely have a value, so that reading an unset one is an error here as it
    is in Python. `expression` checks an expression.
    """

    def __init__(self, unit: Unit, source: Source, expression: Callable[["Scope", ast.expr], Result]) -> None:
        self.unit = unit
        self.source = source
        self.namespace: dict[str, Any] = source.function.python.__globals__
        self.variables: dict[str, Any] = {}
        self.assigned: set[str] = set()
        self.loops: list[Loop] = []
        self.dead = False
        self.has_local = False
        self.stored = frozenset(
            node.id for node in ast.walk(source.tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )  # names that the function assigns: these are its own, whatever the module calls so
        self._expression = expression

    def expression(self, node: ast.expr) -> Result:
        return self._expression(self, node)

    def fail(self, node: ast.AST, message: str) -> NoReturn:
        self.source.fail(node, message)

    def line(self, node: ast.AST) -> int:
        return getattr(node, "lineno", self.source.first_line)

    def declare(self, node: ast.AST, name: str, kind: Any) -> None:
        """The variable `name`, made at its first assignment. A variable keeps its type."""
        known = self.variables.setdefault(name, kind)
        if known != kind:
            self.fail(
                node,
                f"{name!r} is {name_of(known)} and is given {name_of(kind)}; a variable keeps its type, take "
                "another name",
            )
        self.assigned.add(name)
