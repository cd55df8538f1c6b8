"""Firmware with one expression replaced: a check that is gone, a wait that is left out, a limit that is
one further. Some test must notice each."""

import ast
import importlib
import inspect
import pkgutil
from contextlib import contextmanager
from dataclasses import dataclass

from lanai_firmware.lang.functions import Function


@dataclass(frozen=True)
class Mutant:
    """One expression of a firmware function, as `ast.unparse` writes it, and what stands in its place.

    `number`: which one, where the function has several that look the same.
    """

    function: Function
    expression: str
    instead: str
    number: int = 0

    @property
    def place(self):
        """Module and function."""
        python = self.function.python
        return f"{python.__module__.rpartition('.')[2]}.{python.__name__}"

    def __str__(self):
        return f"{self.place}: {self.expression} -> {self.instead}"

    @contextmanager
    def applied(self):
        """The firmware with the expression replaced, when it runs as Python."""
        python = self.function.python
        tree = tree_of(self.function)
        found = [node for node in expressions(tree) if ast.unparse(node) == self.expression]
        assert self.number < len(found), f"{self.place} has no expression {self.expression}"
        instead = ast.parse(self.instead, mode="eval").body
        tree.body[0].decorator_list = []
        mutated = ast.fix_missing_locations(Replace(found[self.number], instead).visit(tree))
        namespace = dict(python.__globals__)
        exec(compile(mutated, f"<{self}>", "exec"), namespace)
        before = python.__code__
        python.__code__ = namespace[python.__name__].__code__
        try:
            yield
        finally:
            python.__code__ = before


class Replace(ast.NodeTransformer):
    def __init__(self, old, new):
        self.old, self.new = old, new

    def visit(self, node):
        return self.new if node is self.old else self.generic_visit(node)


def tree_of(function):
    return ast.parse(inspect.getsource(function.python))


def expressions(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.expr)]


def mutant_of(function, node, instead):
    """The mutant that has `instead` in the place of a node of `tree_of(function)`."""
    text = ast.unparse(node)
    places = [
        (other.lineno, other.col_offset) for other in expressions(tree_of(function)) if ast.unparse(other) == text
    ]
    return Mutant(function, text, instead, places.index((node.lineno, node.col_offset)))


def functions_of(module):
    """The firmware functions that a module defines."""
    found = [value for value in vars(module).values() if isinstance(value, Function)]
    return [function for function in found if function.python.__module__ == module.__name__]


def module_of(name, *packages):
    """A module of one of the packages, in whatever folder it lies."""
    found = [info.name for one in packages for info in pkgutil.walk_packages(one.__path__, f"{one.__name__}.")]
    (full,) = [one for one in found if one.endswith(f".{name}")]
    return importlib.import_module(full)
