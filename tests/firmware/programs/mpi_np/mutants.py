"""The firmware with one of its checks removed at a time: every limit that a request, a page entry
or a packet is held to.

A check is found in the source: a call of `allowed`, or a comparison with one of LIMITS. Removed, it
answers as if all were well.
"""

import ast
import importlib
import inspect
import pkgutil
from contextlib import contextmanager
from dataclasses import dataclass

from lanai_firmware.lang.functions import Function
from lanai_firmware.programs import mpi_np

MODULES = (
    "requests",
    "quick_sends",
    "sending",
    "answering",
    "searching",
    "probing",
    "pulling",
    "claiming",
    "cursor",
    "receives",
    "following",
    "incoming",
    "quick_receives",
    "envelopes",
)
LIMITS = {
    "page_entries",
    "receives_per_endpoint",
    "receive_count",
    "send_count",
    "inline_limit",
    "short_limit",
    "ranks",
    "channel_count",
    "messages_per_channel",
    "left",
    "whole",
    "both",
    "total",
    "length",  # of a send: what was announced
}
PACKET_BYTES = "receive_dma.length()"
LIMIT_NAMES = {"PAGE", "first", "left", "size"}  # the same where they are no members
EXEMPT = {
    "answering.step: cursor.left < left": "the smaller of the two",
}
WELL = {ast.Lt: True, ast.LtE: True, ast.Eq: True, ast.Gt: False, ast.GtE: False, ast.NotEq: False}


@dataclass(frozen=True)
class Mutant:
    """One check: where it stands, what it says, and what it says without looking."""

    module: str
    function: str
    number: int  # among those of its function
    text: str
    answer: bool

    @property
    def place(self):
        return f"{self.module}.{self.function}"

    def __str__(self):
        return f"{self.place}: {self.text}"

    @contextmanager
    def applied(self):
        """The firmware without the check."""
        module = importlib.import_module(module_of(self.module))
        python = getattr(module, self.function).python
        tree = tree_of(python)
        target = checks_in(tree)[self.number]
        tree.body[0].decorator_list = []
        mutated = ast.fix_missing_locations(Replace(target, ast.Constant(self.answer)).visit(tree))
        namespace = dict(vars(module))
        exec(compile(mutated, f"<{self} removed>", "exec"), namespace)
        before = python.__code__
        python.__code__ = namespace[self.function].__code__
        try:
            yield
        finally:
            python.__code__ = before


class Replace(ast.NodeTransformer):
    def __init__(self, old, new):
        self.old, self.new = old, new

    def visit(self, node):
        return self.new if node is self.old else self.generic_visit(node)


def answer_of(comparison):
    """What the comparison says if all is well. A limit is an upper one, but what PACKET_BYTES is
    held to and `first` are lower ones."""
    lower = PACKET_BYTES in ast.unparse(comparison.left) or ast.unparse(comparison.comparators[0]) == "first"
    return WELL[type(comparison.ops[0])] is not lower


def tree_of(python):
    return ast.parse(inspect.getsource(python))


def checks_in(tree):
    """The nodes of all checks."""
    return [node for node in ast.walk(tree) if is_call(node) or is_comparison(node)]


def is_call(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "allowed"


def is_comparison(node):
    """With a limit on the right, in whatever sum it stands; or of `outside` with 0."""
    if not isinstance(node, ast.Compare):
        return False
    if isinstance(node.left, ast.Name) and node.left.id == "outside":
        return True
    if isinstance(node.ops[0], ast.Eq | ast.NotEq):
        return False
    parts = list(ast.walk(node.comparators[0]))
    members = {part.attr for part in parts if isinstance(part, ast.Attribute)}
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    return bool(members & LIMITS or names & LIMIT_NAMES) or PACKET_BYTES in ast.unparse(node.left)


def module_of(name):
    """The full name of a module of the firmware, in whatever folder it lies."""
    found = [info.name for info in pkgutil.walk_packages(mpi_np.__path__, f"{mpi_np.__name__}.")]
    (full,) = [one for one in found if one.endswith(f".{name}")]
    return full


def mutants():
    """Every check of MODULES."""
    found = []
    for name in MODULES:
        module = importlib.import_module(module_of(name))
        for function in vars(module).values():
            if not isinstance(function, Function) or function.python.__module__ != module.__name__:
                continue
            for number, node in enumerate(checks_in(tree_of(function.python))):
                answer = is_call(node) or answer_of(node)
                found.append(Mutant(name, function.python.__name__, number, ast.unparse(node), answer))
    return [mutant for mutant in found if str(mutant) not in EXEMPT]
